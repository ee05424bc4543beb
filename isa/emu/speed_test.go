//go:build unix

package emu

import (
	"syscall"
	"testing"
	"time"

	"github.com/whisker-sim/whisker/isa"
)

// The functional runner's speed on vector code without memory: wave instructions
// of 64 lanes a second of processor time, with the checks on. The processor's time
// is the core's whatever else the machine does.

// loopOf is a launch of one wave that runs the lines a thousand times.
func loopOf(b *testing.B, lines ...string) *isa.Launch {
	b.Helper()
	insts := []isa.Inst{{Op: isa.S_MOV_B32, Dst: reg(isa.S(6), 1), Src: [4]isa.Operand{reg(isa.Literal, 1)}, Literal: 1000}}
	for _, line := range lines {
		in, err := isa.Parse(isa.GFX950, line)
		if err != nil {
			b.Fatal(err)
		}
		insts = append(insts, in)
	}
	insts = append(insts,
		isa.Inst{Op: isa.S_ADD_U32, Dst: reg(isa.S(6), 1), Src: [4]isa.Operand{reg(isa.S(6), 1), num(-1)}},
		isa.Inst{Op: isa.S_CMP_EQ_U32, Src: [4]isa.Operand{reg(isa.S(6), 1), num(0)}},
		isa.Inst{Op: isa.S_CBRANCH_SCC0, Target: 1, Offset: -int32(len(lines)) - 3},
		end)
	return asm(1, insts...)
}

func benchmarkLoop(b *testing.B, lines ...string) {
	l := loopOf(b, lines...)
	var n uint64
	start := cpuTime(b)
	for b.Loop() {
		st, err := Run(l, Options{Check: true})
		if err != nil {
			b.Fatal(err)
		}
		n += st.Insts
	}
	b.ReportMetric(float64(n)/(cpuTime(b)-start).Seconds()/1e6, "Minst/core-s")
}

// cpuTime is the processor time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var integerLines = []string{
	"v_add_u32_e32 v1, v2, v3", "v_sub_u32_e32 v4, v1, v3", "v_mul_lo_u32 v5, v4, v2", "v_and_b32_e32 v6, 0xff, v5",
	"v_lshlrev_b32_e32 v7, 3, v6", "v_lshl_add_u32 v8, v7, 2, v1", "v_cmp_lt_u32_e32 vcc, v8, v5", "v_cndmask_b32_e32 v9, v8, v5, vcc",
	"v_mad_u32_u24 v10, v6, v2, v9", "v_bfe_u32 v11, v10, 4, 8", "v_add_co_u32_e32 v12, vcc, v10, v1", "v_addc_co_u32_e32 v13, vcc, v11, v2, vcc",
	"v_max_i32_e32 v14, v13, v12", "v_xor_b32_e32 v15, v14, v1", "v_add3_u32 v2, v15, v14, v13", "v_ashrrev_i32_e32 v3, 1, v2",
}

var floatLines = []string{
	"v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v1, v3", "v_fma_f32 v5, v4, v2, v1", "v_fmac_f32_e32 v6, v5, v1",
	"v_sub_f32_e32 v7, v6, v5", "v_max_f32_e32 v8, v7, v1", "v_min_f32_e32 v9, v8, v4", "v_cvt_i32_f32_e32 v10, v9",
	"v_cvt_f32_i32_e32 v11, v10", "v_cmp_gt_f32_e32 vcc, v11, v9", "v_cndmask_b32_e32 v12, v11, v9, vcc", "v_pk_fma_f32 v[14:15], v[4:5], v[6:7], v[8:9]",
	"v_pk_mul_f32 v[2:3], v[14:15], v[4:5]", "v_fma_f32 v13, -v2, v3, |v1|", "v_rcp_f32_e32 v1, v13", "v_exp_f32_e32 v3, v1",
}

func BenchmarkInteger(b *testing.B) { benchmarkLoop(b, integerLines...) }
func BenchmarkFloat32(b *testing.B) { benchmarkLoop(b, floatLines...) }
