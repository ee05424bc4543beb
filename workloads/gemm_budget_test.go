package workloads

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// A kernel that needs more LDS than the CU has is refused with the excess and
// what fits; a request beyond the use gives way.
func TestLDSBudget(t *testing.T) {
	for _, c := range []struct {
		name    string
		cpu     isa.CPU
		room    int
		options map[string]string
		want    string // of the error; "" when it fits
		request int
	}{
		{"gfx942 fp8", isa.GFX942, 32768, map[string]string{"dtype": "fp8", "tile": "256x256"}, "uses 65536 bytes of LDS, 32768 more than the CU's 32768; --tile 128x128 fits", 0},
		{"gfx942 fp8 fits", isa.GFX942, 65536, map[string]string{"dtype": "fp8", "tile": "256x256"}, "", 65536},
		{"packed fp6", isa.GFX950, 100000, map[string]string{"dtype": "fp6", "schedule": Interleave4, "tile": "256x256"}, "--tile 256x256 --variant dwordx4 fits", 0},
		{"nothing fits", isa.GFX950, 16384, map[string]string{"dtype": "fp8"}, "no form of it fits", 0},
		{"request gives way", isa.GFX950, 131072, map[string]string{"dtype": "fp8"}, "", 131072},
		{"bf16", isa.GFX950, 65536, map[string]string{"tile": "256x256"}, "65536 more than the CU's 65536; --tile 128x128 fits", 0},
	} {
		c.options["m"], c.options["n"], c.options["k"] = "1024", "1024", "1024"
		j, err := Build("gemm", Request{CPU: c.cpu, XCDs: 8, LDSBytes: c.room, Options: c.options})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		case err == nil && j.Kernels[0].Launch.Kernel.LDSBytes != c.request:
			t.Errorf("%s: requests %d bytes, want %d", c.name, j.Kernels[0].Launch.Kernel.LDSBytes, c.request)
		}
	}
}
