package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// Host stands in for a benchmark's host program: it owns the device's memory,
// launches kernels and compares what they leave. The first error sticks.
type Host struct {
	Memory *isa.Memory
	run    func(*isa.Launch) error
	file   *codeobj.File
	rng    *rand.Rand
	err    error
	worst  float64 // greatest difference so far
	values int64
}

// Benchmark is one program of the MGPUSim suite.
type Benchmark struct {
	Name  string
	File  string  // code object, below the module's benchmarks
	Limit float64 // of the greatest |value - ref| / max(|ref|, rms(ref)); integers must be equal
	body  func(h *Host)
}

// Outcome is what a benchmark's check found.
type Outcome struct {
	Worst  float64
	Values int64
}

// Run runs a benchmark with its code object below dir; run does each launch.
func (b *Benchmark) Run(path string, run func(*isa.Launch) error) (Outcome, error) {
	f, err := codeobj.Open(path)
	if err != nil {
		return Outcome{}, err
	}
	h := &Host{Memory: isa.NewMemory(), run: run, file: f, rng: rand.New(rand.NewPCG(1, 2))}
	b.body(h)
	return Outcome{h.worst, h.values}, h.err
}

// put copies values to a new buffer.
func put[T any](h *Host, name string, v []T) uint64 {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil && h.err == nil {
		h.err = err
	}
	addr := h.Memory.Alloc(name, uint64(max(b.Len(), 4)))
	h.Memory.Write(addr, b.Bytes())
	return addr
}

// get reads values back.
func get[T any](h *Host, addr uint64, n int) []T {
	v := make([]T, n)
	b := make([]byte, binary.Size(v))
	h.Memory.Read(addr, b)
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, v); err != nil && h.err == nil {
		h.err = err
	}
	return v
}

// floats gives n values from a uniform distribution.
func (h *Host) floats(n int, low, high float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(low + (high-low)*h.rng.Float64())
	}
	return v
}

// dim is a grid or workgroup in x, y, z.
type dim = [3]int

// launch runs a kernel with dynamic LDS. Arguments are addresses (uint64), 32-bit
// scalars and pairs of them, in order.
func (h *Host) launch(kernel string, grid, wg dim, lds int, args ...any) {
	if h.err != nil {
		return
	}
	k, m, err := h.file.Kernel(kernel)
	if err != nil {
		h.err = err
		return
	}
	values := make([][]byte, len(args))
	for i, a := range args {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, a); err != nil {
			h.err = err
			return
		}
		values[i] = b.Bytes()
	}
	k.Workgroup = wg
	k.LDSBytes += lds
	kernarg, err := codeobj.Kernarg(m, values, codeobj.Grid{Workgroups: grid, Workgroup: wg, DynamicLDS: lds})
	if err != nil {
		h.err = err
		return
	}
	h.err = h.run(&isa.Launch{Kernel: k, Workgroups: grid, Kernarg: kernarg, Memory: h.Memory})
}

// same compares values with a reference: floats by the size of their
// difference, others for equality.
func same[T float32 | int32 | uint32 | uint8](h *Host, what string, got []T, want []float64) {
	if h.err != nil {
		return
	}
	if len(got) != len(want) || len(want) == 0 {
		h.err = fmt.Errorf("%s: %d values, and the reference has %d", what, len(got), len(want))
		return
	}
	var sq float64
	for _, w := range want {
		sq += w * w
	}
	rms := math.Sqrt(sq / float64(len(want)))
	for i, g := range got {
		e := math.Abs(float64(g)-want[i]) / max(math.Abs(want[i]), rms)
		switch _, float := any(g).(float32); {
		case float64(g) == want[i]:
			e = 0
		case !float || math.IsNaN(e):
			e = math.MaxFloat64
		}
		h.worst = max(h.worst, e)
		h.values++
	}
}
