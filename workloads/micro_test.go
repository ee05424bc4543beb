package workloads

import (
	"errors"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// Both micro-kernels compute what they should on both CPUs, and Verify finds a
// word that is wrong.
func TestMicroComputes(t *testing.T) {
	for _, cpu := range []isa.CPU{isa.GFX942, isa.GFX950} {
		var all []*Built
		for _, s := range []ChaseSpec{{Footprint: 64 << 10, Hops: 100}, {Footprint: 64 << 10, Hops: 1000, Scalar: true, Touch: 64 << 10}} {
			all = append(all, mustBuild(Chase(cpu, s)))
		}
		for _, width := range []int{2, 4, 8, 16} {
			all = append(all, mustBuild(Stream(cpu, StreamSpec{Footprint: 1 << 20, Workgroups: 6, XCDs: 3, Loads: 8, Width: width, Passes: 3})))
		}
		for _, b := range all {
			b.FillInputs()
			runGroups(t, b)
			if _, err := b.Verify(); err != nil {
				t.Errorf("%s: %v", b.Launch.Kernel.Name, err)
			}
			for _, r := range b.Launch.Memory.Regions() {
				if r.Name == "out" {
					b.Launch.Memory.Store32(r.Base, ^b.Launch.Memory.Load32(r.Base))
				}
			}
			if _, err := b.Verify(); !errors.Is(err, errMicro) {
				t.Errorf("%s: a wrong word gives %v", b.Launch.Kernel.Name, err)
			}
		}
	}
}

// The chase's sequence visits every line before it returns to one.
func TestChaseCoversTheFootprint(t *testing.T) {
	for _, lines := range []int{32, 1 << 10, 1 << 20} {
		at, mask := uint32(0), uint32(lines-1)
		for i := 1; ; i++ {
			if at = (at*chaseMul + chaseInc) & mask; at == 0 {
				if i != lines {
					t.Errorf("%d lines: the sequence returns after %d hops", lines, i)
				}
				break
			}
		}
	}
}

func TestMicroRefusals(t *testing.T) {
	for _, c := range []struct {
		kernel, want string
		options      map[string]string
	}{
		{"chase", "write a size from 4KiB to 2GiB", map[string]string{"footprint": "3GiB"}},
		{"chase", "write a size from 4KiB to 2GiB", map[string]string{"footprint": "64MB"}},
		{"chase", "write a size from 4KiB to 2GiB", map[string]string{"footprint": "99999999999GiB"}},
		{"chase", "write a size from 4KiB to 2GiB", map[string]string{"footprint": "-64MiB"}},
		{"chase", "must be a power of two", map[string]string{"footprint": "48MiB"}},
		{"chase", "--hops is 0", map[string]string{"hops": "0"}},
		{"chase", "--load", map[string]string{"load": "texture"}},
		{"chase", "no option --width", map[string]string{"width": "4"}},
		{"stream", "loads of 3 bytes", map[string]string{"width": "3"}},
		{"stream", "17", map[string]string{"loads": "17"}},
		{"stream", "need at least", map[string]string{"footprint": "4KiB"}},
		{"stream", "they must be a multiple", map[string]string{"workgroups": "9"}},
		{"stream", "--passes is -1", map[string]string{"passes": "-1"}},
	} {
		_, err := Build(c.kernel, Request{CPU: isa.GFX942, XCDs: 8, Options: c.options})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.kernel, c.options, err, c.want)
		}
	}
}
