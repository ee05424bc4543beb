package isa

import (
	"strconv"
	"strings"
)

// passCost is the length of a matrix instruction in passes of 4 clocks.
type passCost struct {
	prefix string // of the mnemonic
	suffix string
	cdna3  uint8
	cdna4  uint8
}

// passCosts gives passes by name; the first match counts. Sources: AMD matrix
// instruction calculator for gfx942; Origami's instruction map and the
// scheduling model of LLVM 22 for gfx950. CDNA4 halves the f64 rate.
var passCosts = [...]passCost{
	{"v_mfma_f64_16x16x4", "f64", 8, 16},
	{"v_mfma_f64_4x4x4", "f64", 4, 4},
	{"v_mfma_f32_4x4x1", "_f32", 2, 2},
	{"v_mfma_f32_16x16x", "_f32", 8, 8},
	{"v_mfma_f32_32x32x", "_f32", 16, 16},
	{"v_mfma_f32_4x4x4", "", 2, 2},
	{"v_mfma_i32_4x4x4", "", 2, 2},
	{"v_mfma_f32_16x16x4_4b", "", 8, 8},
	{"v_mfma_i32_16x16x4_4b", "", 8, 8},
	{"v_mfma_f32_32x32x4_2b", "", 16, 16},
	{"v_mfma_i32_32x32x4_2b", "", 16, 16},
	{"v_mfma_f32_16x16x", "", 4, 4},
	{"v_mfma_i32_16x16x", "", 4, 4},
	{"v_mfma_f32_32x32x", "", 8, 8},
	{"v_mfma_i32_32x32x", "", 8, 8},
	{"v_mfma_scale_f32_16x16x", "", 4, 4},
	{"v_mfma_scale_f32_32x32x", "", 8, 8},
	{"v_smfmac_f32_16x16x", "", 4, 4},
	{"v_smfmac_i32_16x16x", "", 4, 4},
	{"v_smfmac_f32_32x32x", "", 8, 8},
	{"v_smfmac_i32_32x32x", "", 8, 8},
}

func matrixClass(cpu CPU, r *row, name string, slots []slot) Class {
	for _, p := range passCosts {
		if !strings.HasPrefix(name, p.prefix) || !strings.HasSuffix(name, p.suffix) {
			continue
		}
		c := Class{Unit: UnitMFMA, Passes: p.cdna3, FLOPs: matrixFLOPs(name)}
		if cpu == GFX950 {
			c.Passes = p.cdna4
		}
		// f32 and f64 matrix instructions run on the vector pipe and hold it.
		c.XDL = !strings.HasSuffix(name, "_f32") && !strings.HasSuffix(name, "_f64")
		c.ABBytes = uint8(4 * max(slotSize(slots, 'a'), slotSize(slots, 'b')))
		c.Double = r.flags&fNegBLGP != 0
		return c
	}
	return Class{} // v_mfma_ld_scale_b32 exists only as half of v_mfma_scale
}

// matrixFLOPs is two operations for each of M x N x K products in every block,
// read from the MxNxK[_Bb] part of the mnemonic. For sparse instructions K is
// the logical depth, zeros included.
func matrixFLOPs(name string) uint32 {
	flops := uint32(2)
	parts := strings.Split(name, "_")
	for i, p := range parts {
		dims := strings.Split(p, "x")
		if len(dims) != 3 {
			continue
		}
		for _, d := range dims {
			n, err := strconv.Atoi(d)
			if err != nil {
				return 0
			}
			flops *= uint32(n)
		}
		if i+1 < len(parts) && strings.HasSuffix(parts[i+1], "b") {
			if n, err := strconv.Atoi(strings.TrimSuffix(parts[i+1], "b")); err == nil {
				flops *= uint32(n)
			}
		}
		return flops
	}
	return 0
}

// f8f6f4Dwords is the A or B register count of a CBSZ or BLGP format: fp8, bf8,
// fp6, bf6, fp4. The other codes are reserved.
var f8f6f4Dwords = [8]uint8{8, 8, 6, 6, 4, 8, 8, 8}

// f8f6f4Cost gives the passes of an f8f6f4 instruction, twice the base when
// either operand is 8 bits wide, and the larger of A's and B's bytes a lane.
func f8f6f4Cost(base, cbsz, blgp uint8) (passes, abBytes uint8) {
	n := max(f8f6f4Dwords[cbsz&7], f8f6f4Dwords[blgp&7])
	if n == 8 {
		base *= 2
	}
	return base, 4 * n
}
