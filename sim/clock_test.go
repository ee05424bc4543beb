package sim

import (
	"testing"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// A constant that two machines share was fitted on one of them: the same kernel
// on the other is a prediction.
func TestFittedOnThis(t *testing.T) {
	for _, c := range []struct {
		machine string
		size    int
		want    bool
	}{{"mi325x", 8192, true}, {"mi300x", 8192, false}, {"mi325x", 4096, false}, {"mi355x", 8192, true}, {"mi350x", 8192, false}} {
		m, err := configs.Load(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		cpu, err := cpuOf(m.Machine().CPU)
		if err != nil {
			t.Fatal(err)
		}
		b, err := workloads.GEMM(cpu, workloads.Spec{M: c.size, N: c.size, K: c.size, DType: "bf16", W: -1, C: -1})
		if err != nil {
			t.Fatal(err)
		}
		r := &report.Run{Kernel: "gemm", KernelHash: kernelHash(b.Launch)}
		r.Options.DType, r.Options.M, r.Options.N, r.Options.K = "bf16", c.size, c.size, c.size
		r.Machine.Name, r.Machine.Hash = c.machine, m.Hash()
		if got := clockFor(m, "bf16").fittedOnThis(r, cpu); got != c.want {
			t.Errorf("%s %d: fitted on this run: %v", c.machine, c.size, got)
		}
	}
}
