package cache

// A channel of the L2 is built as a texture cache is: what has passed the tags waits
// in a FIFO for its turn at the data, a miss until its line has come, and a hit behind
// it as long. The block's performance counters in AMD's register headers (gfx7, gfx8)
// count the cycles in which this latency FIFO is full, and rocprof's documentation of
// the L2 calls the consequence hit on miss: a request for a line that is on its way
// is a hit, since its turn comes after the line's. Writes and atomics do not wait here:
// nothing returns but an acknowledgement, or the old value by the atomic's own way.
// Nor does a miss whose translation is missing: hardware translates before the tags,
// here the miss takes its place when it has its translation, and until then only
// reserves an entry.
type latencyFIFO struct {
	entries []fifoEntry // ring; none: no order is kept
	head, n int
	late    int // reads without a translation; each will need an entry
}

type fifoEntry struct {
	arrived, start int64
	tag            uint32
	cu             uint8
	here           bool // the line is, so that only the entries before hold this one
}

func (f *latencyFIFO) on() bool   { return len(f.entries) > 0 }
func (f *latencyFIFO) full() bool { return f.on() && f.n+f.late == len(f.entries) }

// push adds an entry behind the others and returns its index.
func (f *latencyFIFO) push(e fifoEntry) int {
	i := f.head + f.n
	if i >= len(f.entries) {
		i -= len(f.entries)
	}
	f.entries[i] = e
	f.n++
	return i
}

func (f *latencyFIFO) pop() {
	if f.head++; f.head == len(f.entries) {
		f.head = 0
	}
	f.n--
}

// translated gives the reads that waited for a line's translation their places.
func (t *TCC) translated(id uint32) {
	m := &t.mshrs[id]
	if !m.late {
		return
	}
	m.late = false
	f := &t.channels[int(id)/t.cfg.MSHRsPerChannel].fifo
	for n := m.head; n != 0 && f.on(); {
		w := &t.waiters[n-1]
		if w.atomic.Bytes == 0 {
			f.late--
			w.tag = uint32(f.push(fifoEntry{arrived: w.arrived, start: w.start, tag: w.tag, cu: w.src}))
		}
		n = w.next
	}
}

// readHit answers a read of a line that is here, behind the reads that wait.
func (t *TCC) readHit(ch *tccChannel, r *tccRequest, start int64) {
	if ch.fifo.n > 0 {
		ch.fifo.push(fifoEntry{arrived: r.arrived, start: start, tag: r.tag, cu: r.cu, here: true})
		return
	}
	at := start + t.hit
	if ch.fifo.on() {
		at = max(at, ch.answerAt)
		ch.answerAt = at + t.readCost
	}
	t.outstanding--
	t.stats.answered(at - r.arrived)
	t.client.LineReturned(at, int(r.cu), r.tag)
}

// passData answers the reads at the head of the FIFO whose lines are here, one per
// line time.
func (t *TCC) passData(now int64, ch *tccChannel) {
	f := &ch.fifo
	for f.n > 0 && f.entries[f.head].here {
		e := &f.entries[f.head]
		at := max(now+t.answer, e.start+t.hit, ch.answerAt)
		ch.answerAt = at + t.readCost
		t.outstanding--
		t.stats.answered(at - e.arrived)
		t.client.LineReturned(at, int(e.cu), e.tag)
		f.pop()
	}
}
