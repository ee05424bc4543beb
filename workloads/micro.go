package workloads

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// Micro-kernels that measure one property of the memory each, as the published
// microbenchmarks do: a chase along dependent loads, and streams of independent
// ones.

// Limits of a footprint: a buffer descriptor's 32-bit size, and a handful of lines.
const (
	minFootprint = 4 << 10
	maxFootprint = 2 << 30
)

// microLine is the distance of a chase's places: a line of L1 and L2.
const microLine = 128

var sizeSuffixes = []struct {
	name  string
	shift int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}}

// footprint reads an option such as 64MiB.
func (r *Request) footprint(kernel, def string) (int, error) {
	s, ok := r.Options["footprint"]
	if !ok {
		s = def
	}
	shift, digits := 0, s
	for _, u := range sizeSuffixes {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			shift, digits = u.shift, d
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > maxFootprint>>shift || n<<shift < minFootprint {
		return 0, fmt.Errorf("%s: --footprint is %q; write a size from 4KiB to 2GiB, such as 64MiB", kernel, s)
	}
	return int(n << shift), nil
}

// sizeName writes a footprint as footprint reads it.
func sizeName(n int) string {
	for i := len(sizeSuffixes) - 1; i >= 0; i-- {
		if u := sizeSuffixes[i]; n%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d%s", n>>u.shift, u.name)
		}
	}
	return strconv.Itoa(n)
}

// exact is the verification of a micro-kernel: its words must be equal.
func exact(mem *isa.Memory, addr uint64, want []uint32) error {
	for i, w := range want {
		if got := mem.Load32(addr + uint64(4*i)); got != w {
			return fmt.Errorf("word %d of the output is %#x, want %#x", i, got, w)
		}
	}
	return nil
}

// words gives the words of an output that must be equal, for whoever verifies by
// expected values.
func words(addr uint64, want func() []uint32) references {
	return func(yield func(Expected)) error {
		var v []float64
		for _, w := range want() {
			v = append(v, float64(w))
		}
		yield(Expected{Addr: addr, Type: U32, Want: v, Scale: 1, Fixed: true})
		return nil
	}
}

// errMicro is what Verify of a micro-kernel returns for a wrong word: the error
// has no size.
var errMicro = errors.New("the output is wrong")

func microVerify(mem *isa.Memory, addr uint64, want func() []uint32) func() (float64, error) {
	return func() (float64, error) {
		if err := exact(mem, addr, want()); err != nil {
			return 0, fmt.Errorf("%w: %w", errMicro, err)
		}
		return 0, nil
	}
}
