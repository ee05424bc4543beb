package sim

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
)

// policyNote says how many of a run's vector memory instructions asked the caches
// for something that the model does not do: a scope (sc0, sc1) or a stream (nt) of
// loads and stores, a write-back or an invalidation. It is empty when there was none.
func policyNote(k *isa.Kernel, inst []cu.InstStats) string {
	var bits, whole, all uint64
	for i := range inst {
		in := &k.Insts[i]
		c := isa.Classify(k.CPU, in)
		if c.Unit != isa.UnitVMEM || inst[i].Hits == 0 {
			continue
		}
		all += inst[i].Hits
		asked := isa.SC0 | isa.SC1 | isa.NT
		if c.Atomic {
			asked &^= isa.SC0 // the old value is wanted, which is modelled
		}
		switch {
		case in.Op == isa.BUFFER_INV, in.Op == isa.BUFFER_WBL2:
			whole += inst[i].Hits
		case in.Flags&asked != 0:
			bits += inst[i].Hits
		}
	}
	var parts []string
	if bits > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s vector memory instructions carry cache policy bits (sc0, sc1, nt) and are timed as if they had none",
			report.Thousands(int64(bits)), report.Thousands(int64(all))))
	}
	if whole > 0 {
		parts = append(parts, fmt.Sprintf("%s buffer_inv and buffer_wbl2 took an issue slot and changed no cache", report.Thousands(int64(whole))))
	}
	return strings.Join(parts, "; ")
}
