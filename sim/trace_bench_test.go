package sim

import (
	"path/filepath"
	"testing"
)

// BenchmarkTrace compares a run with one that is recorded and with its replay on
// another machine, where the replay looks for its clock as a run does.
func BenchmarkTrace(b *testing.B) {
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", M: 2048, N: 2048, K: 4096, Mode: "timing", Threads: 1, Seed: 1}
	path := filepath.Join(b.TempDir(), "b.trace")
	b.Run("run", func(b *testing.B) {
		for b.Loop() {
			if _, err := Run(o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("record", func(b *testing.B) {
		o.Trace = path
		for b.Loop() {
			if _, err := Run(o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("replay", func(b *testing.B) {
		for b.Loop() {
			if _, err := Replay(ReplayOptions{File: path, Threads: 1, Set: []string{"chip.name=other"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
