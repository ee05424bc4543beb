package sim

import "testing"

// BenchmarkOneCU runs the 256x256 GEMM tile on one CU.
func BenchmarkOneCU(b *testing.B) {
	for range b.N {
		r, err := Run(RunOptions{Kernel: "gemm", Arch: "teaching", M: 256, N: 256, K: 262144, Tile: "256x256", Mode: "timing", Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.Host.WaveInstructionsPerSecond, "waveinst/s")
	}
}
