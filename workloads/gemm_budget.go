package workloads

import (
	"fmt"
	"slices"
	"strings"
)

// fitLDS makes a GEMM fit a CU with room bytes of LDS. What a kernel requests
// beyond its use only keeps a second workgroup off the CU, and shrinks with the
// room; what it uses does not, and the error then names the tiles that fit.
// room 0 fits everything.
func fitLDS(b *Built, room int) error {
	k := b.Launch.Kernel
	if room == 0 || k.LDSBytes <= room {
		return nil
	}
	if b.LDSUsed <= room {
		k.LDSBytes, b.Spec.LDSBytes = room, room
		return nil
	}
	var fits []string
	for _, i := range everyGEMMForm() {
		if i.CPU != b.CPU || i.Schedule != b.Spec.Schedule || i.DType != "" && i.DType != b.Spec.DType {
			continue
		}
		s := i.spec
		if i.DType != "" { // a low-precision form
			s = Spec{DType: i.DType, Schedule: i.Schedule, Tile: i.Tile, Variant: i.Variant}
		}
		s.M, s.N, s.K, s.W, s.C, s.XCDs, s.DType = b.Spec.M, b.Spec.N, b.Spec.K, -1, -1, b.Spec.XCDs, b.Spec.DType
		if other, err := GEMM(b.CPU, s); err == nil && other.LDSUsed <= room {
			option := "--tile " + i.Tile
			if i.Variant != b.Spec.Variant && i.Variant != "" {
				option += " --variant " + i.Variant
			}
			for _, c := range i.Choose {
				option += " --" + c.Name + " " + c.Value
			}
			if !slices.Contains(fits, option) {
				fits = append(fits, option)
			}
		}
	}
	advice := "no form of it fits"
	if len(fits) > 0 {
		advice = strings.Join(fits, " or ") + " fits"
	}
	return fmt.Errorf("gemm: the %s tile of schedule %s uses %d bytes of LDS, %d more than the CU's %d; %s",
		b.Spec.Tile, b.Spec.Schedule, b.LDSUsed, b.LDSUsed-room, room, advice)
}
