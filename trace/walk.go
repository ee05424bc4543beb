package trace

import "fmt"

// Step is one executed instruction.
type Step struct {
	Number  uint64 // in the wave, from 0
	Part    int
	Inst    int    // index in the program
	Exec    uint64 // lanes that are on
	Left    bool   // the instruction sets EXEC, to After
	After   uint64
	Jumps   bool // Next is not the neighbour
	Next    int
	Pattern *Pattern // of a memory instruction's addresses; nil for others
	Base    uint64
	Issue   *Issue // nil when nothing was measured
}

// Walk goes through the instructions of a wave, given by its parts, in order of
// execution. The Step is used again for the next. Walk returns the first error
// that f returns.
func Walk(parts []*Wave, f func(*Step) error) error {
	s := Step{}
	for i, p := range parts {
		w := walker{p: p, s: &s, accesses: map[int]*cursor{}, execs: map[int]*execCursor{}}
		s.Part, s.Exec = i, p.Exec
		for j := range p.Accesses {
			w.accesses[p.Accesses[j].Inst] = &cursor{runs: p.Accesses[j].Runs}
		}
		for j := range p.Execs {
			w.execs[p.Execs[j].Inst] = &execCursor{runs: p.Execs[j].Runs}
		}
		if err := w.run(f); err != nil {
			return err
		}
	}
	return nil
}

// cursor goes through the accesses of one instruction.
type cursor struct {
	runs []AccessRun
	done uint64 // of runs[0]
}

type execCursor struct {
	runs []ExecRun
	done uint64
}

type walker struct {
	p        *Wave
	s        *Step
	accesses map[int]*cursor
	execs    map[int]*execCursor
	n        uint64 // steps of the part
}

func (w *walker) run(f func(*Step) error) error {
	at := w.p.Start
	for _, j := range w.p.Jumps {
		for range j.Count {
			for ; at < j.From; at++ {
				if err := w.step(f, at, at+1); err != nil {
					return err
				}
			}
			if at != j.From {
				return fmt.Errorf("%w: workgroup %d, wave %d: the jump from instruction %d cannot be reached from %d", ErrFormat, w.p.Workgroup, w.p.Wave, j.From, at)
			}
			if err := w.step(f, at, j.To); err != nil {
				return err
			}
			at = j.To
		}
	}
	for w.n < w.p.Instructions {
		if err := w.step(f, at, at+1); err != nil {
			return err
		}
		at++
	}
	return nil
}

func (w *walker) step(f func(*Step) error, at, next int) error {
	s := w.s
	if w.n >= w.p.Instructions {
		return fmt.Errorf("%w: workgroup %d, wave %d: there are more than %d instructions", ErrFormat, w.p.Workgroup, w.p.Wave, w.p.Instructions)
	}
	s.Inst, s.Next, s.Jumps = at, next, next != at+1
	s.Pattern, s.Issue = nil, nil
	if c := w.accesses[at]; c != nil {
		if len(c.runs) == 0 {
			return fmt.Errorf("%w: workgroup %d, wave %d: no address is left for instruction %d", ErrFormat, w.p.Workgroup, w.p.Wave, at)
		}
		r := &c.runs[0]
		s.Pattern, s.Base = r.Pattern, r.Base+c.done*r.Step
		if c.done++; c.done == r.Count {
			c.runs, c.done = c.runs[1:], 0
		}
	}
	if w.n < uint64(len(w.p.Issues)) {
		s.Issue = &w.p.Issues[w.n]
	}
	s.Left, s.After = false, s.Exec
	if c := w.execs[at]; c != nil && len(c.runs) > 0 {
		s.Left, s.After = true, c.runs[0].Mask
		if c.done++; c.done == c.runs[0].Count {
			c.runs, c.done = c.runs[1:], 0
		}
	}
	if err := f(s); err != nil {
		return err
	}
	s.Exec = s.After
	s.Number++
	w.n++
	return nil
}
