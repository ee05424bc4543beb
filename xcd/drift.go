package xcd

// DriftSample says how far apart the workgroups of an XCD were at a cycle: the
// difference between the CU that was furthest and the one that was least far, in
// loop iterations of a workgroup, counted from the start of the launch. CUs
// without a workgroup do not count.
type DriftSample struct {
	Cycle int64   // of the launch
	Mean  float64 // over the XCDs
	Max   float64
}

// watchDrift takes a sample. Waves of a CU are at different iterations, so a
// CU's count is a mean over its waves.
func (g *GPU) watchDrift(cycle int64) {
	s := DriftSample{Cycle: cycle}
	perWG := float64(g.prog.Kernel.Waves())
	xcds := 0
	for i, x := range g.chip.xcds {
		least, most := ^uint64(0), uint64(0)
		cus := g.cus[i*len(x.cus) : (i+1)*len(x.cus)]
		for id, c := range cus {
			if x.dispatch.load[id] > 0 {
				least, most = min(least, c.LoopTurns()), max(most, c.LoopTurns())
			}
		}
		if most < least {
			continue
		}
		spread := float64(most-least) / perWG
		s.Mean += spread
		s.Max = max(s.Max, spread)
		xcds++
	}
	if xcds > 0 {
		s.Mean /= float64(xcds)
		g.drift = append(g.drift, s)
	}
}
