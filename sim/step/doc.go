// Package step runs a kernel on one compute unit a cycle at a time, under the
// hands of a person (TUI) or of a script: the whole machine is simulated as in
// any run, and stands still between commands.
package step

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/xcd"
)

// Options says what is stepped.
type Options struct {
	sim.RunOptions
	XCD, CU int
}

// Issue is an instruction that issued.
type Issue struct {
	Cycle int64
	Slot  int // simd*wave slots + slot
	Inst  int32
}

// State is what a machine that stands still shows.
type State struct {
	cu.View
	Issues   []Issue // since it last stood still, the latest last, at most maxIssues
	Released bool    // a barrier was released in this cycle
	Done     bool    // the run has ended
	Why      string  // what it stopped for, empty for a plain step
}

// maxIssues bounds what a long step keeps for showing.
const maxIssues = 64

// Breakpoint stops the machine; a field below 0 is not asked.
type Breakpoint struct {
	PC    int64 // address of an instruction that issues
	Cycle int64
	Wave  int // wave of its workgroup that issues
}

// String is the breakpoint as a command writes it.
func (b Breakpoint) String() string {
	switch {
	case b.PC >= 0:
		return fmt.Sprintf("pc %#x", b.PC)
	case b.Cycle >= 0:
		return fmt.Sprintf("cycle %d", b.Cycle)
	}
	return fmt.Sprintf("wave %d", b.Wave)
}

// until says when to stop next, besides breakpoints.
type until struct {
	cycle    int64 // at this cycle or later, never when below 0
	issue    bool
	released bool
	end      bool // only breakpoints and the end of the run
}

// Machine is a running simulation that stands still.
type Machine struct {
	Kernel *isa.Kernel
	Breaks []Breakpoint

	opts    Options
	slots   int
	unit    *cu.CU
	order   chan until
	stopped chan State
	quit    chan struct{}
	once    sync.Once
	cancel  func()

	// Of the simulating goroutine.
	want   until
	issues []Issue
	fresh  int // of issues: those of this cycle
	woken  bool

	result *report.Run
	err    error
	state  State
	ended  bool
}

// Start builds the machine and runs to the first cycle of the CU.
func Start(o Options) (*Machine, error) {
	r, err := sim.LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	if c := r.Machine().Chip; o.XCD < 0 || o.CU < 0 || o.XCD >= c.XCDs || o.CU >= c.CUsPerXCD {
		return nil, &sim.UsageError{Err: fmt.Errorf("there is no CU %d.%d: the machine has XCDs 0 to %d with CUs 0 to %d each", o.XCD, o.CU, c.XCDs-1, c.CUsPerXCD-1)}
	}
	m := &Machine{opts: o, order: make(chan until), stopped: make(chan State), quit: make(chan struct{})}
	if o.Mode == "functional" {
		return nil, &sim.UsageError{Err: errors.New("functional mode has no cycles to step through: leave --mode functional out")}
	}
	o.RunOptions.Threads = 1
	first := true
	o.RunOptions.Adjust = func(g *xcd.GPUOptions, l *isa.Launch, stop func()) {
		if !first {
			return // of several kernels the first is stepped
		}
		first = false
		m.Kernel, m.cancel = l.Kernel, stop
		g.EveryCycle = true
		g.Progress = nil
		g.Watch = func(x, c int, unit *cu.CU) func(int64) {
			if x != o.XCD || c != o.CU {
				return nil
			}
			m.unit = unit
			m.slots = unit.WaveSlots()
			unit.SetRecorder(&recorder{m: m})
			return m.cycle
		}
	}
	m.want = until{cycle: 0}
	go func() {
		r, err := sim.Run(o.RunOptions)
		m.result, m.err = r, err
		close(m.stopped)
	}()
	m.receive()
	if m.ended && m.err != nil {
		return nil, m.err
	}
	if m.unit == nil || m.ended {
		return nil, &sim.UsageError{Err: fmt.Errorf("no workgroup reaches CU %d.%d: choose another, or a larger problem", o.XCD, o.CU)}
	}
	return m, nil
}

// cycle runs on the simulating goroutine after every cycle of the CU.
func (m *Machine) cycle(now int64) {
	if why, stop := m.stops(now); stop {
		s := State{View: m.unit.View(now), Issues: m.issues, Released: m.woken, Why: why}
		select {
		case m.stopped <- s:
		case <-m.quit:
			return
		}
		select {
		case m.want = <-m.order:
		case <-m.quit:
			return
		}
		m.issues = nil
	}
	m.fresh, m.woken = 0, false
}

// stops decides whether the machine stands still after this cycle.
func (m *Machine) stops(now int64) (why string, stop bool) {
	select {
	case <-m.quit:
		return "", false
	default:
	}
	for _, b := range m.Breaks {
		switch {
		case b.Cycle >= 0 && now == b.Cycle:
			return "break at " + b.String(), true
		case m.fresh == 0:
		case b.PC >= 0 && m.has(func(i Issue) bool { return int64(m.Kernel.Insts[i.Inst].PC) == b.PC }):
			return "break at " + b.String(), true
		case b.Wave >= 0 && m.has(func(i Issue) bool { return m.unit.WaveNumber(i.Slot) == b.Wave }):
			return "break at " + b.String(), true
		}
	}
	w := &m.want
	switch {
	case w.end:
		return "", false
	case w.issue:
		return "", m.fresh > 0
	case w.released:
		return "", m.woken
	}
	return "", w.cycle >= 0 && now >= w.cycle
}

// has looks at what issued in this cycle: the latest entries.
func (m *Machine) has(f func(Issue) bool) bool {
	return slices.ContainsFunc(m.issues[len(m.issues)-m.fresh:], f)
}

// receive waits until the machine stands still or has ended.
func (m *Machine) receive() {
	s, ok := <-m.stopped
	if !ok {
		m.ended = true
		m.state = State{View: cu.View{Cycle: m.state.Cycle}, Done: true, Why: "the run has ended"}
		if m.result != nil {
			m.state.Cycle = m.result.Cycles
		}
		return
	}
	m.state = s
}

func (m *Machine) run(u until) error {
	if m.ended {
		return m.err
	}
	m.order <- u
	m.receive()
	if m.ended {
		return m.err
	}
	return nil
}

// State is what the machine shows now.
func (m *Machine) State() *State { return &m.state }

// Cycles advances n cycles.
func (m *Machine) Cycles(n int64) error { return m.run(until{cycle: m.state.Cycle + n}) }

// NextIssue advances to the next cycle in which an instruction issues.
func (m *Machine) NextIssue() error { return m.run(until{cycle: -1, issue: true}) }

// NextBarrier advances to the next cycle in which a barrier lets waves go.
func (m *Machine) NextBarrier() error { return m.run(until{cycle: -1, released: true}) }

// Continue advances to a breakpoint or to the end.
func (m *Machine) Continue() error { return m.run(until{cycle: -1, end: true}) }

// Result is the run's report once it has ended.
func (m *Machine) Result() *report.Run { return m.result }

// Close ends the simulation.
func (m *Machine) Close() {
	m.once.Do(func() {
		close(m.quit)
		if m.cancel != nil {
			m.cancel()
		}
	})
}

// recorder notes what happens in a cycle.
type recorder struct{ m *Machine }

func (r *recorder) Issue(now int64, slot int, inst int32) {
	m := r.m
	m.fresh++
	if len(m.issues) == maxIssues {
		m.issues = m.issues[:copy(m.issues, m.issues[1:])]
	}
	m.issues = append(m.issues, Issue{now, slot, inst})
}
func (r *recorder) Barrier(_, _ int64, _, _ int)                      { r.m.woken = true }
func (r *recorder) Wave(int64, int, int, int)                         {}
func (r *recorder) End(int64, int)                                    {}
func (r *recorder) Stall(int64, int64, int, cu.StallReason, int32)    {}
func (r *recorder) MemoryIssue(int64, int, cu.Counter, uint32, int32) {}
func (r *recorder) MemoryDone(int64, int, cu.Counter, uint32)         {}
func (r *recorder) Bank(int64, int32, int, cu.Counter, uint32)        {}
func (r *recorder) LDSAccess(int32, *isa.Access, bool, int32, int32)  {}
