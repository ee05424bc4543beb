package emu

import (
	"errors"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// A result of a matrix instruction that is read one wait state too early is
// reported, and one state later it is not. The states are those that LLVM 22's
// hazard recognizer asks for.
func TestMatrixWaitStates(t *testing.T) {
	for _, c := range []struct {
		cpu            isa.CPU
		matrix, reader string
		states         int
	}{
		{isa.GFX942, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_add_f32_e32 v8, v0, v0", 7},
		{isa.GFX950, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_add_f32_e32 v8, v0, v0", 8},
		{isa.GFX950, "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], 0", "v_fmac_f32_e32 v3, v12, v12", 8},
		{isa.GFX942, "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, v[0:3]", "v_mov_b32_e32 v8, v3", 10},
		{isa.GFX942, "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]", "v_mov_b32_e32 v12, v7", 11},
		{isa.GFX942, "v_mfma_f32_4x4x4_16b_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", "ds_write_b32 v12, v0", 5},
		{isa.GFX950, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mfma_f32_16x16x16_bf16 v[8:11], v[0:1], v[6:7], v[8:11]", 8},
		{isa.GFX950, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mfma_f32_16x16x16_bf16 v[8:11], v[4:5], v[6:7], v[2:5]", 6},
		{isa.GFX950, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]", 0},
		{isa.GFX950, "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[4:11], v[0:3]", "v_mov_b32_e32 v12, v0", 12},
		{isa.GFX950, "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[4:7], v[0:3] cbsz:4 blgp:4", "v_mov_b32_e32 v12, v0", 8},
	} {
		for _, states := range []int{c.states - 1, c.states} {
			if states < 0 {
				continue
			}
			lines := []string{c.matrix}
			for n := states; n > 0; n -= 8 {
				lines = append(lines, "s_nop "+string(rune('0'+min(n, 8)-1)))
			}
			var insts []isa.Inst
			for _, line := range append(lines, c.reader, "s_endpgm") {
				in, err := isa.Parse(c.cpu, line)
				if err != nil {
					t.Fatal(err)
				}
				in.Target = -1
				insts = append(insts, in)
			}
			l := asm(1, insts...)
			l.Kernel.CPU = c.cpu
			_, err := run(t, l)
			if early := states < c.states; early != errors.Is(err, ErrHazard) {
				t.Errorf("%v %s, %d states, %s: %v", c.cpu, c.matrix, states, c.reader, err)
			} else if early && !strings.Contains(err.Error(), "wait states") {
				t.Errorf("%v", err)
			}
		}
	}
}
