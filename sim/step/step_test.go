package step

import (
	"bytes"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/sim"
)

func start(t *testing.T) *Machine {
	t.Helper()
	m, err := Start(Options{RunOptions: sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestStepping: cycles, issues, barriers and breakpoints are where the same run
// has them when it is recorded.
func TestStepping(t *testing.T) {
	m := start(t)
	at := m.State().Cycle
	if err := m.Cycles(3); err != nil || m.State().Cycle != at+3 {
		t.Errorf("three cycles after %d is %d; %v", at, m.State().Cycle, err)
	}
	if err := m.NextIssue(); err != nil || len(m.State().Issues) == 0 {
		t.Fatalf("no issue: %v", err)
	}
	first := m.State().Issues[0]
	if got := m.Kernel.Insts[first.Inst].Text(m.Kernel.CPU); !strings.HasPrefix(got, "s_load") || first.Cycle != m.State().Cycle {
		t.Errorf("the first to issue is %s at %d, at cycle %d", got, first.Cycle, m.State().Cycle)
	}
	if len(m.State().Waves) == 0 || len(m.State().Waves) > 8 {
		t.Errorf("%d waves", len(m.State().Waves))
	}
	if err := m.NextBarrier(); err != nil || !m.State().Released {
		t.Errorf("no barrier: %v", err)
	}
	var mfma int64 = -1
	for i := range m.Kernel.Insts {
		if strings.HasPrefix(m.Kernel.Insts[i].Text(m.Kernel.CPU), "v_mfma") {
			mfma = int64(m.Kernel.Insts[i].PC)
			break
		}
	}
	m.Breaks = []Breakpoint{{PC: mfma, Cycle: -1, Wave: -1}}
	if err := m.Continue(); err != nil || !strings.Contains(m.State().Why, "pc") {
		t.Fatalf("stopped for %q, %v", m.State().Why, err)
	}
	busy := false
	for _, s := range m.State().SIMDs {
		busy = busy || s.MatrixFree > m.State().Cycle
	}
	if !busy {
		t.Error("a matrix instruction has issued, and no matrix pipe is busy")
	}
	m.Breaks = []Breakpoint{{PC: -1, Cycle: -1, Wave: 5}}
	if err := m.Continue(); err != nil || !strings.Contains(m.State().Why, "wave 5") {
		t.Errorf("stopped for %q, %v", m.State().Why, err)
	}
	m.Breaks = nil
	if err := m.Continue(); err != nil || !m.State().Done {
		t.Fatalf("the run has not ended: %v", err)
	}
	whole, err := sim.Run(sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1})
	if err != nil || m.Result().Cycles != whole.Cycles {
		t.Errorf("the stepped run takes %d cycles, the run %d; %v", m.Result().Cycles, whole.Cycles, err)
	}
	if err := m.Cycles(1); err != nil || !m.State().Done {
		t.Errorf("after the end: %v", err)
	}
}

func TestScript(t *testing.T) {
	var a, b bytes.Buffer
	const script = "issue; cycle 2 # two\nbreak wave 3; breaks; continue\ndelete; barrier 2; show; quit; cycle"
	if err := start(t).Script(&a, script); err != nil {
		t.Fatal(err)
	}
	if err := start(t).Script(&b, script); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("the same script gives another text")
	}
	for _, want := range []string{"> issue\ncycle ", "SIMD.slot", "break at wave 3", "matrix pipe", "barrier      released", "queue holds"} {
		if !strings.Contains(a.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &a)
		}
	}
	if n := strings.Count(a.String(), "> "); n != 8 {
		t.Errorf("%d commands ran, want 8", n)
	}
}

func TestRefusals(t *testing.T) {
	m := start(t)
	for _, c := range []struct{ line, want string }{
		{"jump", "unknown command"}, {"cycle x", "no number"}, {"cycle 0", "no number"}, {"cycle 1 2", "too many"}, {"show it", "too many"},
		{"break", "break pc"}, {"break pc 0x3", "no instruction begins there"}, {"break pc -4", "no number"}, {"break cycle 1", "already"}, {"break wave 8", "0 to 7"}, {"break lane 3", "a pc, a cycle or a wave"},
	} {
		if _, _, err := m.Command(c.line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one about %q", c.line, err, c.want)
		}
	}
	for _, o := range []Options{
		{RunOptions: sim.RunOptions{Kernel: "gemm", Arch: "teaching", Mode: "functional", Threads: 1}},
		{RunOptions: sim.RunOptions{Kernel: "gemm", Arch: "teaching", Mode: "timing", Threads: 1}, CU: 1},
		{RunOptions: sim.RunOptions{Kernel: "gem", Arch: "teaching", Mode: "timing", Threads: 1}},
	} {
		if _, err := Start(o); err == nil {
			t.Errorf("%+v starts", o)
		}
	}
}
