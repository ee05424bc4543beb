package isa

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// execCase runs one instruction, written as LLVM writes it, on a state set up
// by assignments and compares registers after it. Assignments are separated by
// blanks: s4=0x10, s[4:5]=... (64 bits), v1=... (all lanes), v1[3]=... (one
// lane), a0=..., vcc, exec, m0, scc.
type execCase struct {
	text, in, want string
}

const testRegs = 96

func newTestState(cpu CPU) (*Kernel, *State) {
	s := &State{CPU: cpu, Mode: DefaultMode, VGPR: make([]VReg, testRegs), AGPR: make([]VReg, testRegs), LDS: make([]byte, 4096), Mem: NewMemory()}
	s.SetExec(^uint64(0))
	return &Kernel{Name: "test", CPU: cpu, VGPRs: testRegs, AGPRs: testRegs, Insts: make([]Inst, 4)}, s
}

// place is a register named in an assignment: get and set its value.
func place(t *testing.T, s *State, name string) (get func() uint64, set func(v uint64)) {
	t.Helper()
	num := func(x string) int {
		n, err := strconv.Atoi(x)
		if err != nil {
			t.Fatalf("register %q", name)
		}
		return n
	}
	sgpr := func(r Reg, wide bool) (func() uint64, func(uint64)) {
		if wide {
			return func() uint64 { return s.scalar64(nil, r) }, func(v uint64) { s.setS64(r, v) }
		}
		return func() uint64 { return uint64(s.SGPR[r]) }, func(v uint64) { s.SGPR[r] = uint32(v) }
	}
	base, lane, isLane := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	switch {
	case name == "scc":
		return func() uint64 { return uint64(bit32(s.SCC)) }, func(v uint64) { s.SCC = v != 0 }
	case name == "vcc":
		return sgpr(VCCLo, true)
	case name == "exec":
		return sgpr(ExecLo, true)
	case name == "m0":
		return sgpr(M0, false)
	case name == "mode":
		return func() uint64 { return uint64(s.Mode) }, func(v uint64) { s.Mode = uint32(v) }
	case base == "s" && isLane:
		lo, _, _ := strings.Cut(lane, ":")
		return sgpr(Reg(num(lo)), true)
	case base[0] == 's':
		return sgpr(Reg(num(base[1:])), false)
	}
	file := s.VGPR
	if base[0] == 'a' {
		file = s.AGPR
	}
	r := &file[num(base[1:])]
	if isLane {
		l := num(lane)
		return func() uint64 { return uint64(r[l]) }, func(v uint64) { r[l] = uint32(v) }
	}
	return func() uint64 {
		for l := range r {
			if r[l] != r[0] {
				t.Errorf("%s differs between lanes 0 and %d: %#x, %#x", name, l, r[0], r[l])
				break
			}
		}
		return uint64(r[0])
	}, func(v uint64) { fill(r, uint32(v)) }
}

func eachAssignment(t *testing.T, list string, f func(name string, v uint64)) {
	t.Helper()
	for _, a := range strings.Fields(list) {
		name, val, ok := strings.Cut(a, "=")
		v, err := strconv.ParseUint(val, 0, 64)
		if err != nil {
			var i int64
			i, err = strconv.ParseInt(val, 0, 64)
			v = uint64(i)
		}
		if !ok || err != nil {
			t.Fatalf("bad assignment %q", a)
		}
		f(name, v)
	}
}

func runCases(t *testing.T, cpu CPU, cases []execCase) {
	t.Helper()
	for _, c := range cases {
		in, err := Parse(cpu, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		k, s := newTestState(cpu)
		eachAssignment(t, c.in, func(name string, v uint64) {
			_, set := place(t, s, name)
			set(v)
		})
		if err := Exec(k, &in, s); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if s.PC != 1 {
			t.Errorf("%s: pc %d after it", c.text, s.PC)
		}
		eachAssignment(t, c.want, func(name string, v uint64) {
			get, _ := place(t, s, name)
			if got := get(); got != v && uint32(got) != uint32(v) || got>>32 != v>>32 && int64(v) >= 0 {
				t.Errorf("%s with %s: %s is %#x, want %#x", c.text, c.in, name, got, v)
			}
		})
	}
}

// bf is a float's bits for a case's text.
func bf(v float64) string { return fmt.Sprintf("%#x", fbits(float32(v))) }

func TestScalar(t *testing.T) {
	runCases(t, GFX942, []execCase{
		{"s_add_u32 s0, s1, s2", "s1=0xffffffff s2=1", "s0=0 scc=1"},
		{"s_add_i32 s0, s1, s2", "s1=0x7fffffff s2=1", "s0=0x80000000 scc=1"},
		{"s_add_i32 s0, s1, s2", "s1=0xffffffff s2=1", "s0=0 scc=0"},
		{"s_sub_i32 s0, s1, s2", "s1=0x80000000 s2=1", "s0=0x7fffffff scc=1"},
		{"s_addc_u32 s0, s1, s2", "s1=0xffffffff s2=0 scc=1", "s0=0 scc=1"},
		{"s_sub_u32 s0, s1, s2", "s1=1 s2=2", "s0=0xffffffff scc=1"},
		{"s_subb_u32 s0, s1, s2", "s1=5 s2=0xffffffff scc=1", "s0=5 scc=1"},
		{"s_min_i32 s0, s1, s2", "s1=-1 s2=1", "s0=-1 scc=1"},
		{"s_max_u32 s0, s1, s2", "s1=3 s2=3", "s0=3 scc=1"},
		{"s_mul_hi_i32 s0, s1, s2", "s1=-1 s2=2 scc=1", "s0=-1 scc=1"},
		{"s_bfe_u32 s0, s1, s2", "s1=0xabcd1234 s2=0x80008", "s0=0x12 scc=1"},
		{"s_bfe_i32 s0, s1, s2", "s1=0x0000f000 s2=0x4000c", "s0=-1 scc=1"},
		{"s_bfe_i32 s0, s1, s2", "s1=0x80000000 s2=0x200000", "s0=0x80000000 scc=1"},
		{"s_bfe_u32 s0, s1, s2", "s1=0xffffffff s2=4", "s0=0 scc=0"},
		{"s_bfe_i64 s[0:1], s[2:3], s4", "s[2:3]=0xffffffff s4=0x200000", "s[0:1]=0xffffffffffffffff"},
		{"s_bfm_b32 s0, s1, s2", "s1=4 s2=8 scc=1", "s0=0xf00 scc=1"},
		{"s_lshl_b64 s[0:1], s[2:3], s4", "s[2:3]=1 s4=40", "s[0:1]=0x10000000000 scc=1"},
		{"s_ashr_i64 s[0:1], s[2:3], s4", "s[2:3]=0x8000000000000000 s4=63", "s[0:1]=0xffffffffffffffff scc=1"},
		{"s_lshl4_add_u32 s0, s1, s2", "s1=0xf0000000 s2=1", "s0=1 scc=1"},
		{"s_abs_i32 s0, s1", "s1=0x80000000", "s0=0x80000000 scc=1"},
		{"s_absdiff_i32 s0, s1, s2", "s1=3 s2=5", "s0=2 scc=1"},
		{"s_ff1_i32_b32 s0, s1", "s1=0", "s0=0xffffffff"},
		{"s_ff0_i32_b64 s0, s[2:3]", "s[2:3]=0xffffffff", "s0=32"},
		{"s_flbit_i32_b32 s0, s1", "s1=1", "s0=31"},
		{"s_flbit_i32 s0, s1", "s1=-2", "s0=31"},
		{"s_flbit_i32_i64 s0, s[2:3]", "s[2:3]=0xffffffffffffffff", "s0=0xffffffff"},
		{"s_bcnt1_i32_b64 s0, s[2:3]", "s[2:3]=0xff00ff", "s0=16 scc=1"},
		{"s_wqm_b64 s[0:1], s[2:3]", "s[2:3]=0x8000000000000012", "s[0:1]=0xf0000000000000ff scc=1"},
		{"s_quadmask_b32 s0, s1", "s1=0x80000010", "s0=0x82 scc=1"},
		{"s_bitreplicate_b64_b32 s[0:1], s2", "s2=5", "s[0:1]=0x33"},
		{"s_pack_lh_b32_b16 s0, s1, s2", "s1=0x11112222 s2=0x33334444", "s0=0x33332222"},
		{"s_bitset1_b32 s0, s1", "s0=1 s1=36", "s0=0x11"},
		{"s_cselect_b64 s[0:1], s[2:3], -1", "s[2:3]=7 scc=0", "s[0:1]=0xffffffffffffffff"},
		{"s_cmov_b32 s0, s1", "s0=1 s1=2 scc=0", "s0=1"},
		{"s_movk_i32 s0, 0x8000", "", "s0=0xffff8000"},
		{"s_mulk_i32 s0, 0xfffe", "s0=3", "s0=-6"},
		{"s_cmpk_gt_u32 s0, 0xfffe", "s0=0xffff", "scc=1"},
		{"s_cmpk_lt_i32 s0, 0xfffe", "s0=-3", "scc=1"},
		{"s_cmp_lt_i32 s0, 1", "s0=-5", "scc=1"},
		{"s_cmp_lg_u64 s[0:1], 0", "s[0:1]=0x100000000", "scc=1"},
		{"s_bitcmp1_b32 s0, 33", "s0=2", "scc=1"},
		{"s_and_saveexec_b64 s[0:1], s[2:3]", "exec=0xf0 s[2:3]=0x3c", "s[0:1]=0xf0 exec=0x30 scc=1"},
		{"s_andn2_saveexec_b64 s[0:1], s[2:3]", "exec=0xf0 s[2:3]=0x3c", "s[0:1]=0xf0 exec=0xc"},
		{"s_orn2_saveexec_b64 s[0:1], s[2:3]", "exec=0xfffffffffffffff0 s[2:3]=1", "exec=0xf"},
		{"s_andn1_wrexec_b64 s[0:1], s[2:3]", "exec=0xf0 s[2:3]=0x3c", "s[0:1]=0xc0 exec=0xc0"},
		{"s_mov_b64 s[0:1], src_shared_base", "", "s[0:1]=0x1000000000000"},
		{"s_mov_b64 s[0:1], 0.5", "", "s[0:1]=0x3fe0000000000000"},
		{"s_mov_b64 s[0:1], -7", "", "s[0:1]=0xfffffffffffffff9"},
		{"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0", "", "mode=0x3c0"},
		{"s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)", "", "s0=15"},
	})
}

func TestVectorInteger(t *testing.T) {
	runCases(t, GFX950, []execCase{
		{"v_mov_b32_e32 v0, v1", "v1=7 exec=0xf", "v0[3]=7 v0[4]=0"},
		{"v_add_u32_e32 v0, v1, v2", "v1=0xffffffff v2=2", "v0=1"},
		{"v_add_u32_e64 v0, v1, v2 clamp", "v1=0xffffffff v2=2", "v0=0xffffffff"},
		{"v_sub_i32 v0, v1, v2 clamp", "v1=0x80000000 v2=2", "v0=0x80000000"},
		{"v_subrev_u32_e32 v0, v1, v2", "v1=3 v2=2", "v0=-1"},
		{"v_lshl_add_u32 v0, v1, v2, v3", "v1=3 v2=36 v3=1", "v0=49"},
		{"v_lshl_add_u64 v[0:1], v[2:3], 4, v[4:5]", "v2=0xf0000000 v3=1 v4=1", "v0=1 v1=0x1f"},
		{"v_xad_u32 v0, v1, v2, v3", "v1=6 v2=3 v3=10", "v0=15"},
		{"v_bfe_u32 v0, v1, 28, 8", "v1=0xf0000000", "v0=15"},
		{"v_bfe_i32 v0, v1, 28, 8", "v1=0xf0000000", "v0=15"},
		{"v_bfe_i32 v0, v1, 4, 4", "v1=0x80", "v0=-8"},
		{"v_bfi_b32 v0, v1, v2, v3", "v1=0xff v2=0x1234 v3=0xabcd", "v0=0xab34"},
		{"v_alignbit_b32 v0, v1, v2, v3", "v1=0x1 v2=0x80000000 v3=31", "v0=3"},
		{"v_perm_b32 v0, v1, v2, v3", "v1=0x44556677 v2=0x80112233 v3=0x07060302", "v0=0x44558011"},
		{"v_perm_b32 v0, v1, v2, v3", "v1=0x84556677 v2=0x80118833 v3=0x0c0b0908", "v0=0x00ffffff"},
		{"v_perm_b32 v0, v1, v2, v3", "v1=0x84556677 v2=0 v3=0x0d0a0c08", "v0=0xff000000"},
		{"v_ffbh_u32_e32 v0, v1", "v1=0", "v0=-1"},
		{"v_ffbh_i32_e32 v0, v1", "v1=0xfffffffe", "v0=31"},
		{"v_mbcnt_lo_u32_b32 v0, -1, 0", "", "v0[0]=0 v0[5]=5 v0[40]=32"},
		{"v_mbcnt_hi_u32_b32 v0, -1, v1", "v1=100", "v0[31]=100 v0[40]=108"},
		{"v_bitop3_b32 v0, v1, v2, v3 bitop3:0xc8", "v1=0xf v2=0x33 v3=0x55", "v0=0x13"},
		{"v_cndmask_b32_e32 v0, v1, v2, vcc", "v1=1 v2=2 vcc=0x2", "v0[0]=1 v0[1]=2"},
		{"v_cndmask_b32_e64 v0, v1, -v2, s[4:5]", "v2=0x3f800000 s[4:5]=0x2", "v0[0]=0 v0[1]=0xbf800000"},
		{"v_add_co_u32_e32 v0, vcc, v1, v2", "v1=0xffffffff v2=1 exec=0x5", "v0[0]=0 vcc=0x5"},
		{"v_addc_co_u32_e64 v0, s[4:5], v1, v2, s[6:7]", "v1=0xffffffff s[6:7]=2", "v0[1]=0 v0[0]=0xffffffff s[4:5]=2"},
		{"v_subb_co_u32_e32 v0, vcc, v1, v2, vcc", "v1=1 v2=1 vcc=1", "v0[0]=-1 v0[1]=0 vcc=1"},
		{"v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[4:5]", "v2=-1 v3=-1 v4=-1 v5=-1", "v0=0 v1=0xfffffffe s[4:5]=0xffffffffffffffff"},
		{"v_mad_i64_i32 v[0:1], s[4:5], v2, v3, v[4:5]", "v2=-1 v3=5 v4=3", "v0=-2 v1=-1"},
		{"v_mul_hi_i32 v0, v1, v2", "v1=-2 v2=3", "v0=-1"},
		{"v_mul_i32_i24_e32 v0, v1, v2", "v1=0xffffff v2=3", "v0=-3"},
		{"v_med3_i32 v0, v1, v2, v3", "v1=-5 v2=7 v3=1", "v0=1"},
		{"v_lshlrev_b16_e32 v0, v1, v2", "v0=0xffff0000 v1=4 v2=0xffff", "v0=0xfff0"},
		{"v_add_u16_e32 v0, v1, v2", "v0=-1 v1=0xffff v2=2", "v0=1"},
		{"v_mad_u16 v0, v1, v2, v3 op_sel:[1,0,0,1]", "v0=0x5555 v1=0x30000 v2=5 v3=1", "v0=0x105555"},
		{"v_ashrrev_i64 v[0:1], v2, v[4:5]", "v2=4 v5=0x80000000", "v0=0 v1=0xf8000000"},
		{"v_cmp_gt_i32_e32 vcc, v1, v2", "v1=1 v2=-1 exec=0xf0 vcc=-1", "vcc=0xf0"},
		{"v_cmp_gt_u32_e64 s[4:5], v1, v2", "v1=1 v2=-1 s[4:5]=-1", "s[4:5]=0"},
		{"v_cmpx_eq_u32_e32 vcc, v1, v2", "v1[3]=1 exec=0xff", "vcc=0xf7 exec=0xf7"},
		{"v_readfirstlane_b32 s0, v1", "v1[4]=9 exec=0xf0", "s0=9"},
		{"v_readlane_b32 s0, v1, s2", "v1[7]=9 s2=71 exec=0", "s0=9"},
		{"v_writelane_b32 v0, s1, 5", "s1=3 exec=0", "v0[5]=3 v0[4]=0"},
		{"v_swap_b32 v0, v1", "v0=1 v1=2", "v0=2 v1=1"},
		{"v_permlane32_swap_b32_e32 v0, v1", "v0[0]=1 v0[32]=2 v1[0]=3 v1[32]=4", "v0[0]=1 v0[32]=3 v1[0]=2 v1[32]=4"},
		{"v_permlane16_swap_b32_e32 v0, v1", "v0[16]=2 v1[0]=3 v0[48]=5 v1[32]=6", "v0[16]=3 v1[0]=2 v0[48]=6 v1[32]=5"},
		{"v_accvgpr_write_b32 a0, v1", "v1=5", "a0=5"},
		{"v_accvgpr_read_b32 v0, a1", "a1=5", "v0=5"},
		{"v_prng_b32_e32 v0, v1", "v1=0x80000001", "v0=199"},
		{"v_ashr_pk_u8_i32 v0, v1, v2, v3", "v1=-5 v2=0x1ff0 v3=4", "v0=0xff00"},
		{"v_dot4_i32_i8 v0, v1, v2, v3", "v1=0x01ff0203 v2=0x01020304 v3=10", "v0=27"},
		{"v_dot2_u32_u16 v0, v1, v2, v3 clamp", "v1=0xffffffff v2=0xffffffff v3=-1", "v0=0xffffffff"},
		{"v_pk_add_u16 v0, v1, v2", "v1=0x0001ffff v2=0x00020001", "v0=0x00030000"},
		{"v_pk_lshlrev_b16 v0, 1, v2 op_sel_hi:[0,1]", "v2=0x00038001", "v0=0x00060002"},
		{"v_sad_u8 v0, v1, v2, v3", "v1=0x01020304 v2=0x04030201 v3=100", "v0=108"},
	})
}

// Lane moves: DPP and SDWA forms.
func TestVectorForms(t *testing.T) {
	lanes := func(r string) string {
		var b strings.Builder
		for l := range Lanes {
			fmt.Fprintf(&b, "%s[%d]=%d ", r, l, l+100)
		}
		return b.String()
	}
	v1 := lanes("v1")
	runCases(t, GFX942, []execCase{
		{"v_mov_b32_dpp v0, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", v1, "v0[0]=103 v0[5]=106"},
		{"v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf", v1, "v0[0]=101 v0[15]=0 v0[16]=117"},
		{"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", "v0=7 " + v1, "v0[0]=7 v0[1]=100"},
		{"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", "v0=7 " + v1, "v0[0]=0 v0[1]=100"},
		{"v_mov_b32_dpp v0, v1 row_ror:4 row_mask:0xf bank_mask:0xf", v1, "v0[0]=112 v0[5]=101"},
		{"v_mov_b32_dpp v0, v1 row_mirror row_mask:0xf bank_mask:0xf", v1, "v0[0]=115 v0[20]=127"},
		{"v_mov_b32_dpp v0, v1 row_half_mirror row_mask:0xf bank_mask:0xf", v1, "v0[0]=107 v0[9]=114"},
		{"v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xa bank_mask:0xf", "v0=7 " + v1, "v0[0]=7 v0[16]=115 v0[33]=7 v0[50]=147"},
		{"v_mov_b32_dpp v0, v1 row_bcast:31 row_mask:0xc bank_mask:0xf", "v0=7 " + v1, "v0[20]=7 v0[40]=131 v0[63]=131"},
		{"v_mov_b32_dpp v0, v1 wave_shr:1 row_mask:0xf bank_mask:0xf", "v0=7 " + v1, "v0[0]=7 v0[16]=115"},
		{"v_mov_b32_dpp v0, v1 row_newbcast:3 row_mask:0xf bank_mask:0xf", v1, "v0[0]=103 v0[31]=119"},
		{"v_add_u32_dpp v0, v1, v2 row_shl:1 row_mask:0xf bank_mask:0x3", "v0=7 v2=1000 " + v1, "v0[0]=1101 v0[8]=7"},
		{"v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf", "exec=0x1 v0=7 " + v1, "v0[0]=7"},
		{"v_mov_b64_dpp v[4:5], v[0:1] row_newbcast:2 row_mask:0xf bank_mask:0xf", v1, "v4=0 v5[0]=102 v5[17]=118"},
		{"v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_1", "v0=0x11223344 v1=0x00050000 v2=0x00060001", "v0=0x11220b44"},
		{"v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD", "v1=0x8000 v2=1", "v0=0xffff8001"},
		{"v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", "v1=0xff v2=0", "v0=-1"},
		{"v_lshlrev_b32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_3", "v1=4 v2=0x12000000", "v0=0x1200000"},
		{"v_cmp_eq_u32_sdwa s[4:5], v1, v2 src0_sel:BYTE_0 src1_sel:BYTE_1", "v1=0x12 v2=0x1200", "s[4:5]=0xffffffffffffffff"},
	})
}
