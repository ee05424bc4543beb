package cu

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// TestOccupancySmallWorkgroups: workgroups of fewer waves than SIMDs share the
// SIMDs evenly.
func TestOccupancySmallWorkgroups(t *testing.T) {
	s := testSpec(isa.GFX950)
	tests := []struct {
		name                   string
		waves, vgprs, ldsBytes int
		want                   int
	}{
		{"four waves, wave slots", 4, 32, 0, 8},
		{"eight waves, registers", 8, 256, 0, 1},
		{"four waves, registers", 4, 256, 0, 2},
		{"eight waves, all registers of two waves", 8, 128, 0, 2},
		{"LDS", 4, 64, 65536, 2},
		{"one wave, wave slots", 1, 32, 0, 32},
		{"one wave, registers", 1, 256, 0, 8},
		{"two waves, registers", 2, 256, 0, 4},
		{"six waves, registers", 6, 128, 0, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := NewOccupancy(s, tt.vgprs, 0, 96, tt.ldsBytes, tt.waves)
			if err != nil {
				t.Fatal(err)
			}
			if o.WorkgroupsPerCU != tt.want {
				t.Errorf("%d workgroups a CU (%s), want %d", o.WorkgroupsPerCU, o.Limiter, tt.want)
			}
		})
	}
}
