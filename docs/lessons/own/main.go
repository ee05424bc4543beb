// Command own builds a matrix kernel with the tile builder and runs it: lesson 11.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/workloads"
)

// depth is K. C = A B^T: A has 16*groups rows of depth elements, B has 16. A
// workgroup is one wave, and computes 16x16 of C.
const depth = 512

// build emits the kernel; ahead is how many K tiles are loaded before they are used.
func build(r workloads.Request, groups, ahead int) (*workloads.Job, error) {
	k := workloads.NewOwn(r.CPU)
	k.Cluster("setup", "other")
	a, b, c := k.SGPR(2), k.SGPR(2), k.SGPR(2)
	k.SLoad(a, k.Args, 0)
	k.SLoad(b, k.Args, 8)
	k.SLoad(c, k.Args, 16)

	// A lane holds row lane%16, and of each K tile the 8 elements from 8*(lane/16).
	row, offB, offA := k.VGPR(1), k.VGPR(1), k.VGPR(1)
	k.VAnd(row, workloads.Imm(15), k.Item)
	k.VShl(offB, row, 10) // a row is 512 elements, 1024 bytes
	k.VAnd(offA, workloads.Imm(48), k.Item)
	k.VAdd(offB, offA, offB)
	first := k.SGPR(1)
	k.SMul(first, k.Group, workloads.Imm(16*depth*2))
	k.VAdd(offA, first, offB)

	// Register tiles: a ring of K tiles of A and B, and one tile of C.
	ring := ahead + 1
	tileA, tileB, sum := k.VTile(ring, 1, 4), k.VTile(ring, 1, 4), k.VTile(1, 1, 4)
	k.Zero(sum)
	k.WaitLGKM(0)

	k.Cluster("product", "compute")
	const tiles = depth / 32
	load := func(t int) {
		k.GlobalLoad(isa.GLOBAL_LOAD_DWORDX4, tileA.At(t%ring, 0), offA, a, t*64)
		k.GlobalLoad(isa.GLOBAL_LOAD_DWORDX4, tileB.At(t%ring, 0), offB, b, t*64)
	}
	for t := range ahead {
		load(t)
	}
	for t := range tiles {
		if t+ahead < tiles {
			load(t + ahead)
		}
		k.WaitVM(2 * min(ahead, tiles-1-t)) // all but the tiles after this one
		k.MFMA(isa.V_MFMA_F32_16X16X32_BF16, sum.At(0, 0), tileA.At(t%ring, 0), tileB.At(t%ring, 0))
	}

	// A lane has column lane%16 of C, and the 4 rows from 4*(lane/16).
	k.Cluster("store", "memory")
	offC, col := k.VGPR(1), k.VGPR(1)
	k.VShr(offC, k.Item, 4)
	k.VShl(offC, offC, 8) // 4 rows of 16 floats
	k.VShl(col, row, 2)
	k.VAdd(offC, col, offC)
	k.SMul(first, k.Group, workloads.Imm(16*16*4))
	k.VAdd(offC, first, offC)
	for i := range 4 {
		k.GlobalStore(isa.GLOBAL_STORE_DWORD, offC, sum.Base.At(i, 1), c, i*64)
	}
	return k.Job("own", groups, 1, 2*16*16*depth*float64(groups), 1e-5, data(r.Seed, groups)...)
}

// data are the tensors: small whole numbers, which bf16 holds exactly.
func data(seed uint64, groups int) []workloads.Tensor {
	rng := rand.New(rand.NewPCG(seed, 0))
	fill := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(rng.IntN(9) - 4)
		}
		return v
	}
	a, b, c := fill(16*groups*depth), fill(16*depth), make([]float64, 16*groups*16)
	for i := range c {
		for k := range depth {
			c[i] += a[i/16*depth+k] * b[i%16*depth+k]
		}
	}
	return []workloads.Tensor{{Name: "A", Type: workloads.BF16, Fill: a}, {Name: "B", Type: workloads.BF16, Fill: b}, {Name: "C", Type: workloads.F32, Want: c}}
}

func main() {
	ahead := flag.Int("ahead", 0, "K tiles that are loaded before they are used, 0 to 15")
	groups := flag.Int("groups", 1, "workgroups, of one wave and 16 rows of A each; 1 to 1024")
	mode := flag.String("mode", "full", "timing, functional or full")
	flag.Parse()
	if err := run(*groups, *ahead, *mode); err != nil {
		fmt.Fprintln(os.Stderr, "own:", err)
		os.Exit(1)
	}
}

func run(groups, ahead int, mode string) error {
	if ahead < 0 || ahead > 15 {
		return fmt.Errorf("-ahead is %d; there are 0 to 15", ahead)
	}
	if groups < 1 || groups > 1024 {
		return fmt.Errorf("-groups is %d; there are 1 to 1024", groups)
	}
	// A definition is what makes a kernel known by name, to sim.Run as to whisker.
	workloads.Definitions = append(workloads.Definitions, workloads.Definition{Name: "own", Doc: "C = A B^T, one wave a tile",
		Options: func() []workloads.Option { return nil },
		Build:   func(r workloads.Request) (*workloads.Job, error) { return build(r, groups, ahead) },
		Forms:   func() []workloads.Info { return nil }})
	o := sim.RunOptions{Kernel: "own", Arch: "teaching", Mode: mode, Verify: mode != "timing", Threads: 1, Seed: 1}
	r, err := sim.Run(o)
	if err != nil {
		return err
	}
	return report.WriteText(os.Stdout, r)
}
