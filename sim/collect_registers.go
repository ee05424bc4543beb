package sim

import (
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
)

// collectRegisters sums the copies between register files and the scratch
// accesses of a kernel.
func collectRegisters(r *report.Registers, inst []cu.InstStats, k *isa.Kernel) {
	waits := reloadWaits(k)
	for i := range k.Insts {
		in, s := &k.Insts[i], &inst[i]
		hits, issued, stalled := int64(s.Hits), int64(s.Issued), int64(0)
		for _, n := range s.Stall {
			stalled += int64(n)
		}
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
			}
			r.SpillIssueCycles += issued
			r.SpillStallCycles += stalled
		case waits != nil && waits[i]:
			r.SpillWaitCycles += int64(s.Stall[cu.StallVMCnt])
		}
	}
}

// reloadWaits marks every s_waitcnt that has to wait for a scratch load and what is
// older, on any way to it; nil when the kernel has no scratch instruction. A
// compiler puts the wait in front of the first use, so that it may be far behind
// the load, and a wait for older loads may come to name a reload. Vector memory
// operations complete in order: bit d of a place's word is a scratch load
// outstanding behind which d have been issued.
func reloadWaits(k *isa.Kernel) []bool {
	if _, ok := usesScratch(k); !ok {
		return nil
	}
	waits, at := make([]bool, len(k.Insts)), make([]uint64, len(k.Insts)+1)
	for changed := true; changed; {
		changed = false
		for i := range k.Insts {
			in, out := &k.Insts[i], at[i]
			c := isa.Classify(k.CPU, in)
			switch {
			case in.Op == isa.S_WAITCNT:
				w := int(uint16(in.Offset))
				n := w&15 | w>>14&3<<4 // 63 does not wait
				waits[i] = n < 63 && out>>n&1 != 0
				if n < 63 {
					out &= 1<<n - 1
				}
			case c.Unit == isa.UnitVMEM:
				out <<= 1
				if in.Flags&isa.SegScratch != 0 && !c.Store {
					out |= 1
				}
			}
			join := func(to int) {
				changed = changed || at[to]|out != at[to]
				at[to] |= out
			}
			if in.Op != isa.S_BRANCH && in.Op != isa.S_ENDPGM {
				join(i + 1)
			}
			if t := int(in.Target); c.Unit == isa.UnitBranch && t >= 0 && t < len(k.Insts) {
				join(t)
			}
		}
	}
	return waits
}
