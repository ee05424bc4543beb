package xcd

import (
	"slices"
	"testing"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

func TestShareOut(t *testing.T) {
	for _, c := range []struct {
		order       string
		offset, wgs int
		want        [][]int
	}{
		{"round_robin", 0, 10, [][]int{{0, 4, 8}, {1, 5, 9}, {2, 6}, {3, 7}}},
		{"round_robin", 3, 6, [][]int{{1, 5}, {2}, {3}, {0, 4}}},
		{"round_robin", 0, 2, [][]int{{0}, {1}, {}, {}}},
		{"contiguous", 0, 10, [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9}}},
		{"contiguous", 1, 3, [][]int{{}, {0}, {1}, {2}}},
		{"shader_engine", 0, 19, [][]int{{0, 1, 8, 9, 16, 17}, {2, 3, 10, 11, 18}, {4, 5, 12, 13}, {6, 7, 14, 15}}},
		{"shader_engine", 1, 5, [][]int{{}, {0, 1}, {2, 3}, {4}}},
	} {
		m := &configs.Machine{Chip: configs.Chip{XCDs: 4, ShaderEngines: 2}, Dispatch: configs.Dispatch{Order: c.order, XCDOffset: c.offset}}
		for x := range 4 {
			l := shareOut(m, x, c.wgs)
			got := []int{}
			for i := range l.count {
				got = append(got, l.at(i))
				if o := XCDOf(m, l.at(i), c.wgs); o != x {
					t.Errorf("%s: workgroup %d of XCD %d is said to be of XCD %d", c.order, l.at(i), x, o)
				}
			}
			if !slices.Equal(got, c.want[x]) {
				t.Errorf("%s offset %d, %d workgroups, XCD %d: %v, want %v", c.order, c.offset, c.wgs, x, got, c.want[x])
			}
		}
	}
}

// TestDispatchOrder: shader engines in turn, the least loaded CU, one workgroup
// of four waves in twenty cycles per engine, and the gap after an end.
func TestDispatchOrder(t *testing.T) {
	m := testMachine()
	m.Chip.XCDs, m.Chip.CUsPerXCD = 1, 4
	r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) { return uint64(wg) * 128, 0, i < 1 }, func(f *fakeCU) {
		f.slots = 1
	})
	r.run(t, 5)
	const start = 70
	for cu, want := range [][]started{{{start, 0}}, {{start, 1}}, {{start + 20, 2}}, {{start + 20, 3}}} {
		if got := r.cus[0][cu].started[0]; got != want[0] {
			t.Errorf("CU %d: first workgroup %+v, want %+v", cu, got, want[0])
		}
	}
	// Workgroup 0 ends first, when its line has come from memory.
	end := r.cus[0][0].answers[0]
	if got, want := r.cus[0][0].started[1], (started{end + 40, 4}); got != want {
		t.Errorf("the workgroup after the first on CU 0: %+v, want %+v", got, want)
	}
}

// The gap after a workgroup holds the room that it leaves and no other: a CU with
// room for three goes on being filled while one of them has just ended, and two that
// end one after the other each come free at their own time.
func TestGapIsOfTheRoomLeft(t *testing.T) {
	f := &fakeCU{slots: 3}
	cfg := &configs.Dispatch{WaveLaunchCycles: 5, WorkgroupGapCycles: 40}
	d := newDispatcher(cfg, []ComputeUnit{f}, 1)
	wakes := []int64{cache.Never}
	end := func(now int64, wg int) {
		f.groups = slices.DeleteFunc(f.groups, func(g *fakeGroup) bool { return g.wg == wg })
		d.ended(now, 0)
	}
	d.begin(0, workList{count: 6, run: 1, stride: 1}, 4)
	for now := range int64(200) {
		switch now {
		case 10:
			end(now, 0)
		case 63:
			end(now, 1)
		case 71:
			end(now, 2)
		}
		if d.at <= now {
			d.step(now, wakes)
		}
	}
	// 20 cycles of the engine apart; the fourth takes the room that the first left at
	// 10, the fifth and sixth what was left at 63 and 71: the engine is free at 123.
	want := []started{{0, 0}, {20, 1}, {40, 2}, {60, 3}, {103, 4}, {123, 5}}
	if !slices.Equal(f.started, want) {
		t.Errorf("launches %v, want %v", f.started, want)
	}
}

// An attempt within a gap does not take the room that the gap holds, in any order of
// CUs; another launch finds no gap of the one before.
func TestGapHolds(t *testing.T) {
	for _, order := range []string{"shader_engines", "fill", "spread"} {
		cus := []*fakeCU{{slots: 1}, {slots: 1}}
		cfg := &configs.Dispatch{WaveLaunchCycles: 1, WorkgroupGapCycles: 40, CUOrder: order}
		d := newDispatcher(cfg, []ComputeUnit{cus[0], cus[1]}, 1)
		wakes := []int64{cache.Never, cache.Never}
		ends := map[int64]int{50: 0, 80: 1, 125: 0} // cycle to CU
		d.begin(0, workList{count: 4, run: 1, stride: 1}, 4)
		for now := range int64(140) {
			if cu, ok := ends[now]; ok {
				cus[cu].groups = nil
				d.ended(now, cu)
			}
			if now == 130 {
				d.begin(now, workList{first: 10, count: 1, run: 1, stride: 1}, 4)
			}
			if d.at <= now {
				d.step(now, wakes)
			}
		}
		want := [][]started{{{0, 0}, {90, 2}, {130, 10}}, {{4, 1}, {120, 3}}}
		for i, f := range cus {
			if !slices.Equal(f.started, want[i]) {
				t.Errorf("%s: CU %d: launches %v, want %v", order, i, f.started, want[i])
			}
		}
	}
}

// The orders of CUs within an XCD: with four CUs of two shader engines and room
// for two workgroups each, by which CU each workgroup of the first round goes to.
func TestCUOrder(t *testing.T) {
	for _, c := range []struct {
		order string
		want  [][]int // workgroups of each CU
	}{
		{"shader_engines", [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}},
		{"spread", [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}},
		{"fill", [][]int{{0, 2}, {1, 3}, {4, 6}, {5, 7}}},
	} {
		m := testMachine()
		m.Chip.XCDs, m.Chip.CUsPerXCD, m.Dispatch.CUOrder = 1, 4, c.order
		r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) { return uint64(wg) * 128, 0, i < 1 }, func(f *fakeCU) {
			f.slots = 2
		})
		r.run(t, 8)
		for cu, want := range c.want {
			var got []int
			for _, s := range r.cus[0][cu].started[:2] {
				got = append(got, s.wg)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: CU %d has workgroups %v, want %v", c.order, cu, got, want)
			}
		}
	}
}

// With a stagger, no two workgroups of an XCD are launched closer than it and what it has for each wave.
func TestStagger(t *testing.T) {
	for _, c := range []struct{ workgroup, wave int }{{500, 0}, {0, 125}, {300, 50}} {
		testStagger(t, c.workgroup, c.wave)
	}
}

func testStagger(t *testing.T, workgroup, wave int) {
	t.Helper()
	m := testMachine()
	m.Chip.XCDs, m.Chip.CUsPerXCD, m.Dispatch.StaggerCycles, m.Dispatch.WaveStaggerCycles = 1, 4, workgroup, wave
	r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) { return uint64(wg) * 128, 0, i < 40 }, func(f *fakeCU) {
		f.slots = 1
	})
	r.run(t, 4)
	at := map[int]int64{}
	for _, f := range r.cus[0] {
		for _, s := range f.started {
			at[s.wg] = s.at
		}
	}
	for wg := 1; wg < 4; wg++ {
		if d := at[wg] - at[wg-1]; d != 500 {
			t.Errorf("workgroup %d is launched %d cycles after the one before, want 500", wg, d)
		}
	}
}

func TestDispatchBalances(t *testing.T) {
	r := newRig(t, testMachine(), Options{}, mixed)
	r.run(t, 4*6*2)
	for x, cus := range r.cus {
		for i, f := range cus {
			if len(f.started) != 2 {
				t.Errorf("XCD %d CU %d got %d workgroups, want 2", x, i, len(f.started))
			}
			for _, g := range f.started {
				if g.wg%4 != x {
					t.Errorf("workgroup %d runs on XCD %d", g.wg, x)
				}
			}
		}
	}
}
