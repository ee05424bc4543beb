package sim

import "testing"

// BenchmarkGEMM256 runs one round of the 256x256 GEMM on all 256 CUs with a
// short inner dimension.
func BenchmarkGEMM256(b *testing.B) {
	for range b.N {
		r, err := Run(RunOptions{Kernel: "gemm", Arch: "mi355x", M: 4096, N: 4096, K: 2048, Mode: "timing", Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.Host.WaveInstructionsPerSecond, "waveinst/s")
	}
}
