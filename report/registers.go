package report

import (
	"fmt"
	"strings"
)

// Registers is what moving values between register files and to scratch memory
// costs. Counts are of wave instructions executed.
type Registers struct {
	Copies          int64 `json:"copies" doc:"v_accvgpr_read, write and mov executed, counted once a wave"`
	CopyIssueCycles int64 `json:"copy_issue_cycles" unit:"wave-cycles" doc:"wave-cycles in which they issued"`
	CopyStallCycles int64 `json:"copy_stall_cycles" unit:"wave-cycles" doc:"wave-cycles in which a wave waited to issue one"`

	SpillStores      int64 `json:"spill_stores" doc:"scratch stores executed, counted once a wave"`
	SpillLoads       int64 `json:"spill_loads" doc:"scratch loads executed, counted once a wave"`
	SpillIssueCycles int64 `json:"spill_issue_cycles" unit:"wave-cycles" doc:"wave-cycles in which scratch instructions issued"`
	SpillStallCycles int64 `json:"spill_stall_cycles" unit:"wave-cycles" doc:"wave-cycles in which a wave waited to issue one"`
	SpillWaitCycles  int64 `json:"spill_wait_cycles" unit:"wave-cycles" doc:"wave-cycles in which a wave waited with vmcnt for scratch loads, and for what was issued before them"`
}

// Cost is all wave-cycles of copies and spills.
func (r *Registers) Cost() int64 {
	return r.CopyIssueCycles + r.CopyStallCycles + r.SpillIssueCycles + r.SpillStallCycles + r.SpillWaitCycles
}

// writeRegisters says what copies and spills cost, when there were any.
func writeRegisters(b *strings.Builder, r *Run) error {
	x := &r.Registers
	if x.Cost() == 0 {
		return nil
	}
	share := func(v int64) string { return Percent(Ratio(float64(v), float64(r.WaveCycles))) }
	fmt.Fprintf(b, "\nREGISTERS  copies and spills take %s of the wave-cycles\n", share(x.Cost()))
	fmt.Fprintf(b, "  %s copies between VGPRs and AGPRs: issued %s, stalled %s\n", Thousands(x.Copies), share(x.CopyIssueCycles), share(x.CopyStallCycles))
	if x.SpillLoads+x.SpillStores > 0 {
		fmt.Fprintf(b, "  %s scratch stores, %s loads: issued %s, stalled %s, waited for %s\n", Thousands(x.SpillStores), Thousands(x.SpillLoads),
			share(x.SpillIssueCycles), share(x.SpillStallCycles), share(x.SpillWaitCycles))
	}
	return nil
}

// registerAmounts are the counts of Registers that Combine adds up.
func registerAmounts() []func(*Run) *int64 {
	return []func(*Run) *int64{
		func(r *Run) *int64 { return &r.Registers.Copies }, func(r *Run) *int64 { return &r.Registers.CopyIssueCycles },
		func(r *Run) *int64 { return &r.Registers.CopyStallCycles }, func(r *Run) *int64 { return &r.Registers.SpillStores },
		func(r *Run) *int64 { return &r.Registers.SpillLoads }, func(r *Run) *int64 { return &r.Registers.SpillIssueCycles },
		func(r *Run) *int64 { return &r.Registers.SpillStallCycles }, func(r *Run) *int64 { return &r.Registers.SpillWaitCycles },
	}
}
