package workloads

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/isa"
)

// ValueType is how a result lies in memory.
type ValueType string

// The types of results.
const (
	BF16 ValueType = "bf16"
	FP16 ValueType = "fp16"
	F32  ValueType = "f32"
	U32  ValueType = "u32"
)

// Bytes is the size of a value.
func (t ValueType) Bytes() int {
	if t == BF16 || t == FP16 {
		return 2
	}
	return 4
}

// Expected is a run of consecutive values in memory and what they should be: the
// float64 reference of a kernel, a piece at a time. Verification in the simulator
// and in an exported host program go by the same pieces.
type Expected struct {
	Addr uint64
	Type ValueType
	Want []float64
	// Scale is what an error is relative to: max(|want|, Scale), or Scale alone
	// when Fixed is set.
	Scale float64
	Fixed bool
}

// Error is the greatest error of the values in memory, +Inf where one is not a
// number. buf is scratch space that Error may grow.
func (e *Expected) Error(mem *isa.Memory, buf []byte) (float64, []byte) {
	n := len(e.Want) * e.Type.Bytes()
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	mem.Read(e.Addr, buf)
	worst := 0.0
	for i, want := range e.Want {
		scale := e.Scale
		if !e.Fixed {
			scale = max(math.Abs(want), scale)
		}
		d := math.Abs(e.Type.value(buf, i) - want)
		if d == 0 {
			continue
		}
		if d /= scale; math.IsNaN(d) {
			return math.Inf(1), buf
		}
		worst = max(worst, d)
	}
	return worst, buf
}

// value is the i-th value of b.
func (t ValueType) value(b []byte, i int) float64 {
	switch t {
	case BF16:
		return bf16Value(binary.LittleEndian.Uint16(b[2*i:]))
	case FP16:
		return fp16Value(binary.LittleEndian.Uint16(b[2*i:]))
	case U32:
		return float64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}

// references gives a kernel's expected values to yield, piece by piece. A piece
// and its values are the callee's only until yield returns.
type references func(yield func(Expected)) error

// verifier is the Verify of a kernel with these references.
func (r references) verifier(mem *isa.Memory) func() (float64, error) {
	return func() (float64, error) {
		worst := 0.0
		var buf []byte
		err := r(func(e Expected) {
			var d float64
			d, buf = e.Error(mem, buf)
			worst = max(worst, d)
		})
		return worst, err
	}
}

// Place is a run of expected values by region.
type Place struct {
	Region string
	Offset uint64
}

// Locate finds the region that an expectation lies in.
func (e *Expected) Locate(mem *isa.Memory) (Place, error) {
	r, ok := mem.Find(e.Addr, uint64(len(e.Want)*e.Type.Bytes()))
	if !ok {
		return Place{}, fmt.Errorf("workloads: %d expected values at %#x lie outside every region", len(e.Want), e.Addr)
	}
	return Place{r.Name, e.Addr - r.Base}, nil
}
