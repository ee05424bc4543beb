package sim

import (
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// runFunctional computes values only, with every hazard check on.
func runFunctional(r *report.Run, b *workloads.Built) error {
	st, err := emu.Run(b.Launch, emu.Options{Check: true})
	if err != nil {
		return err
	}
	r.WaveInstructions = int64(st.Insts)
	r.Notes = append(r.Notes, "functional mode computes values and no time: cycles and what follows from them are zero")
	return nil
}
