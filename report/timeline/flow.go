package timeline

// Flow is a memory operation with the wait that it satisfied: the first
// s_waitcnt of its wave that lets fewer operations be outstanding than were
// issued since.
type Flow struct {
	MemoryOp
	Wait     int64 // cycle at which the wait issued; 0: none within the recording
	WaitInst int32
}

// Flows returns the lane's operations in order of issue, each with its wait.
func (l *Lane) Flows(r *Recording) []Flow {
	var flows []Flow
	l.EachMemoryOp(func(m MemoryOp) { flows = append(flows, Flow{MemoryOp: m, WaitInst: -1}) })
	var open [2][]int // by counter: flows that no wait has covered
	next, wave := 0, 0
	l.EachSegment(r.Interval, func(s Segment) bool {
		if s.Kind != Issue {
			return true
		}
		for wave+1 < len(l.Waves) && s.From >= l.Waves[wave+1].Start {
			wave++
			open[0], open[1] = open[0][:0], open[1][:0]
		}
		for next < len(flows) && flows[next].Issued < s.From {
			next++ // of an issue outside the window
		}
		for next < len(flows) && flows[next].Issued == s.From {
			c := counter(flows[next].LGKM)
			open[c] = append(open[c], next)
			next++
		}
		in := &r.Insts[s.Inst]
		for c, n := range [2]int16{in.WaitVM, in.WaitLGKM} {
			if n < 0 {
				continue
			}
			done := max(len(open[c])-int(n), 0)
			for _, i := range open[c][:done] {
				flows[i].Wait, flows[i].WaitInst = s.From, s.Inst
			}
			open[c] = open[c][:copy(open[c], open[c][done:])]
		}
		return true
	})
	return flows
}

func counter(lgkm bool) int {
	if lgkm {
		return 1
	}
	return 0
}
