package workloads

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/whisker-sim/whisker/isa"
)

// tensor is a bf16 tensor in device memory.
type tensor struct {
	name  string // of its region
	bytes int
	addr  uint64
}

// fillNormal writes n values of N(0,1), rounded to bf16, at addr: reproducible from
// seed and stream.
func fillNormal(mem *isa.Memory, addr uint64, n int, seed, stream uint64) {
	rng := rand.New(rand.NewPCG(seed, stream))
	buf := make([]byte, 2*min(n, 1<<16))
	for n > 0 {
		m := min(n, len(buf)/2)
		for i := range m {
			binary.LittleEndian.PutUint16(buf[2*i:], bf16Bits(float32(rng.NormFloat64())))
		}
		mem.Write(addr, buf[:2*m])
		addr += uint64(2 * m)
		n -= m
	}
}

// readBF16 reads len(dst) values at addr.
func readBF16(mem *isa.Memory, addr uint64, dst []float64) {
	buf := make([]byte, 2*len(dst))
	mem.Read(addr, buf)
	for i := range dst {
		dst[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(buf[2*i:])) << 16))
	}
}

// sampleStep spaces the rows that a check reads, so that the work stays below
// most: an odd number, so that every row of a tile has its turn.
func sampleStep(rows int, cost, most float64) int {
	step := 1
	for float64(rows/step)*cost > most && rows/step > 64 {
		step = 2*step + 1
	}
	return step
}

// errNotFilled is Verify's answer before FillInputs.
func errNotFilled(kernel string) error {
	return fmt.Errorf("%s: the inputs were not filled in before the run, so there is nothing to verify", kernel)
}
