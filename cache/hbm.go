package cache

import "fmt"

// HBMConfig describes the memory. Latencies are core clock cycles, converted
// from nanoseconds by the caller.
type HBMConfig struct {
	Channels        int
	GBs, CoreMHz    float64 // of all channels; the clock that cycles are of
	LatencyCycles   int64   // row hit to data, unloaded
	RowMissCycles   int64   // precharge and activate, before the access
	BanksPerChannel int
	RowBytes        int
	RefreshInterval int64 // cycles between refreshes of a bank; 0: none
	RefreshCycles   int64 // what is refreshed is closed for this long
	// WriteQueue is how many writes may be on their way to a channel's bus; 0: any
	// number. TurnAfter is how many requests may wait for its bus to turn, and the
	// cycles are what the bus stands still when it does.
	WriteQueue, TurnAfter                int
	ReadToWriteCycles, WriteToReadCycles int64
	// RefreshBanks refreshes one bank of a channel after the other instead of all
	// at once.
	RefreshBanks bool
}

// BurstBytes is the least that a channel transfers: an HBM3 pseudo channel
// of 32 bits moves 32 bytes per burst of 8, and the controller pairs two.
const BurstBytes = 64

// rowHitWindow bounds how far a bank's queue is searched for a request to the
// open row before the oldest is taken: first-ready, first-come scheduling with
// a limit, so that no request starves.
const rowHitWindow = 16

// hbm is the memory behind the LLC: channels with a data bus each and banks
// with one open row each. It shares the wheel of the LLC.
type hbm struct {
	cfg       HBMConfig
	wheel     *wheel
	rowShift  uint // lines per row
	channels  []hbmChannel
	banks     []hbmBank
	requests  []hbmRequest
	freeReq   int32
	stats     HBMStats
	burst     int64 // cycles of one line on the bus
	lineShift uint
}

type hbmChannel struct {
	bus     Server
	offset  int64 // refreshes of the channels are spread over the interval
	index   int
	writing bool        // the bus's direction
	waiting requestList // for the other direction, their rows open
	waits   int         // requests in waiting
	looking bool        // the bus will be looked at when it is free
	posted  int         // writes that the LLC has sent and the bus has not
	blocked bool        // the LLC waits for posted to fall
}

type hbmBank struct {
	row        uint64 // open row + 1; 0: closed
	epoch      int64  // refresh interval in which it was opened
	free       int64  // the next access may begin
	head, tail int32
	opening    bool // an access was given its turn and has not reached the bus
	scheduled  bool // the end of the current access is in the wheel
}

type hbmRequest struct {
	arrived int64
	row     uint64
	id      uint32 // miss register of a read
	bank    int32
	next    int32
	bytes   uint16
	write   bool
}

func newHBM(cfg HBMConfig, lineBytes int, w *wheel) (*hbm, error) {
	rowLines := cfg.RowBytes / lineBytes
	switch {
	case cfg.Channels < 1 || cfg.BanksPerChannel < 1:
		return nil, fmt.Errorf("HBM: %d channels of %d banks; at least 1 of each is needed", cfg.Channels, cfg.BanksPerChannel)
	case rowLines < 1 || rowLines&(rowLines-1) != 0:
		return nil, fmt.Errorf("HBM: a row of %d bytes is not a power of two of lines of %d bytes", cfg.RowBytes, lineBytes)
	case cfg.WriteQueue < 0 || cfg.TurnAfter < 0 || cfg.ReadToWriteCycles < 0 || cfg.WriteToReadCycles < 0:
		return nil, fmt.Errorf("HBM: a write queue of %d, turns for %d, in %d and %d cycles; none may be negative", cfg.WriteQueue, cfg.TurnAfter, cfg.ReadToWriteCycles, cfg.WriteToReadCycles)
	case cfg.RefreshInterval > 0 && cfg.RefreshCycles >= cfg.RefreshInterval:
		return nil, fmt.Errorf("HBM: a refresh of %d cycles every %d leaves no time", cfg.RefreshCycles, cfg.RefreshInterval)
	}
	h := &hbm{
		cfg: cfg, wheel: w, rowShift: log2(rowLines), lineShift: log2(lineBytes),
		channels: make([]hbmChannel, cfg.Channels),
		banks:    make([]hbmBank, cfg.Channels*cfg.BanksPerChannel),
	}
	for i := range h.channels {
		h.channels[i].index = i
		h.channels[i].bus = NewServer(cfg.GBs/float64(cfg.Channels), cfg.CoreMHz)
		// The first refresh of channel 0 comes one interval after the start.
		h.channels[i].offset = cfg.RefreshInterval * int64(i) / int64(cfg.Channels)
	}
	h.burst = max(1, h.channels[0].bus.Cycles(lineBytes))
	return h, nil
}

// request takes a line request to a channel. line numbers the lines of the
// channel. Consecutive rows lie in consecutive banks, XORed with the higher row
// bits where the banks are a power of two, so that large strides spread.
func (h *hbm) request(now int64, channel int, line uint64, id uint32, bytes int, write bool) {
	row := line >> h.rowShift
	n := uint64(h.cfg.BanksPerChannel)
	bank := row % n
	if n&(n-1) == 0 {
		bank ^= fold(row/n, log2(int(n)))
	}
	bytes = max((bytes+BurstBytes-1)/BurstBytes*BurstBytes, BurstBytes)
	r := h.take(hbmRequest{
		arrived: now, row: row + 1, id: id, bytes: uint16(bytes), write: write,
		bank: int32(channel*h.cfg.BanksPerChannel + int(bank)),
	})
	if write {
		h.stats.Writes++
		h.stats.WriteBytes += uint64(bytes)
	} else {
		h.stats.Reads++
		h.stats.ReadBytes += uint64(bytes)
	}
	h.toBank(now, r)
}

// toBank opens a request's row, or queues it at its bank.
func (h *hbm) toBank(now int64, r int32) {
	b := &h.banks[h.requests[r-1].bank]
	if b.opening || b.head != 0 || b.free > now {
		if b.tail != 0 {
			h.requests[b.tail-1].next = r
		} else {
			b.head = r
		}
		b.tail = r
		if !b.opening {
			h.wakeBank(b, h.requests[r-1].bank)
		}
		return
	}
	h.open(now, b, r)
}

func (h *hbm) take(r hbmRequest) int32 {
	if n := h.freeReq; n != 0 {
		h.freeReq = h.requests[n-1].next
		h.requests[n-1] = r
		return n
	}
	h.requests = append(h.requests, r)
	return int32(len(h.requests))
}

func (h *hbm) release(r int32) {
	h.requests[r-1].next = h.freeReq
	h.freeReq = r
}

func (h *hbm) wakeBank(b *hbmBank, n int32) {
	if b.scheduled {
		return
	}
	b.scheduled = true
	h.wheel.push(event{at: b.free, id: uint32(n), kind: llcBankFree})
}

// open starts an access: at once when its row is open, after precharge and
// activate otherwise. A refresh closes the rows of what it refreshes.
func (h *hbm) open(now int64, b *hbmBank, r int32) {
	q := &h.requests[r-1]
	start, epoch := h.afterRefresh(now, int(q.bank))
	if b.row == q.row && b.epoch == epoch {
		h.stats.RowHits++
	} else {
		h.stats.RowMisses++
		b.row, b.epoch = q.row, epoch
		start += h.cfg.RowMissCycles
	}
	b.opening = true
	if start == now {
		h.access(now, r)
		return
	}
	h.wheel.push(event{at: start, id: uint32(r), kind: llcBus})
}

// afterRefresh returns the first cycle from now on in which a bank is not
// refreshing, and the number of its refresh interval.
func (h *hbm) afterRefresh(now int64, bank int) (start, epoch int64) {
	if h.cfg.RefreshInterval == 0 {
		return now, 0
	}
	channel := bank / h.cfg.BanksPerChannel
	t := now - h.channels[channel].offset
	if h.cfg.RefreshBanks { // the banks of a channel take turns
		t -= h.cfg.RefreshInterval * int64(bank%h.cfg.BanksPerChannel) / int64(h.cfg.BanksPerChannel)
	}
	epoch = floorDiv(t, h.cfg.RefreshInterval)
	// The refresh is at the end of the interval, so a run begins undisturbed.
	if left := h.cfg.RefreshInterval - (t - epoch*h.cfg.RefreshInterval); left <= h.cfg.RefreshCycles {
		return now + left, epoch + 1
	}
	return now, epoch
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// transfer claims the bus for an access whose row is open.
func (h *hbm) transfer(now int64, ch *hbmChannel, r int32) {
	q := &h.requests[r-1]
	b := &h.banks[q.bank]
	start := ch.bus.Claim(now, int(q.bytes))
	b.opening = false
	b.free = start + h.burst
	// What an unloaded access would not have waited is queueing.
	h.stats.QueueCycles += uint64(start - q.arrived)
	h.stats.Queue.Add(uint64(start - q.arrived))
	if b.head != 0 {
		h.wakeBank(b, q.bank)
	}
	if q.write {
		h.release(r)
		h.written(now, ch)
		return
	}
	data := start + h.cfg.LatencyCycles
	h.stats.LatencyCycles += uint64(data - q.arrived)
	h.stats.Latency.Add(uint64(data - q.arrived))
	h.wheel.push(event{at: data, id: q.id, kind: llcData})
	h.release(r)
}

// bankFree gives the bank's next request its turn.
func (h *hbm) bankFree(now int64, n int32) {
	b := &h.banks[n]
	b.scheduled = false
	if b.head == 0 || b.opening {
		return
	}
	if b.free > now {
		h.wakeBank(b, n)
		return
	}
	var before int32
	r := b.head
	for i := 0; r != 0 && i < rowHitWindow; i++ {
		if h.requests[r-1].row == b.row {
			break
		}
		before, r = r, h.requests[r-1].next
	}
	if r == 0 || h.requests[r-1].row != b.row {
		before, r = 0, b.head
	}
	next := h.requests[r-1].next
	if before == 0 {
		b.head = next
	} else {
		h.requests[before-1].next = next
	}
	if b.tail == r {
		b.tail = before
	}
	h.requests[r-1].next = 0
	h.open(now, b, r)
}
