package att

import (
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report/timeline"
)

// From turns a recording into a thread trace. A shader engine of the trace is one
// of an XCD: XCD times engines, plus the CU's number modulo engines, as the
// dispatcher deals them out.
func From(r *timeline.Recording) *Folder {
	f := &Folder{Occupancy: map[int][]Occupied{}, Dispatches: map[string]string{"1": r.Run.Kernel}, GFX: r.Run.Machine.CPU}
	engines := max(r.Engines, 1)
	f.Code = make([]CodeRow, len(r.Insts))
	for i, in := range r.Insts {
		f.Code[i] = CodeRow{ISA: in.Text, Line: i + 1, Source: in.Cluster, CodeObject: 1, Address: int64(in.PC)}
	}
	var changes [4][]change
	for i := range r.CUs {
		c := &r.CUs[i]
		se, cu := c.XCD*engines+c.ID%engines, c.ID/engines
		for j := range c.Lanes {
			l := &c.Lanes[j]
			f.lane(r, l, se, cu)
			for _, w := range l.Waves {
				f.Occupancy[se] = append(f.Occupancy[se], Occupied{w.Start, cu, l.SIMD, l.Slot, true, 1})
				if w.End > 0 {
					f.Occupancy[se] = append(f.Occupancy[se], Occupied{w.End, cu, l.SIMD, l.Slot, false, 1})
				}
			}
		}
	}
	for _, events := range f.Occupancy {
		slices.SortStableFunc(events, func(a, b Occupied) int {
			if a.Time != b.Time {
				return int(max(-1, min(1, a.Time-b.Time)))
			}
			if a.Start != b.Start && !a.Start {
				return -1 // a slot is left before it is taken again
			} else if a.Start != b.Start {
				return 1
			}
			return 0
		})
	}
	f.sortWaves()
	for i := range f.Waves {
		at := f.Waves[i].Begin
		for _, s := range f.Waves[i].Timeline {
			changes[s.State-1] = append(changes[s.State-1], change{at, 1}, change{at + s.Length, -1})
			at += s.Length
		}
	}
	for i, name := range [4]string{"Idle", "Exec", "Wait", "Stall"} {
		f.States[i] = count(name, changes[i])
	}
	return f
}

type change struct{ at, by int64 }

func count(name string, c []change) States {
	slices.SortFunc(c, func(a, b change) int { return int(max(-1, min(1, a.at-b.at))) })
	s := States{Name: name}
	n := int64(0)
	for i, x := range c {
		n += x.by
		if i+1 < len(c) && c[i+1].at == x.at {
			continue
		}
		if k := len(s.Counts); k > 0 && s.Counts[k-1] == n {
			continue
		}
		s.Counts, s.Times = append(s.Counts, n), append(s.Times, x.at)
	}
	return s
}

// lane adds the waves of a slot.
func (f *Folder) lane(r *timeline.Recording, l *timeline.Lane, se, cu int) {
	waves := make([]Wave, len(l.Waves))
	for i, w := range l.Waves {
		begin, end := max(w.Start, r.Window.From), w.End
		if end == 0 || end > r.End {
			end = r.End
		}
		waves[i] = Wave{SE: se, SIMD: l.SIMD, Slot: l.Slot, CU: cu, ID: w.Group*max(r.Run.Launch.WavesPerWorkgroup, 1) + w.Number, Begin: begin, End: end}
	}
	last := make([]*timeline.Execution, len(waves))
	l.EachExecution(r.Interval, func(i int, e *timeline.Execution) {
		if i < 0 {
			return
		}
		w, c := &waves[i], &f.Code[e.Inst]
		d := e.To - e.From
		c.Hit++
		c.Latency += d
		c.Stall += d - int64(r.Interval)
		if p := last[i]; p != nil {
			c.Idle += e.From - p.To
			if p := &w.Insts[len(w.Insts)-1]; p.Type == TypeJump && int(e.Inst) == p.Line {
				p.Type = TypeNext // a branch line is followed by the next one
			}
		}
		w.Insts = append(w.Insts, Inst{Time: e.From, Type: typeOf(&r.Insts[e.Inst]), Stall: d - int64(r.Interval), Duration: d, Line: c.Line})
		copied := *e
		last[i] = &copied
	})
	k := 0
	l.EachSegment(r.Interval, func(s timeline.Segment) bool {
		for k+1 < len(waves) && s.From >= l.Waves[k+1].Start {
			k++
		}
		if k < len(waves) && s.From >= waves[k].Begin {
			waves[k].span(s)
		}
		return true
	})
	addWaits(r, l, waves)
	f.Waves = append(f.Waves, waves...)
}

// span adds a segment to the wave's timeline, which has no gap.
func (w *Wave) span(s timeline.Segment) {
	at := w.Begin + w.spanned
	add := func(state, n int64) {
		w.spanned += n
		if k := len(w.Timeline); k > 0 && w.Timeline[k-1].State == state {
			w.Timeline[k-1].Length += n
		} else {
			w.Timeline = append(w.Timeline, Span{state, n})
		}
	}
	if s.From > at {
		add(StateIdle, s.From-at)
	}
	state := int64(StateStall)
	switch {
	case s.Kind == timeline.Issue:
		state = StateExec
	case s.Kind.Waits():
		state = StateWait
	case s.Kind.Name() == "fetch":
		state = StateIdle
	}
	add(state, s.To-s.From)
}

// addWaits lists for each wait which instructions it waited for.
func addWaits(r *timeline.Recording, l *timeline.Lane, waves []Wave) {
	k := 0
	for _, fl := range l.Flows(r) {
		if fl.Wait == 0 {
			continue
		}
		for k+1 < len(waves) && fl.Issued >= l.Waves[k+1].Start {
			k++
		}
		if k >= len(waves) {
			return
		}
		waves[k].wait(int(fl.WaitInst)+1, int(fl.Inst)+1)
	}
	for i := range waves {
		slices.SortFunc(waves[i].Waits, func(a, b Wait) int { return a.Line - b.Line })
	}
}

func (w *Wave) wait(line, source int) {
	i := slices.IndexFunc(w.Waits, func(x Wait) bool { return x.Line == line })
	if i < 0 {
		w.Waits = append(w.Waits, Wait{Line: line})
		i = len(w.Waits) - 1
	}
	x := &w.Waits[i]
	for j := range x.Sources {
		if x.Sources[j][0] == source {
			x.Sources[j][1]++
			return
		}
	}
	x.Sources = append(x.Sources, [2]int{source, 1})
}

// typeOf is an instruction's type; a branch counts as taken until the next
// instruction shows that it was not.
func typeOf(in *timeline.Inst) int64 {
	switch in.Class {
	case "smem":
		return TypeSMEM
	case "salu":
		return TypeSALU
	case "vmem":
		for _, p := range []string{"flat_", "global_", "scratch_"} {
			if strings.HasPrefix(in.Text, p) {
				return TypeFLAT
			}
		}
		return TypeVMEM
	case "lds":
		return TypeLDS
	case "valu", "mfma":
		return TypeVALU
	case "branch":
		return TypeJump
	}
	if strings.HasPrefix(in.Text, "s_endpgm") || strings.HasPrefix(in.Text, "s_sendmsg") {
		return TypeMessage
	}
	return TypeImmediate
}
