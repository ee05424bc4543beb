package xcd

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

// testMachine is small, with the hierarchy of an MI300: the clock of 1000 MHz
// that the tests use makes nanoseconds of cycles.
func testMachine() *configs.Machine {
	return &configs.Machine{
		Name: "test",
		Chip: configs.Chip{XCDs: 4, CUsPerXCD: 6, ShaderEngines: 2, IODs: 1},
		L2: configs.L2{Invalidate: true,
			Bytes: 256 << 10, LineBytes: 128, Ways: 16, Channels: 4, ReadBytesPerCycle: 128, WriteBytesPerCycle: 64,
			HitLatencyCycles: 151, MSHRsPerChannel: 64, QueueEntries: 32, InterleaveBytes: 256, ChannelHash: true,
			WriteBackLatencyCycles: 90, AtomicBytesPerCycle: 64,
		},
		Fabric: configs.Fabric{LatencyNS: 70, ReadGBs: 128, WriteGBs: 64, RequestBytes: 16},
		LLC: configs.LLC{
			Bytes: 4 << 20, LineBytes: 128, Ways: 16, Slices: 8, LatencyNS: 110, GBs: 1024, MSHRsPerSlice: 64,
			AllocateOnRead: true, AllocateOnWrite: true, SliceHash: true,
		},
		HBM: configs.HBM{
			Stacks: 2, ChannelsPerStack: 4, GBs: 256, Efficiency: 1, LatencyNS: 130, BanksPerChannel: 16, RowBytes: 2048, RowMissNS: 30,
		},
		Dispatch: configs.Dispatch{Order: "round_robin", WaveLaunchCycles: 5, WorkgroupGapCycles: 40},
	}
}

const testMHz = 1000

// fakeCU streams lines: a workgroup reads (or writes) its lines as fast as it
// may, and ends when all have come.
type fakeCU struct {
	xcd, id  int
	l2       cache.L2Port
	done     func(now int64, wg int)
	plan     func(wg, i int) (line uint64, bytes int, more bool) // bytes 0: a read
	perCycle int
	slots    int
	window   int // lines outstanding

	groups  []*fakeGroup
	retry   int64
	log     []string
	started []started
	answers []int64
}

type started struct {
	at int64
	wg int
}

type fakeGroup struct {
	wg, next, waiting int
	finished          bool
}

func (f *fakeCU) Room() int { return f.slots - len(f.groups) }

func (f *fakeCU) Launch(now int64, wg int) int64 {
	f.started = append(f.started, started{now, wg})
	f.groups = append(f.groups, &fakeGroup{wg: wg})
	return now
}

func (f *fakeCU) Step(now int64) int64 {
	next := cache.Never
	for i := 0; i < len(f.groups); i++ {
		g := f.groups[i]
		for n := 0; !g.finished && now >= f.retry; n++ {
			line, bytes, more := f.plan(g.wg, g.next)
			if !more {
				g.finished = true
				break
			}
			if g.waiting == f.window {
				break
			}
			if n == f.perCycle {
				next = now + 1
				break
			}
			var retry int64
			if tag := uint32(g.wg); bytes == 0 {
				retry = f.l2.Read(now, f.id, line, tag)
			} else {
				retry = f.l2.Write(now, f.id, line, bytes, tag)
			}
			if retry != 0 {
				f.retry = retry
				break
			}
			g.next++
			g.waiting++
		}
		if g.finished && g.waiting == 0 {
			f.groups = append(f.groups[:i], f.groups[i+1:]...)
			f.done(now, g.wg)
			i--
		}
	}
	if f.retry > now && len(f.groups) > 0 {
		next = min(next, f.retry)
	}
	return next
}

func (f *fakeCU) LineReturned(now int64, tag uint32) int64 {
	f.answers = append(f.answers, now)
	for _, g := range f.groups {
		if g.wg == int(tag) {
			g.waiting--
			return max(now, f.retry)
		}
	}
	panic("a line for a workgroup that is not here")
}

func (f *fakeCU) WriteAcked(now int64, tag uint32) int64 { return f.LineReturned(now, tag) }

func (f *fakeCU) Dump() string { return fmt.Sprintf("%d workgroups wait for lines", len(f.groups)) }

// rig is a chip of fake CUs.
type rig struct {
	*Chip
	cus [][]*fakeCU
}

func newRig(t testing.TB, m *configs.Machine, o Options, plan func(wg, i int) (uint64, int, bool), change ...func(*fakeCU)) *rig {
	t.Helper()
	r := &rig{cus: make([][]*fakeCU, m.Chip.XCDs)}
	o.NewCU = func(xcd, id int, l2 cache.L2Port, done func(int64, int)) (ComputeUnit, error) {
		f := &fakeCU{xcd: xcd, id: id, l2: l2, done: done, plan: plan, perCycle: 1, slots: 2, window: 64}
		for _, c := range change {
			c(f)
		}
		r.cus[xcd] = append(r.cus[xcd], f)
		return f, nil
	}
	c, err := New(m, testMHz, o)
	if err != nil {
		t.Fatal(err)
	}
	r.Chip = c
	return r
}

func (r *rig) run(t testing.TB, workgroups int) Result {
	t.Helper()
	res, err := r.Run(context.Background(), Kernel{Workgroups: workgroups, Waves: 4})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestUnloadedPath: one line through the whole machine takes exactly the sum of
// what is configured: L2, both ways of the fabric, LLC, memory.
func TestUnloadedPath(t *testing.T) {
	const start = 70 // the launch message crosses the fabric
	for _, c := range []struct {
		name string
		warm bool
		line func(i int) uint64
		n    int
		want []int64
	}{
		{"HBM row miss", false, func(int) uint64 { return 0x8000 }, 1, []int64{151 + 70 + 110 + 30 + 130 + 70}},
		{"LLC hit", true, func(int) uint64 { return 0x8000 }, 1, []int64{151 + 70 + 110 + 70}},
		{"L2 hit after it", true, func(int) uint64 { return 0x8000 }, 2, []int64{401, 401 + 151}},
		{"HBM row hit after it", false, func(i int) uint64 { return 0x8000 + uint64(i)*128 }, 2, []int64{561, 561 + 531}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, testMachine(), Options{}, func(wg, i int) (uint64, int, bool) { return c.line(i), 0, i < c.n },
				func(f *fakeCU) { f.window = 1 })
			if c.warm {
				r.WarmLLC([]Range{{Base: 0x8000, Bytes: 128}})
			}
			res := r.run(t, 1)
			// The line's own way beyond the L2: all but its 151 cycles of lookup and answer.
			if l2 := r.Stats().L2; c.n == 1 && l2.FetchCycles != uint64(c.want[0]-151) {
				t.Errorf("the L2 had its line %d cycles after it asked for it, want %d", l2.FetchCycles, c.want[0]-151)
			}
			for i, w := range c.want {
				if got := r.cus[0][0].answers[i] - start; got != w {
					t.Errorf("line %d came after %d cycles, want %d", i, got, w)
				}
			}
			last := start + c.want[len(c.want)-1]
			if res.FirstWorkgroup != start || res.LastWorkgroup != last || res.Cycles != last+70 {
				t.Errorf("result %+v, want first %d last %d cycles %d", res, start, last, last+70)
			}
		})
	}
}

// TestSaturatedLinks: whatever limits, the lines run at its configured
// bandwidth.
func TestSaturatedLinks(t *testing.T) {
	const lines = 6000
	for _, c := range []struct {
		name   string
		change func(*configs.Machine)
		bytes  int // of a write; 0: reads
		want   float64
	}{
		{"fabric read", func(m *configs.Machine) {}, 0, 128},
		{"HBM", func(m *configs.Machine) { m.Fabric.ReadGBs = 4096; m.HBM.GBs = 64 }, 0, 64},
		{"LLC", func(m *configs.Machine) { m.Fabric.ReadGBs, m.HBM.GBs, m.LLC.GBs = 4096, 4096, 96 }, 0, 96},
		{"fabric write", func(m *configs.Machine) { m.L2.Bytes = 16 << 10 }, 128, 64 * 128 / 144.},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := testMachine()
			m.Chip.XCDs, m.L2.MSHRsPerChannel, m.LLC.MSHRsPerSlice = 1, 1024, 1024
			c.change(m)
			r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) {
				return uint64(i*6+wg) * 128, c.bytes, i < lines/6
			}, func(f *fakeCU) { f.window = 1000 })
			res := r.run(t, 6)
			begin, end := res.FirstWorkgroup, res.LastWorkgroup
			slack := 1000.0 // cold start
			if c.bytes != 0 {
				end = res.Cycles
			}
			got, want := float64(end-begin), lines*128/c.want
			if got < want*0.99 || got > want*1.02+slack {
				t.Errorf("%d lines take %.0f cycles, want %.0f", lines, got, want)
			}
		})
	}
}

// portBytes sums the data that cross the ports.
type portBytes struct{ fills, writes, messages int }

func (p *portBytes) Func(ctx sim.HookCtx) {
	b, ok := ctx.Item.(*LineBurst)
	if ctx.Pos != sim.HookPosPortMsgSend || !ok {
		return
	}
	p.messages++
	if b.ID == "" {
		panic("a message without an id although a hook listens")
	}
	for _, l := range b.Lines[:b.N] {
		switch l.Kind {
		case LineFill:
			p.fills += int(l.Bytes)
		case LineWrite:
			p.writes += int(l.Bytes)
		}
	}
}

// mixed reads and writes lines with reuse within and between XCDs.
func mixed(wg, i int) (uint64, int, bool) {
	h := uint64(wg*7919+i*104729) * 0x9e3779b97f4a7c15
	line := h >> 40 % 40000 * 128
	if i%3 == 0 {
		line = uint64(i) * 128 // shared by all
	}
	switch {
	case i%7 == 3:
		return line, 128, i < 300
	case i%11 == 5:
		return line, 1 + int(h>>20%100), i < 300
	}
	return line, 0, i < 300
}

// TestPortBytes: what the caches count is what crossed the ports.
func TestPortBytes(t *testing.T) {
	r := newRig(t, testMachine(), Options{}, mixed)
	hook := &portBytes{}
	for _, c := range r.Components() {
		for _, p := range c.Ports() {
			p.AcceptHook(hook)
		}
	}
	r.run(t, 200)
	s := r.Stats()
	if uint64(hook.fills) != s.L2.FillBytes || uint64(hook.writes) != s.L2.WriteBackBytes || hook.messages == 0 {
		t.Errorf("ports carried %d fill bytes and %d written bytes, the L2s count %d and %d", hook.fills, hook.writes, s.L2.FillBytes, s.L2.WriteBackBytes)
	}
	if s.Fabric.ReadBytes != s.L2.FillBytes || s.Fabric.WriteBytes != s.L2.WriteBackBytes || s.LLC.Reads != s.L2.Fills || s.LLC.Writes != s.L2.WriteBacks {
		t.Errorf("levels disagree: %+v", s)
	}
	if s.L2.Reads != s.L2.ReadHits+s.L2.ReadMisses || s.L2.Writes != s.L2.WriteHits+s.L2.WriteMisses || s.L2.ReadMisses != s.L2.Fills {
		t.Errorf("L2 counts do not add up: %+v", s.L2)
	}
	if s.LLC.Fills != s.HBM.Reads || s.LLC.WriteBacks < s.HBM.Writes || s.HBM.RowHits+s.HBM.RowMisses < s.HBM.Reads {
		t.Errorf("LLC and memory disagree: %+v %+v", s.LLC, s.HBM)
	}
	var n uint64
	for _, b := range s.L2.Latency {
		n += b
	}
	if n != s.L2.Reads {
		t.Errorf("%d latencies of %d reads", n, s.L2.Reads)
	}
}

// trace is everything that a run does, as far as a CU can see.
func (r *rig) trace() (s [][]int64) {
	for _, x := range r.cus {
		for _, f := range x {
			one := append([]int64{}, f.answers...)
			for _, g := range f.started {
				one = append(one, g.at, int64(g.wg))
			}
			s = append(s, one)
		}
	}
	return s
}

// TestThreadsAndSkippingChangeNothing: one thread, several, and stepping in
// every cycle give the same run, answer by answer.
func TestThreadsAndSkippingChangeNothing(t *testing.T) {
	for _, iods := range []int{1, 3, 4} {
		t.Run(fmt.Sprint(iods, " IODs"), func(t *testing.T) { testThreadsAndSkipping(t, iods) })
	}
}

func testThreadsAndSkipping(t *testing.T, iods int) {
	run := func(o Options) ([][]int64, Result, MemoryStats) {
		m := testMachine()
		m.Chip.IODs, m.Fabric.HopNS, m.Fabric.EastWestGBs, m.Fabric.NorthSouthGBs = iods, 17, 50, 40
		r := newRig(t, m, o, mixed)
		res := r.run(t, 150)
		return r.trace(), res, r.Stats()
	}
	trace, res, stats := run(Options{Threads: 1})
	if crossed := stats.Fabric.Mesh.Entered > 0 && stats.Fabric.Mesh.QueueCycles > 0; crossed != (iods > 1) {
		t.Fatalf("%d IODs: %+v", iods, stats.Fabric.Mesh)
	}
	for _, o := range []Options{{Threads: 2}, {Threads: 3}, {Threads: 64}, {EveryCycle: true}} {
		trace2, res2, stats2 := run(o)
		if d := cmp.Diff(res, res2); d != "" {
			t.Errorf("%d threads, every cycle %v: result (-one +this):\n%s", o.Threads, o.EveryCycle, d)
		}
		if d := cmp.Diff(stats, stats2); d != "" {
			t.Errorf("%d threads, every cycle %v: counts (-one +this):\n%s", o.Threads, o.EveryCycle, d)
		}
		if d := cmp.Diff(trace, trace2); d != "" {
			t.Errorf("%d threads, every cycle %v: answers (-one +this):\n%s", o.Threads, o.EveryCycle, d)
		}
	}
}

// TestRunsRepeat: a second launch starts with an empty L2 and a warm LLC, and a
// third is like the second.
func TestRunsRepeat(t *testing.T) {
	m := testMachine()
	m.HBM.RefreshIntervalNS = 0
	r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) { return uint64(i+wg*32) * 128, 0, i < 32 })
	cold := r.run(t, 16)
	if s := r.Stats(); s.LLC.ReadHits != 0 || s.L2.ReadMisses != 512 {
		t.Errorf("first: %d LLC hits, %d L2 misses", s.LLC.ReadHits, s.L2.ReadMisses)
	}
	warm := r.run(t, 16)
	if s := r.Stats(); s.LLC.ReadHits != 512 || s.L2.ReadMisses != 512 {
		t.Errorf("second: %d LLC hits, %d L2 misses", s.LLC.ReadHits, s.L2.ReadMisses)
	}
	if again := r.run(t, 16); !reflect.DeepEqual(again, warm) || warm.Cycles >= cold.Cycles {
		t.Errorf("cold %+v, warm %+v, again %+v", cold, warm, again)
	}
}

func TestDeadlockIsAnError(t *testing.T) {
	r := newRig(t, testMachine(), Options{}, func(wg, i int) (uint64, int, bool) { return 0, 0, true },
		func(f *fakeCU) { f.window = 0 })
	_, err := r.Run(context.Background(), Kernel{Workgroups: 3, Waves: 1})
	if err == nil || !strings.Contains(err.Error(), "deadlock at cycle ") || !strings.Contains(err.Error(), "with 0 of 3 workgroups ended: nothing is under way in any die\n") || !strings.Contains(err.Error(), "CU 0: 1 workgroups wait") {
		t.Errorf("error %v", err)
	}
}

func TestRunStops(t *testing.T) {
	r := newRig(t, testMachine(), Options{Threads: 2}, mixed)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := r.Run(ctx, Kernel{Workgroups: 500, Waves: 1, Progress: func(done, total, cycle int64) {
		if done > 50 {
			cancel()
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "of 500 workgroups") {
		t.Errorf("error %v", err)
	}
}

func TestProgressEndsComplete(t *testing.T) {
	r := newRig(t, testMachine(), Options{}, mixed)
	var last, lastCycle int64 = -1, -1
	res, err := r.Run(context.Background(), Kernel{Workgroups: 60, Waves: 1, Progress: func(done, total, cycle int64) {
		if done < last || cycle <= lastCycle || total != 60 {
			t.Errorf("progress %d of %d at %d after %d at %d", done, total, cycle, last, lastCycle)
		}
		last, lastCycle = done, cycle
	}})
	if err != nil || last != 60 || res.Cycles == 0 {
		t.Errorf("ended at %d workgroups: %v", last, err)
	}
}

func TestErrors(t *testing.T) {
	none := func(int, int, cache.L2Port, func(int64, int)) (ComputeUnit, error) { return &fakeCU{}, nil }
	for name, c := range map[string]struct {
		change func(*configs.Machine)
		mhz    float64
		newCU  func(int, int, cache.L2Port, func(int64, int)) (ComputeUnit, error)
		want   string
	}{
		"no CUs":   {func(m *configs.Machine) {}, 1000, nil, "no compute units"},
		"clock":    {func(m *configs.Machine) {}, 0, none, "core clock of 0 MHz"},
		"XCDs":     {func(m *configs.Machine) { m.Chip.XCDs = 0 }, 1000, none, "0 XCDs"},
		"many CUs": {func(m *configs.Machine) { m.Chip.CUsPerXCD = 65 }, 1000, none, "65 CUs"},
		"engines":  {func(m *configs.Machine) { m.Chip.ShaderEngines = 0 }, 1000, none, "shader engines"},
		"order":    {func(m *configs.Machine) { m.Dispatch.Order = "random" }, 1000, none, `order "random"`},
		"L2":       {func(m *configs.Machine) { m.L2.Channels = 3 }, 1000, none, "L2: banks"},
		"LLC":      {func(m *configs.Machine) { m.LLC.Ways = 0 }, 1000, none, "LLC: 0 ways"},
		"HBM":      {func(m *configs.Machine) { m.HBM.Stacks = 0 }, 1000, none, "HBM: 0 channels"},
		"CU": {func(m *configs.Machine) {}, 1000,
			func(int, int, cache.L2Port, func(int64, int)) (ComputeUnit, error) {
				return nil, fmt.Errorf("broken")
			}, "CU 0: broken"},
	} {
		m := testMachine()
		c.change(m)
		if _, err := New(m, c.mhz, Options{NewCU: c.newCU}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	r := newRig(t, testMachine(), Options{}, mixed)
	if _, err := r.Run(context.Background(), Kernel{Workgroups: 0, Waves: 1}); err == nil {
		t.Error("a launch of no workgroups is taken")
	}
}

// Where L2s keep their lines, one that another XCD has written in a launch is not
// found in the next: XCD 1 has read line 0 before XCD 0 wrote it.
func TestWrittenLinesAreDropped(t *testing.T) {
	m := testMachine()
	m.Chip.XCDs, m.Chip.CUsPerXCD, m.L2.Invalidate = 2, 2, false
	launch := 0
	r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) {
		switch {
		case i == 1 && wg == 1 && launch == 0:
			return 0x4000, 0, true // a line that nobody writes
		case i > 0:
			return 0, 0, false
		case wg == 0 && launch == 0:
			return 0, 128, true
		}
		return 0, 0, true
	})
	r.run(t, 2)
	launch = 1
	r.run(t, 2)
	if s := r.Stats().L2; s.ReadHits != 1 || s.ReadMisses != 1 {
		t.Errorf("the second launch has %d hits and %d misses of the line: want a hit in XCD 0, which wrote it, and a miss in XCD 1", s.ReadHits, s.ReadMisses)
	}
}
