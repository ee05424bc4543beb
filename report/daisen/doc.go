// Package daisen writes recordings as Akita traces, which Akita's viewer Daisen
// opens: an SQLite file of tasks. The simulation holds the kernel, that workgroups,
// a workgroup waves, a wave instructions, and a load the time that its data takes;
// what an instruction waited for are its milestones.
//
// Kinds are those that Daisen looks for: it takes its time axis from the task of
// kind Simulation and shows nothing without one, and it plots the rate and the
// latency of tasks of kind req_in, which the memory operations are.
//
// The tasks pass through Akita's own tracing, so that the file is what an Akita
// program writes.
package daisen

import (
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"

	_ "github.com/glebarez/go-sqlite" // the driver of Akita's own recorder
	"github.com/sarchlab/akita/v4/datarecording"
	"github.com/sarchlab/akita/v4/sim"
	"github.com/sarchlab/akita/v4/tracing"

	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/report/timeline"
)

// domain is a place that tasks are in.
type domain struct {
	sim.HookableBase
	name string
}

func (d *domain) Name() string { return d.name }

// clock tells the tracer what time the event has that is replayed.
type clock struct{ now sim.VTimeInSec }

func (c *clock) CurrentTime() sim.VTimeInSec { return c.now }

// Phases of a cycle: what ends, ends before anything begins, and outer tasks
// begin before inner ones and end after them.
const (
	reached = iota // a milestone, before its task may end
	endInner
	endWave
	endGroup
	beginSimulation
	beginKernel
	beginGroup
	beginWave
	beginInner
	endKernel
	endSimulation
)

type event struct {
	at    int64
	phase int
	do    func()
}

// Write writes a recording to path, which is replaced only by a whole file.
func Write(path string, r *timeline.Recording) (err error) {
	f, err := output.Create(path)
	if err != nil {
		return err
	}
	if err := write(f.Name(), r); err != nil { // into the empty file, which SQLite takes for a new one
		f.Discard()
		os.Remove(f.Name() + "-journal")
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return f.Commit()
}

func write(file string, r *timeline.Recording) (err error) {
	defer func() { // Akita's recorder panics where the disk is full
		if p := recover(); p != nil {
			err = fmt.Errorf("akita: %v", p)
		}
	}()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	backend := datarecording.NewDataRecorderWithDB(db)
	t := &tracer{r: r, perCycle: 1e-6 / max(r.Run.ClockMHz, 1)}
	db0 := tracing.NewDBTracer(&t.clock, backend)
	t.collect = func(d *domain) { tracing.CollectTrace(d, db0) }
	t.kernel()
	for i := range r.CUs {
		t.cu(&r.CUs[i], i)
	}
	slices.SortStableFunc(t.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.phase, b.phase))
	})
	db0.StartTracing()
	for i := range t.events {
		t.clock.now = sim.VTimeInSec(float64(t.events[i].at) * t.perCycle)
		t.events[i].do()
	}
	db0.StopTracing()
	db0.Terminate()
	backend.Flush()
	// Daisen reads milestones under another name than the tracer writes.
	if _, err := db.Exec("CREATE VIEW IF NOT EXISTS trace_milestones AS SELECT * FROM milestone"); err != nil {
		return err
	}
	return backend.Close()
}

type tracer struct {
	r        *timeline.Recording
	clock    clock
	perCycle float64 // seconds
	events   []event
	collect  func(*domain)
	ids      int
}

func (t *tracer) id(kind string) string {
	t.ids++
	return kind + strconv.Itoa(t.ids)
}

func (t *tracer) place(format string, a ...any) *domain {
	d := &domain{name: fmt.Sprintf(format, a...)}
	t.collect(d)
	return d
}

// task plans a task from one cycle to another.
func (t *tracer) task(id, parent string, d *domain, kind, what string, from, to int64, begin, end int) {
	if from >= to {
		return // of a wave that ends where the window begins
	}
	t.events = append(t.events,
		event{from, begin, func() { tracing.StartTask(id, parent, d, kind, what, nil) }},
		event{to, end, func() { tracing.EndTask(id, d) }})
}

const (
	simulationID = "simulation"
	kernelID     = "kernel"
)

func (t *tracer) kernel() {
	at := t.place("GPU")
	t.task(simulationID, "", at, "Simulation", t.r.Run.Kernel+" on "+t.r.Run.Arch, t.r.Window.From, t.r.End, beginSimulation, endSimulation)
	t.task(kernelID, simulationID, at, "kernel", t.r.Run.Kernel, t.r.Window.From, t.r.End, beginKernel, endKernel)
}

// span cuts a wave's or a workgroup's life to the recording.
func (t *tracer) span(start, end int64) (int64, int64) {
	if end == 0 || end > t.r.End {
		end = t.r.End
	}
	start = max(start, t.r.Window.From)
	return start, max(end, start)
}

func (t *tracer) cu(c *timeline.CU, index int) {
	at := t.place("GPU.XCD[%d].CU[%d]", c.XCD, c.ID)
	groups := map[int]string{}
	for i := range c.Lanes {
		for _, w := range c.Lanes[i].Waves {
			if groups[w.Group] == "" && w.Group < len(t.r.Groups) {
				groups[w.Group] = t.id("workgroup")
				from, to := t.span(t.r.Groups[w.Group].Start, t.r.Groups[w.Group].End)
				t.task(groups[w.Group], kernelID, at, "workgroup", fmt.Sprintf("workgroup %d", w.Group), from, to, beginGroup, endGroup)
			}
		}
	}
	for i := range c.Lanes {
		t.lane(c, &c.Lanes[i], groups)
	}
}

func (t *tracer) lane(c *timeline.CU, l *timeline.Lane, groups map[int]string) {
	at := t.place("GPU.XCD[%d].CU[%d].SIMD[%d].Slot[%d]", c.XCD, c.ID, l.SIMD, l.Slot)
	memory := t.place("GPU.XCD[%d].CU[%d].SIMD[%d].Slot[%d].Memory", c.XCD, c.ID, l.SIMD, l.Slot)
	waves := make([]string, len(l.Waves))
	for i, w := range l.Waves {
		waves[i] = t.id("wave")
		from, to := t.span(w.Start, w.End)
		t.task(waves[i], groups[w.Group], at, "wavefront", fmt.Sprintf("wave %d", w.Number), from, to, beginWave, endWave)
	}
	issued := map[int64]string{}
	l.EachExecution(t.r.Interval, func(wave int, e *timeline.Execution) {
		if wave < 0 {
			return
		}
		in := &t.r.Insts[e.Inst]
		id := t.id("inst")
		issued[e.Issue] = id
		// An issue that the window cuts would go past its wave.
		t.task(id, waves[wave], at, "inst", in.Text, max(e.From, t.r.Window.From), min(e.To, t.r.End), beginInner, endInner)
		for _, s := range e.Segments {
			if s.Kind == timeline.Issue {
				continue
			}
			kind, what, from := milestoneOf(s.Kind), s.Kind.Name(), min(s.To, t.r.End)
			t.events = append(t.events, event{from, reached, func() { tracing.AddMilestone(id, kind, what, at.name, at) }})
		}
	})
	for _, f := range l.Flows(t.r) {
		if id := issued[f.Issued]; id != "" && f.Done > f.Issued {
			t.task(t.id("memory"), id, memory, "req_in", t.r.Insts[f.Inst].Text, f.Issued, f.Done, beginInner, endInner)
		}
	}
}

// milestoneOf maps a stall to Akita's kinds of milestones.
func milestoneOf(k timeline.Kind) tracing.MilestoneKind {
	switch k.Name() {
	case "waitcnt_vmcnt", "waitcnt_lgkmcnt":
		return tracing.MilestoneKindData
	case "dependency", "barrier":
		return tracing.MilestoneKindDependency
	case "lds_queue_full", "vmem_queue_full":
		return tracing.MilestoneKindQueue
	case "matrix_busy", "valu_busy", "arbitration":
		return tracing.MilestoneKindHardwareResource
	}
	return tracing.MilestoneKindOther
}
