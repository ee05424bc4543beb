package sim

import (
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
)

// collectRegisters sums the copies between register files and the scratch
// accesses of a kernel.
func collectRegisters(r *report.Registers, inst []cu.InstStats, k *isa.Kernel) {
	loaded := false // the instruction before was a scratch load
	for i := range k.Insts {
		in, s := &k.Insts[i], &inst[i]
		hits, issued, stalled := int64(s.Hits), int64(s.Issued), int64(0)
		for _, n := range s.Stall {
			stalled += int64(n)
		}
		was := loaded
		loaded = false
		switch {
		case in.Op == isa.V_ACCVGPR_READ_B32, in.Op == isa.V_ACCVGPR_WRITE_B32, in.Op == isa.V_ACCVGPR_MOV_B32:
			r.Copies += hits
			r.CopyIssueCycles += issued
			r.CopyStallCycles += stalled
		case in.Flags&isa.SegScratch != 0:
			if isa.Classify(k.CPU, in).Store {
				r.SpillStores += hits
			} else {
				r.SpillLoads += hits
				loaded = true
			}
			r.SpillIssueCycles += issued
			r.SpillStallCycles += stalled
		case in.Op == isa.S_WAITCNT && was:
			r.SpillWaitCycles += issued + stalled
		}
	}
}
