package cu

import (
	"container/heap"
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
		LDS: lds.Spec{PairPortBytesPerCycle: 128, FIFOEntries: 8, LatencyCycles: 46, QueueCycles: 16, FillBytesPerCycle: 128},
		TCP: cache.TCPSpec{Bytes: 32768, LineBytes: 128, Ways: 64, QueueEntries: 12, LineCycles: 2, AddressLanesPerCycle: 16,
			HitLatencyCycles: 115, ReturnBytesPerCycle: 64, SetHash: true, StoreLineCycles: 2, StoreQueueEntries: 256},
	}
	if cpu == isa.GFX942 {
		s.LDSBytes, s.LDSGranule, s.VALUDependent, s.LDSPortBytes = 65536, 512, 4, 64
		s.LDS.PairPortBytesPerCycle = 64
		s.TCP.SetHash = false
	}
	return s
}

// fakeL2 answers every request after a fixed time.
type fakeL2 struct {
	latency int64
	q       pendings
	seq     int
	reads   int
}

type pendingLine struct {
	at  int64
	seq int
	tag uint32
	wr  bool
}

type pendings []pendingLine

func (p pendings) Len() int { return len(p) }
func (p pendings) Less(i, j int) bool {
	return p[i].at < p[j].at || p[i].at == p[j].at && p[i].seq < p[j].seq
}
func (p pendings) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pendings) Push(x any)   { *p = append(*p, x.(pendingLine)) }
func (p *pendings) Pop() any {
	o := *p
	x := o[len(o)-1]
	*p = o[:len(o)-1]
	return x
}

func (f *fakeL2) add(now int64, tag uint32, wr bool) {
	f.seq++
	heap.Push(&f.q, pendingLine{now + f.latency, f.seq, tag, wr})
}

func (f *fakeL2) Read(now int64, _ int, _ uint64, tag uint32) int64 {
	f.reads++
	f.add(now, tag, false)
	return 0
}

func (f *fakeL2) Write(now int64, _ int, _ uint64, _ int, tag uint32) int64 {
	f.add(now, tag, true)
	return 0
}

// bench is one CU with a kernel on it.
type bench struct {
	cu    *CU
	l2    *fakeL2
	st    *Stats
	prog  *Program
	done  int
	end   int64
	every bool // step every cycle instead of skipping
}

// assemble parses instructions, one a line; "name:" is a label, "; ..." a
// comment, and a branch names its label.
func assemble(cpu isa.CPU, text string) (*isa.Kernel, error) {
	k := &isa.Kernel{Name: "test", CPU: cpu, VGPRs: 256, AGPRs: 0, SGPRs: 104, Workgroup: [3]int{64, 1, 1}}
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
		if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[0], "s_cbranch") || len(f) == 2 && f[0] == "s_branch" {
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

func newBench(t testing.TB, k *isa.Kernel, waves int, s *Spec, full bool) *bench {
	t.Helper()
	k.Workgroup = [3]int{64 * waves, 1, 1}
	mem := isa.NewMemory()
	l := &isa.Launch{Kernel: k, Workgroups: [3]int{1, 1, 1}, Memory: mem, Kernarg: make([]byte, 64)}
	buf := mem.Alloc("data", 1<<24)
	for i := range 8 {
		l.Kernarg[i] = byte(buf >> (8 * i))
	}
	p, err := NewProgram(s, l, ProgramOptions{Full: full})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{l2: &fakeL2{latency: 100}, st: &Stats{}, prog: p}
	b.cu, err = New(s, p, 0, 0, b.l2, NewShared(s), b.st, func(now int64, _ int) { b.done++; b.end = now })
	if err != nil {
		t.Fatal(err)
	}
	// Warm the instruction cache: schedules start at cycle 0 then.
	last := k.Insts[len(k.Insts)-1]
	for a := uint64(0); a <= uint64(last.PC); a += uint64(s.ICacheLine) {
		b.cu.sh.icache.insert(p.Code + a)
	}
	return b
}

// run drives the CU until its workgroup is done and returns the last cycle.
func (b *bench) run(t testing.TB, limit int64) int64 {
	t.Helper()
	next := b.cu.Launch(0, 0)
	for now := int64(0); b.done == 0; {
		for len(b.l2.q) > 0 && b.l2.q[0].at <= now {
			p := heap.Pop(&b.l2.q).(pendingLine)
			n := int64(0)
			if p.wr {
				n = b.cu.WriteAcked(now, p.tag)
			} else {
				n = b.cu.LineReturned(now, p.tag)
			}
			next = min(next, n)
		}
		if next <= now || b.every {
			next = b.cu.Step(now)
		}
		if err := b.cu.Err(); err != nil {
			t.Fatal(err)
		}
		if b.done > 0 {
			break
		}
		n := next
		if len(b.l2.q) > 0 {
			n = min(n, b.l2.q[0].at)
		}
		if b.every {
			n = now + 1
		}
		if n == cache.Never || n > limit {
			t.Fatalf("no end by cycle %d:\n%s", now, b.cu.Dump())
		}
		now = max(n, now)
		if now == b.cu.now && next <= now {
			t.Fatalf("cycle %d: no progress", now)
		}
	}
	return b.end
}

// sums checks that every wave-cycle is accounted once.
func (b *bench) sums(t testing.TB) {
	t.Helper()
	var sum uint64
	for _, v := range b.st.Issued {
		sum += v
	}
	for _, v := range b.st.Stalls {
		sum += v
	}
	if sum != b.st.WaveCycles {
		t.Errorf("issued and stalled make %d wave-cycles, resident were %d", sum, b.st.WaveCycles)
	}
	var rows uint64
	for i := range b.st.Inst {
		rows += b.st.Inst[i].Issued
		for _, v := range b.st.Inst[i].Stall {
			rows += v
		}
	}
	if rows != b.st.WaveCycles {
		t.Errorf("instruction rows make %d wave-cycles, resident were %d", rows, b.st.WaveCycles)
	}
}
