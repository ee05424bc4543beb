package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// Variants of the FP6 GEMM: how a half tile travels to LDS.
const (
	// DwordX3 loads 12 bytes per lane into slots of 16, read back as pairs of
	// ds_read_b96.
	DwordX3 = "dwordx3"
	// DwordX4 loads 16 bytes per lane and keeps rows of 96 bytes packed, read
	// back as three ds_read_b64.
	DwordX4 = "dwordx4"
)

// elemBits is the size of an element of A and of B.
func (p *plan) elemBits() int {
	if p.low != nil {
		return p.low.bits
	}
	return 16
}

// rowBytes is the size of a row of A and of B.
func (p *plan) rowBytes() int { return p.K * p.elemBits() / 8 }

// kTile is the depth of a K tile in elements: 128 bytes of a row, and for FP6,
// whose matrix instructions are 128 deep, 96.
//
// FP4 could take 128 or 256. At 256 a cluster moves the bytes of an FP8 cluster
// and holds the matrix pipe as long (32 instructions of 16 cycles for 16 of
// 32), so the FP8 schedules carry over with their balance of barriers, waits
// and matrix work; at 128 half as much work would bear the same overhead.
func (p *plan) kTile() int {
	switch p.elemBits() {
	case 4:
		return 256
	case 6, 8:
		return 128
	}
	return 64
}

// outDType is the element type of C.
func (p *plan) outDType() string {
	if p.fp16 {
		return "fp16"
	}
	return "bf16"
}

// chooseLow settles the matrix instruction and variant of a low-precision type.
func (p *plan) chooseLow() error {
	p.fp16 = p.low.out == "fp16"
	shape := "16x16x128"
	p.mfma = isa.V_MFMA_F32_16X16X128_F8F6F4
	if p.cpu == isa.GFX942 {
		if p.low.bits != 8 {
			return fmt.Errorf("gemm: element type %s needs the f8f6f4 matrix instructions, which %s does not have; it has bf16, fp16 and fp8", p.DType, p.cpu)
		}
		shape, p.mfma = "16x16x32", isa.V_MFMA_F32_16X16X32_FP8_FP8
	}
	if p.MFMA != "" && p.MFMA != shape {
		return fmt.Errorf("gemm: %s on %s uses MFMA %s, not %q", p.DType, p.cpu, shape, p.MFMA)
	}
	p.MFMA = shape
	switch {
	case p.low.bits != 6 && p.Variant != "":
		return fmt.Errorf("gemm: variant %q; only fp6 has variants", p.Variant)
	case p.low.bits == 6 && p.Variant == "":
		p.Variant = DwordX3
	case p.low.bits == 6 && p.Variant != DwordX3 && p.Variant != DwordX4:
		return fmt.Errorf("gemm: unknown variant %q of fp6; %s and %s exist", p.Variant, DwordX3, DwordX4)
	}
	return nil
}

// lowKStep is kStep of the low-precision forms: 8-wave loops turn once a K tile
// and keep two in flight, the 4-wave loop turns once every two.
func (p *plan) lowKStep() (multiple, least int) {
	least = 3 * p.kTile()
	switch {
	case p.cpu == isa.GFX942:
		least = 2 * p.kTile()
	case p.Schedule == Interleave4:
		least = 4 * p.kTile()
	}
	return p.kTile(), least
}

// lowTiles lists the tiles of the low-precision forms. A packed FP6 half tile
// is a whole number of loads of every wave at 128 rows only.
func (p *plan) lowTiles() []string {
	switch {
	case p.Variant == DwordX4:
		return []string{"256x256"}
	case p.Schedule == Interleave4:
		return []string{"256x256", "128x128", "64x64"}
	}
	return []string{"256x256", "128x128"}
}

// lowTile is the default tile: HipKittens' FP8 8-wave kernel has 256x256 at
// every size, its 4-wave kernel 64x64 at 1024. A smaller one is taken where
// 256 does not divide.
func (p *plan) lowTile() string {
	tiles := p.lowTiles()
	if p.Schedule == Interleave4 && max(p.M, p.N) <= 1024 {
		return tiles[len(tiles)-1]
	}
	for _, t := range tiles {
		var m, n int
		fmt.Sscanf(t, "%dx%d", &m, &n)
		if p.M%m == 0 && p.N%n == 0 {
			return t
		}
	}
	return tiles[0]
}

// lowOrder is defaultOrder of the low-precision forms on gfx950: none for the
// FP8 8-wave kernel, full range per XCD for the 4-wave one, the FP6 kernels'
// for the rest.
func (p *plan) lowOrder() (w, c int) {
	switch {
	case p.low.bits != 8:
		return 8, 64
	case p.Schedule == Interleave4:
		return 4, max(1, p.nM*p.nN/p.XCDs)
	}
	return 0, 0
}
