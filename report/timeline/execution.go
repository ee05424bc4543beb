package timeline

// Execution is one instruction of one wave with what it waited for: before its
// issue, and after it where the instruction itself holds the wave, as a barrier
// does.
type Execution struct {
	Inst     int32
	From     int64 // first cycle of the wait before the issue
	Issue    int64
	To       int64 // the first cycle that the instruction does not hold the wave
	Segments []Segment
}

// EachExecution calls f for every instruction that issued in a lane, in order,
// with its wave's index in Waves, -1 when no wave is known. The Segments are
// overwritten by the next call.
func (l *Lane) EachExecution(interval int, f func(wave int, e *Execution)) {
	var e Execution
	var before []Segment // stalls ahead of an instruction that has not issued
	issued := false
	wave := -1
	flush := func() {
		if issued {
			f(wave, &e)
		}
		issued = false
	}
	l.EachSegment(interval, func(s Segment) bool {
		for wave+1 < len(l.Waves) && s.From >= l.Waves[wave+1].Start {
			flush()
			before = before[:0]
			wave++
		}
		switch {
		case s.Kind == Issue:
			flush()
			issued = true
			e = Execution{Inst: s.Inst, From: s.From, Issue: s.From, To: s.To, Segments: e.Segments[:0]}
			if len(before) > 0 && before[0].Inst == s.Inst {
				e.From = before[0].From
				e.Segments = append(e.Segments, before...)
			}
			e.Segments = append(e.Segments, s)
			before = before[:0]
		case issued && s.Inst == e.Inst && s.From == e.To:
			e.Segments = append(e.Segments, s)
			e.To = s.To
		default:
			if len(before) > 0 && (before[0].Inst != s.Inst || before[len(before)-1].To != s.From) {
				before = before[:0]
			}
			before = append(before, s)
		}
		return true
	})
	flush()
}

// Waits reports whether the wave asked for the time itself, by a wait, a barrier
// or a sleep, rather than being held by a busy unit.
func (k Kind) Waits() bool {
	switch k.Name() {
	case "waitcnt_vmcnt", "waitcnt_lgkmcnt", "barrier", "sleep":
		return true
	}
	return false
}
