package cu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// testSpec is a CU with the figures of MI355X (gfx950) or MI325X (gfx942).
func testSpec(cpu isa.CPU) *Spec {
	s := &Spec{
		SIMDs: 4, WaveSlots: 8, VGPRsPerSIMD: 512, VGPRGranule: 8, SGPRsPerSIMD: 800, SGPRGranule: 16,
		LDSBytes: 163840, LDSGranule: 1280,
		IssueInterval: 4, BarrierCycles: 8, BranchTaken: 16, WaveLaunch: 0, VMMax: 63, LGKMMax: 15,
		VALUCycles: 4, VALUDependent: 8, TransCycles: 16, DoubleCycles: 8, ValuToAddress: 12, ValuToSALU: 20,
		MFMAScale: 1, PassCycles: 4, CoissueBytesPerSlot: 16, PackedExtraSlots: 2, MemFollowsVALU: true,
		ScalarHitCycles: 40, ICacheBytes: 65536, ICacheWays: 8, ICacheLine: 128,
		ScalarCacheBytes: 16384, ScalarLine: 64, ScalarWays: 4, LDSPortBytes: 128,
		LDS: lds.Spec{PairPortBytesPerCycle: 128, FIFOEntries: 8, LatencyCycles: 46, QueueCycles: 22, FillBytesPerCycle: 128},
		TCP: cache.TCPSpec{Bytes: 32768, LineBytes: 128, Ways: 64, QueueEntries: 12, LineCycles: 2, AddressLanesPerCycle: 16, WideLanesPerCycle: 4,
			HitLatencyCycles: 115, ReturnBytesPerCycle: 64, SetHash: true, StoreLineCycles: 2, StoreQueueEntries: 256},
	}
	if cpu == isa.GFX942 {
		s.LDSBytes, s.LDSGranule, s.VALUDependent, s.LDSPortBytes = 65536, 512, 4, 64
		s.LDS.PairPortBytesPerCycle = 64
		s.TCP.SetHash = false
	}
	return s
}

// fakeL2 answers every request after a fixed time. With busy set it turns
// requests away in the first busy cycles of every 32.
type fakeL2 struct {
	latency int64
	busy    int64
	q       []pendingLine // ring in order of time: the latency is fixed
	head, n int

	reads, writes, answers int
	bytesOut               int
}

type pendingLine struct {
	at  int64
	tag uint32
	wr  bool
}

func newFakeL2(latency int64) *fakeL2 { return &fakeL2{latency: latency, q: make([]pendingLine, 4096)} }

func (f *fakeL2) add(now int64, tag uint32, wr bool) int64 {
	if f.busy > 0 && now%32 < f.busy {
		return now - now%32 + f.busy
	}
	if f.n == len(f.q) {
		panic("fakeL2: more requests than the test expects")
	}
	f.q[(f.head+f.n)%len(f.q)] = pendingLine{now + f.latency, tag, wr}
	f.n++
	return 0
}

// next is the cycle of the next answer.
func (f *fakeL2) next() int64 {
	if f.n == 0 {
		return cache.Never
	}
	return f.q[f.head].at
}

func (f *fakeL2) pop() pendingLine {
	p := f.q[f.head]
	f.head = (f.head + 1) % len(f.q)
	f.n--
	f.answers++
	return p
}

func (f *fakeL2) Read(now int64, _ int, _ uint64, tag uint32) int64 {
	retry := f.add(now, tag, false)
	if retry == 0 {
		f.reads++
	}
	return retry
}

func (f *fakeL2) Write(now int64, _ int, _ uint64, bytes int, tag uint32) int64 {
	retry := f.add(now, tag, true)
	if retry == 0 {
		f.writes++
		f.bytesOut += bytes
	}
	return retry
}

func (f *fakeL2) Atomic(now int64, cu int, line uint64, a cache.Atomic, tag uint32) int64 {
	return f.Write(now, cu, line, int(a.Bytes), tag)
}

// stepping says how a bench drives its CU.
type stepping int

const (
	skipping stepping = iota // only at the cycles that Step asks for
	every                    // every cycle
	eager                    // every cycle, and every wave that is held by a condition looks again
)

// bench is one CU with a kernel on it.
type bench struct {
	cu      *CU
	l2      *fakeL2
	st      *Stats
	prog    *Program
	done    int
	groups  int // workgroups to run
	end     int64
	mode    stepping
	now     int64
	next    int64
	started int
}

// config chooses what newBench builds.
type config struct {
	waves, groups int // waves of a workgroup, workgroups; 0 means 1
	full          bool
	latency       int64 // of the L2, 0 means 100
	mode          stepping
	loop          bool // the program's first loop is marked
	cold          bool // instruction cache empty
	unseen        bool // observe: without a hook, so that runs of matrix instructions are booked in one go
}

// assemble parses instructions, one a line; "name:" is a label, "; ..." a
// comment, and a branch names its label.
func assemble(cpu isa.CPU, text string) (*isa.Kernel, error) {
	k := &isa.Kernel{Name: "test", CPU: cpu, VGPRs: 256, AGPRs: 0, SGPRs: 96, Workgroup: [3]int{64, 1, 1}}
	k.ABI.KernargPtr, k.ABI.UserSGPRs, k.ABI.WorkgroupID = true, 2, [3]bool{true, false, false}
	labels := map[string]int{}
	type fix struct {
		inst  int
		label string
	}
	var fixes []fix
	pc := uint32(0)
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, ";")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if l, ok := strings.CutSuffix(line, ":"); ok {
			labels[l] = len(k.Insts)
			continue
		}
		var label string
		if f := strings.Fields(line); len(f) == 2 && (strings.HasPrefix(f[0], "s_cbranch") || f[0] == "s_branch") {
			label, line = f[1], f[0]+" 0"
		}
		in, err := isa.Parse(cpu, line)
		if err != nil {
			return nil, err
		}
		in.Target, in.PC = -1, pc
		if in.Size == 0 {
			in.Size = 4
		}
		pc += uint32(in.Size)
		if label != "" {
			fixes = append(fixes, fix{len(k.Insts), label})
		}
		k.Insts = append(k.Insts, in)
	}
	for _, f := range fixes {
		t, ok := labels[f.label]
		if !ok {
			return nil, fmt.Errorf("no label %s", f.label)
		}
		k.Insts[f.inst].Target = int32(t)
	}
	return k, nil
}

func mustAssemble(t testing.TB, cpu isa.CPU, text string) *isa.Kernel {
	t.Helper()
	k, err := assemble(cpu, text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newBench(t testing.TB, k *isa.Kernel, s *Spec, c config) *bench {
	t.Helper()
	c.waves, c.groups = max(c.waves, 1), max(c.groups, 1)
	if c.latency == 0 {
		c.latency = 100
	}
	k.Workgroup = [3]int{64 * c.waves, 1, 1}
	mem := isa.NewMemory()
	l := &isa.Launch{Kernel: k, Workgroups: [3]int{c.groups, 1, 1}, Memory: mem, Kernarg: make([]byte, 64)}
	buf := mem.Alloc("data", 1<<20)
	out := mem.Alloc("out", 1<<20)
	for i := range 8 {
		l.Kernarg[i] = byte(buf >> (8 * i))
		l.Kernarg[8+i] = byte(out >> (8 * i))
	}
	o := ProgramOptions{Full: c.full}
	if c.loop {
		o.LoopStart, o.LoopEnd = firstLoop(k)
	}
	p, err := NewProgram(s, l, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{l2: newFakeL2(c.latency), st: &Stats{}, prog: p, groups: c.groups, mode: c.mode}
	b.cu, err = New(s, p, 0, 0, b.l2, NewShared(s), b.st, func(now int64, _ int) { b.done++; b.end = now })
	if err != nil {
		t.Fatal(err)
	}
	if c.cold {
		return b
	}
	// Warm the instruction cache: schedules start at cycle 0 then.
	last := k.Insts[len(k.Insts)-1]
	for a := uint64(0); a <= uint64(last.PC); a += uint64(s.ICacheLine) {
		b.cu.sh.icache.insert(p.Code + a)
	}
	return b
}

// tick does everything of cycle b.now.
func (b *bench) tick() {
	for b.started < b.groups && b.cu.Room() > 0 {
		b.next = b.cu.Launch(b.now, b.started)
		b.started++
	}
	for b.l2.next() <= b.now {
		p := b.l2.pop()
		if p.wr {
			b.next = min(b.next, b.cu.WriteAcked(b.now, p.tag))
		} else {
			b.next = min(b.next, b.cu.LineReturned(b.now, p.tag))
		}
	}
	if b.mode == eager {
		b.cu.lookAgain(b.now)
	}
	if b.next <= b.now || b.mode != skipping {
		b.next = b.cu.Step(b.now)
	}
}

// lookAgain lets every wave that a condition holds (not a delay of its own last
// instruction) try to issue at the next visit, and forget what its accesses cost.
func (c *CU) lookAgain(now int64) {
	c.ldsNext, c.tcpNext = min(c.ldsNext, now), min(c.tcpNext, now)
	for i := range c.simds {
		s := &c.simds[i]
		for _, sl := range s.order {
			w := s.waves[sl]
			w.epoch++
			if w.blame == w.pc && !w.atBar && w.start <= now && s.until[sl] > now {
				s.until[sl] = now
				c.visitAt[i] = min(c.visitAt[i], c.align(i, now))
			}
		}
	}
}

// run drives the CU until its workgroups are done and returns the last cycle.
func (b *bench) run(t testing.TB, limit int64) int64 {
	t.Helper()
	for b.next = cache.Never; ; {
		b.tick()
		if err := b.cu.Err(); err != nil {
			t.Fatal(err)
		}
		if b.done == b.groups {
			b.cu.Settle(b.now)
			return b.end
		}
		n := min(b.next, b.l2.next())
		if b.started < b.groups && b.cu.Room() > 0 || b.mode != skipping {
			n = b.now + 1
		}
		if n == cache.Never || n > limit {
			t.Fatalf("no end by cycle %d:\n%s", b.now, b.cu.Dump())
		}
		if n <= b.now {
			t.Fatalf("cycle %d: the next step is at cycle %d", b.now, n)
		}
		b.now = n
	}
}

// sums checks that every wave-cycle is accounted once.
func (b *bench) sums(t testing.TB) {
	t.Helper()
	var sum, count uint64
	for u := range b.st.Issued {
		sum += b.st.Issued[u]
		count += b.st.IssuedCount[u]
	}
	for _, v := range b.st.Stalls {
		sum += v
	}
	if sum != b.st.WaveCycles {
		t.Errorf("issued and stalled make %d wave-cycles, resident were %d", sum, b.st.WaveCycles)
	}
	var rows, hits, lines, conflicts, service uint64
	var stalls [NumStalls]uint64
	for i := range b.st.Inst {
		in := &b.st.Inst[i]
		rows += in.Issued
		hits += in.Hits
		lines += in.Lines
		conflicts += in.Conflicts
		service += in.Service
		for r, v := range in.Stall {
			rows += v
			stalls[r] += v
		}
	}
	if rows != b.st.WaveCycles {
		t.Errorf("instruction rows make %d wave-cycles, resident were %d", rows, b.st.WaveCycles)
	}
	if stalls != b.st.Stalls {
		t.Errorf("stalls of instruction rows %v, in all %v", stalls, b.st.Stalls)
	}
	for _, c := range []struct {
		what      string
		rows, all uint64
	}{
		{"hits", hits, count}, {"lines", lines, b.st.VMEMLines}, {"conflicts", conflicts, b.st.Conflicts}, {"bank cycles", service, b.st.LDSService},
	} {
		if c.rows != c.all {
			t.Errorf("%s: instruction rows make %d, in all %d", c.what, c.rows, c.all)
		}
	}
	if b.l2.answers != b.l2.reads+b.l2.writes {
		t.Errorf("%d reads and %d writes sent, %d answers came", b.l2.reads, b.l2.writes, b.l2.answers)
	}
}
