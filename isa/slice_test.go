package isa

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// sliceKernel parses lines; a branch names the line it goes to by @N after the
// mnemonic.
func sliceKernel(t *testing.T, workgroup int, lines ...string) *Kernel {
	t.Helper()
	k := &Kernel{Name: "slice", CPU: GFX950, VGPRs: 64, AGPRs: 64, SGPRs: 100, Workgroup: [3]int{workgroup, 1, 1}}
	for i, l := range lines {
		text, to, isBranch := strings.Cut(l, " @")
		if isBranch {
			text += " 0"
		}
		in, err := Parse(k.CPU, text)
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		in.PC, in.Target = uint32(4*i), -1
		if isBranch {
			if _, err := fmt.Sscan(to, &in.Target); err != nil {
				t.Fatal(err)
			}
		}
		k.Insts = append(k.Insts, in)
	}
	return k
}

// regs makes a set of names: s4, v7, a0, vcc, exec, scc, m0.
func regSet(t *testing.T, names string) (s RegSet) {
	t.Helper()
	for _, n := range strings.Fields(names) {
		switch n {
		case "vcc":
			s.Add(VCCLo, 2)
		case "exec":
			s.Add(ExecLo, 2)
		case "scc":
			s.Add(SCC, 1)
		case "m0":
			s.Add(M0, 1)
		case "flat_scratch":
			s.Add(FlatScratchLo, 2)
		default:
			var i, count int
			base := map[byte]Reg{'s': 0, 'v': V0, 'a': A0}[n[0]]
			if _, err := fmt.Sscanf(n[1:], "%d+%d", &i, &count); err != nil {
				count = 1
				if _, err := fmt.Sscanf(n[1:], "%d", &i); err != nil {
					t.Fatalf("register %q: %v", n, err)
				}
			}
			s.Add(base+Reg(i), count)
		}
	}
	return s
}

// s4+2 is two registers from s4. Reads and address are those under a partial EXEC.
func TestEffectsOf(t *testing.T) {
	for _, c := range []struct {
		text                         string
		reads, writes, kill, address string // kill under a partial EXEC
		killFull                     string // under a full one, when it differs
	}{
		{text: "s_mov_b32 s0, s1", reads: "s1", writes: "s0", kill: "s0"},
		{text: "s_add_u32 s0, s1, s2", reads: "s1 s2", writes: "s0 scc", kill: "s0 scc"},
		{text: "s_addc_u32 s0, s1, s2", reads: "s1 s2 scc", writes: "s0 scc", kill: "s0 scc"},
		{text: "s_cselect_b32 s0, s1, s2", reads: "s1 s2 scc", writes: "s0", kill: "s0"},
		{text: "s_cmov_b32 s0, s1", reads: "s0 s1 scc", writes: "s0", kill: "s0"},
		{text: "s_bitset1_b32 s0, s1", reads: "s0 s1", writes: "s0", kill: "s0"},
		{text: "s_movk_i32 s0, 0x1", writes: "s0", kill: "s0"},
		{text: "s_addk_i32 s0, 0x1", reads: "s0", writes: "s0 scc", kill: "s0 scc"},
		{text: "s_cmpk_eq_u32 s0, 0x1", reads: "s0", writes: "scc", kill: "scc"},
		{text: "s_cmp_eq_u32 s0, s1", reads: "s0 s1", writes: "scc", kill: "scc"},
		{text: "s_and_saveexec_b64 s[2:3], vcc", reads: "vcc exec", writes: "s2+2 exec scc", kill: "s2+2 exec scc"},
		{text: "s_or_b64 exec, exec, s[2:3]", reads: "exec s2+2", writes: "exec scc", kill: "exec scc"},
		{text: "s_cbranch_scc1 0", reads: "scc"},
		{text: "s_cbranch_vccnz 0", reads: "vcc"},
		{text: "s_cbranch_execz 0", reads: "exec"},
		{text: "s_branch 0"},
		{text: "s_load_dwordx2 s[4:5], s[0:1], s6", reads: "s0+2 s6", writes: "s4+2", kill: "s4+2", address: "s0+2 s6"},
		{text: "v_mov_b32_e32 v0, s1", reads: "s1 exec", writes: "v0", killFull: "v0"},
		{text: "v_fmac_f32_e32 v0, v1, v2", reads: "v0 v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_mac_f16_e32 v0, v1, v2", reads: "v0 v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_cndmask_b32_e32 v0, v1, v2, vcc", reads: "v1 v2 vcc exec", writes: "v0", killFull: "v0"},
		{text: "v_cndmask_b32_e64 v0, v1, v2, s[4:5]", reads: "v1 v2 s4+2 exec", writes: "v0", killFull: "v0"},
		{text: "v_cmp_lt_i32_e32 vcc, v1, v2", reads: "v1 v2 exec", writes: "vcc", kill: "vcc"},
		{text: "v_cmp_lt_i32_e64 s[4:5], v1, v2", reads: "v1 v2 exec", writes: "s4+2", kill: "s4+2"},
		{text: "v_cmpx_lt_i32_e32 vcc, v1, v2", reads: "v1 v2 exec", writes: "vcc exec", kill: "vcc exec"},
		{text: "v_add_co_u32_e64 v0, s[4:5], v1, v2", reads: "v1 v2 exec", writes: "v0 s4+2", kill: "s4+2", killFull: "v0 s4+2"},
		{text: "v_addc_co_u32_e32 v0, vcc, v1, v2, vcc", reads: "v1 v2 vcc exec", writes: "v0 vcc", kill: "vcc", killFull: "v0 vcc"},
		{text: "v_div_fmas_f32 v0, v1, v2, v3", reads: "v1 v2 v3 vcc exec", writes: "v0", killFull: "v0"},
		{text: "v_readfirstlane_b32 s0, v1", reads: "v1 exec", writes: "s0", kill: "s0"},
		{text: "v_writelane_b32 v0, s1, s2", reads: "v0 s1 s2 exec", writes: "v0", killFull: "v0"},
		{text: "v_swap_b32 v0, v1", reads: "v0 v1 exec", writes: "v0 v1", killFull: "v0 v1"},
		{text: "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", reads: "v0 v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", reads: "v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0x7 bank_mask:0xf bound_ctrl:1", reads: "v0 v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", reads: "v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD", reads: "v0 v1 v2 exec", writes: "v0", killFull: "v0"},
		{text: "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[4:7]", reads: "v0+4 a4+4", writes: "a0+4", kill: "a0+4"},
		{text: "v_smfmac_f32_16x16x32_bf16 a[0:3], v[0:1], v[2:5], v6", reads: "v0+7 a0+4", writes: "a0+4", kill: "a0+4"},
		{text: "ds_read_b64 v[0:1], v2", reads: "v2 exec", writes: "v0+2", killFull: "v0+2", address: "v2 exec"},
		{text: "ds_read_u8_d16 v0, v2", reads: "v0 v2 exec", writes: "v0", killFull: "v0", address: "v2 exec"},
		{text: "ds_write_b32 v0, v1", reads: "v0 v1 exec", address: "v0 exec"},
		{text: "ds_read_addtid_b32 v0", reads: "m0 exec", writes: "v0", killFull: "v0", address: "m0 exec"},
		{text: "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)", reads: "v1 exec", writes: "v0", killFull: "v0", address: "exec"},
		{text: "ds_bpermute_b32 v0, v1, v2", reads: "v1 v2 exec", writes: "v0", killFull: "v0", address: "exec"},
		{text: "buffer_load_dword v0, v1, s[4:7], s8 offen", reads: "v1 s4+4 s8 exec", writes: "v0", killFull: "v0", address: "v1 s4+4 s8 exec"},
		{text: "buffer_load_dwordx4 v1, s[4:7], s8 offen lds", reads: "v1 s4+4 s8 m0 exec", address: "v1 s4+4 s8 m0 exec"},
		{text: "buffer_store_dword v0, v1, s[4:7], 0 offen", reads: "v0 v1 s4+4 exec", address: "v1 s4+4 exec"},
		{text: "global_load_dword v0, v1, s[4:5]", reads: "v1 s4+2 exec", writes: "v0", killFull: "v0", address: "v1 s4+2 exec"},
		{text: "global_store_dwordx2 v[0:1], v[2:3], off", reads: "v0+4 exec", address: "v0+2 exec"},
	} {
		t.Run(c.text, func(t *testing.T) {
			in, err := Parse(GFX950, c.text)
			if err != nil {
				t.Fatal(err)
			}
			full := c.kill
			if c.killFull != "" {
				full = c.killFull
			}
			part, all := EffectsOf(GFX950, &in, false), EffectsOf(GFX950, &in, true)
			same := func(what string, got RegSet, want string) {
				t.Helper()
				if w := regSet(t, want); got != w {
					t.Errorf("%s: got %#x, want %#x (%s)", what, got, w, want)
				}
			}
			same("reads", part.Reads, c.reads)
			same("writes", part.Writes, c.writes)
			same("kill", part.Kill, c.kill)
			same("address", part.Address, c.address)
			same("writes under full EXEC", all.Writes, c.writes)
			same("kill under full EXEC", all.Kill, full)
			without := func(x string) string {
				if strings.HasPrefix(c.text, "s_") {
					return x
				}
				return strings.TrimSpace(strings.Replace(" "+x, " exec", "", 1))
			}
			same("reads under full EXEC", all.Reads, without(c.reads))
			same("address under full EXEC", all.Address, without(c.address))
		})
	}
}

// TestFullExec follows the ways in which compilers narrow and restore EXEC: want
// has a 1 for every instruction that surely runs with all lanes on.
func TestFullExec(t *testing.T) {
	for _, c := range []struct {
		name, want string
		workgroup  int
		lines      []string
	}{
		{"straight", "111", 256, []string{"s_nop 0", "v_mov_b32_e32 v0, 0", "s_endpgm"}},
		{"a partial last wave", "000", 250, []string{"s_nop 0", "v_mov_b32_e32 v0, 0", "s_endpgm"}},
		{"if", "1100011", 64, []string{
			"v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_saveexec_b64 s[2:3], vcc", "s_cbranch_execz @4", "v_mov_b32_e32 v0, 0",
			"s_or_b64 exec, exec, s[2:3]", "v_mov_b32_e32 v1, 0", "s_endpgm"}},
		{"if, the saved mask lost", "1100000", 64, []string{
			"v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_saveexec_b64 s[2:3], vcc", "s_cbranch_execz @4", "s_mov_b32 s3, 0",
			"s_or_b64 exec, exec, s[2:3]", "v_mov_b32_e32 v1, 0", "s_endpgm"}},
		{"if and else by xor", "11000010001", 64, []string{
			"v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_saveexec_b64 s[2:3], vcc", "s_xor_b64 s[2:3], exec, s[2:3]", "s_cbranch_execz @5", "v_mov_b32_e32 v0, 0",
			"s_or_saveexec_b64 s[2:3], s[2:3]", "s_xor_b64 exec, exec, s[2:3]", "s_cbranch_execz @9", "v_mov_b32_e32 v0, 1",
			"s_or_b64 exec, exec, s[2:3]", "s_endpgm"}},
		{"if and else by andn2", "110000001", 64, []string{
			"v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_saveexec_b64 s[2:3], vcc", "s_xor_b64 s[2:3], exec, s[2:3]", "v_mov_b32_e32 v0, 0",
			"s_andn2_saveexec_b64 s[2:3], s[2:3]", "s_cbranch_execz @7", "v_mov_b32_e32 v0, 1",
			"s_or_b64 exec, exec, s[2:3]", "s_endpgm"}},
		{"nested ifs", "1100000001", 64, []string{
			"v_cmp_eq_u32_e32 vcc, 0, v0", "s_and_saveexec_b64 s[2:3], vcc", "v_cmp_eq_u32_e32 vcc, 1, v1", "s_and_saveexec_b64 s[4:5], vcc",
			"s_cbranch_execz @6", "v_mov_b32_e32 v0, 0", "s_or_b64 exec, exec, s[4:5]", "v_mov_b32_e32 v0, 0",
			"s_or_b64 exec, exec, s[2:3]", "s_endpgm"}},
		{"a loop that lanes leave", "1000000011", 64, []string{
			"s_mov_b64 s[4:5], 0", "v_add_u32_e32 v0, 1, v0", "v_cmp_gt_u32_e32 vcc, 9, v0", "s_or_b64 s[4:5], vcc, s[4:5]",
			"s_andn2_b64 exec, exec, s[4:5]", "s_cbranch_execnz @1", "s_nop 0", "s_or_b64 exec, exec, s[4:5]", "v_mov_b32_e32 v0, 0", "s_endpgm"}},
		{"a saved copy moved", "1111001", 64, []string{
			"s_mov_b64 s[8:9], exec", "s_mov_b64 s[10:11], s[8:9]", "s_nop 0", "s_and_b64 exec, exec, vcc", "v_mov_b32_e32 v0, 0",
			"s_mov_b64 exec, s[10:11]", "s_endpgm"}},
		{"minus one", "1001", 64, []string{"v_cmpx_eq_u32_e32 vcc, 0, v0", "v_mov_b32_e32 v0, 0", "s_mov_b64 exec, -1", "s_endpgm"}},
		{"half of EXEC", "1000", 64, []string{"s_mov_b32 exec_lo, 1", "v_mov_b32_e32 v0, 0", "s_mov_b32 exec_lo, -1", "s_endpgm"}},
		{"two paths, one narrow", "11100", 64, []string{
			"s_cmp_eq_u32 s0, 0", "s_cbranch_scc1 @3", "s_mov_b64 exec, vcc", "v_mov_b32_e32 v0, 0", "s_endpgm"}},
		{"saved into itself", "1000", 64, []string{"s_and_saveexec_b64 exec, vcc", "s_nop 0", "s_or_b64 exec, exec, s[0:1]", "s_endpgm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := sliceKernel(t, c.workgroup, c.lines...)
			got := ""
			for _, f := range fullExec(k) {
				got += fmt.Sprint(bit32(f))
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestFullExecRandom runs random mask arithmetic with random branches and looks
// whether EXEC is full wherever the analysis says so.
func TestFullExecRandom(t *testing.T) {
	ops := []string{
		"s_mov_b64 %s, %s", "s_not_b64 %s, %s", "s_or_b64 %s, %s, %s", "s_and_b64 %s, %s, %s", "s_xor_b64 %s, %s, %s",
		"s_andn2_b64 %s, %s, %s", "s_orn2_b64 %s, %s, %s", "s_nand_b64 %s, %s, %s", "s_nor_b64 %s, %s, %s", "s_xnor_b64 %s, %s, %s",
		"s_and_saveexec_b64 %s, %s", "s_or_saveexec_b64 %s, %s", "s_xor_saveexec_b64 %s, %s", "s_andn2_saveexec_b64 %s, %s",
		"s_orn2_saveexec_b64 %s, %s", "s_nand_saveexec_b64 %s, %s", "s_andn1_saveexec_b64 %s, %s", "s_andn2_wrexec_b64 %s, %s",
	}
	masks := []string{"exec", "exec", "vcc", "s[0:1]", "s[2:3]", "s[4:5]"}
	said := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 6 + r.IntN(14)
		lines := []string{"s_mov_b64 s[0:1], exec"}
		for len(lines) < n {
			switch r.IntN(12) {
			case 0:
				lines = append(lines, fmt.Sprintf("s_cbranch_scc%d @%d", r.IntN(2), r.IntN(n)))
			case 1:
				lines = append(lines, fmt.Sprintf("s_mov_b32 s%d, %d", r.IntN(6), r.IntN(3)-1))
			case 2:
				lines = append(lines, fmt.Sprintf("s_mov_b64 %s, %d", masks[r.IntN(6)], r.IntN(3)-1))
			default:
				op := ops[r.IntN(len(ops))]
				args := []any{masks[r.IntN(6)], masks[r.IntN(6)], masks[r.IntN(6)]}
				lines = append(lines, fmt.Sprintf(op, args[:strings.Count(op, "%s")]...))
			}
		}
		k := sliceKernel(t, 64, append(lines, "s_endpgm")...)
		full := fullExec(k)
		_, s := newTestState(k.CPU)
		for range 8 {
			var none RegSet
			scramble(r, s, &none)
			s.SetExec(^uint64(0))
			s.PC, s.Ended = 0, false
			for step := 0; step < 100 && !s.Ended; step++ {
				at := s.PC
				if full[at] {
					if at > 0 {
						said++
					}
					if s.Exec() != ^uint64(0) {
						t.Fatalf("seed %d: EXEC is %#x at instruction %d of\n%s", seed, s.Exec(), at, strings.Join(lines, "\n"))
					}
				}
				if err := Exec(k, &k.Insts[at], s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if said < 5000 {
		t.Errorf("EXEC was known to be full only %d times", said)
	}
}

// TestNewSlice checks what is executed (1) in timing mode.
func TestNewSlice(t *testing.T) {
	for _, c := range []struct {
		name, want string
		lines      []string
	}{
		{"data stays out", "1001", []string{
			"v_lshlrev_b32_e32 v1, 2, v0", "v_mul_f32_e32 v2, v3, v3", "global_store_dword v1, v2, s[0:1]", "s_endpgm"}},
		{"a mask of data stays out, though scalar", "01001", []string{
			"v_cmp_lt_f32_e32 vcc, v1, v2", "s_and_b64 s[4:5], vcc, s[2:3]", "v_cndmask_b32_e64 v3, v1, v2, s[4:5]", "global_store_dword v0, v3, s[0:1]", "s_endpgm"}},
		{"a mask that stores obey", "11011", []string{
			"v_cmp_lt_f32_e32 vcc, v1, v2", "s_and_saveexec_b64 s[4:5], vcc", "global_store_dword v0, v3, s[0:1]", "s_or_b64 exec, exec, s[4:5]", "s_endpgm"}},
		{"an address under a restored EXEC kills", "01010110", []string{
			"v_mul_f32_e32 v1, v2, v2", "v_cmp_eq_u32_e32 vcc, 0, v0", "v_add_f32_e32 v2, v1, v1", "s_and_saveexec_b64 s[4:5], vcc", "global_store_dword v0, v2, s[0:1]",
			"s_or_b64 exec, exec, s[4:5]", "v_mov_b32_e32 v1, v0", "global_load_dword v2, v1, s[0:1]"}},
		{"swizzled data", "001", []string{
			"v_mul_f32_e32 v1, v2, v2", "ds_swizzle_b32 v3, v1 offset:swizzle(SWAP,1)", "s_endpgm"}},
		{"an address by way of LDS", "1110", []string{
			"v_lshlrev_b32_e32 v1, 2, v0", "ds_write_b32 v1, v2", "ds_read_b32 v3, v1", "global_load_dword v4, v3, s[0:1]"}},
		{"a flag in LDS, beside data there", "10110001111111", []string{
			"v_mov_b32_e32 v1, 1", "v_mov_b32_e32 v9, 2", "ds_write_b32 v0, v1", "v_mov_b32_e32 v5, v0",
			"ds_read_b128 v[12:15], v5", "v_mfma_f32_16x16x32_bf16 v[16:19], v[12:15], v[12:15], v[16:19]", "ds_write_b64 v5, v[16:17]",
			"ds_add_u32 v0, v1", "ds_read_b32 v6, v0", "v_readfirstlane_b32 s0, v6", "s_cmp_lg_u32 s0, 1", "s_cbranch_scc1 @8", "s_mov_b32 s2, s1", "s_endpgm"}},
		{"a value read from LDS that steers nothing", "00001", []string{
			"v_mov_b32_e32 v1, 1", "ds_write_b32 v0, v1", "ds_add_u32 v0, v2", "ds_read_b32 v6, v0", "s_endpgm"}},
		{"a register number computed at run time", "111", []string{
			"v_mul_f32_e32 v1, v2, v2", "s_movrels_b32 s0, s2", "s_endpgm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := sliceKernel(t, 64, c.lines...)
			got := ""
			sl := NewSlice(k)
			for i, x := range sl.Exec {
				u := Classify(k.CPU, &k.Insts[i]).Unit
				if u == UnitInternal {
					x = true
				}
				got += fmt.Sprint(bit32(x))
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func BenchmarkNewSlice(b *testing.B) {
	k := &Kernel{CPU: GFX950, Workgroup: [3]int{64, 1, 1}}
	r := rand.New(rand.NewPCG(1, 1))
	for len(k.Insts) < 4000 {
		l := &layouts[r.IntN(len(layouts))]
		if l.on(GFX950) && (l.enc == VOP2 || l.enc == SOP2 || l.op == S_AND_SAVEEXEC_B64) {
			in := randomInst(r, l)
			k.Insts = append(k.Insts, in)
		}
	}
	for b.Loop() {
		NewSlice(k)
	}
}
