package isa

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"
)

// formats are the CBSZ and BLGP codes of the names in testdata/mfma.csv.
var formats = map[string]uint8{"fp8": 0, "bf8": 1, "fp6": 2, "bf6": 3, "fp4": 4}

// TestClassifyMatrix compares passes, FLOPs, operand bytes and pipe with the
// table of the AMD matrix calculator and LLVM 22.
func TestClassifyMatrix(t *testing.T) {
	f, err := os.Open("testdata/mfma.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	num := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, r := range rows[1:] {
		cpu := GFX942
		if r[0] == "gfx950" {
			cpu = GFX950
		}
		name, types, _ := strings.Cut(r[1], "[")
		op, ok := OpByName(name)
		if !ok {
			t.Errorf("no opcode %s", name)
			continue
		}
		in := Inst{Op: op, Enc: MAI}
		if a, b, ok := strings.Cut(strings.TrimSuffix(types, "]"), ","); ok {
			in.CBSZ, in.BLGP = formats[a], formats[b]
		}
		got := Classify(cpu, &in)
		want := Class{Unit: UnitMFMA, XDL: r[2] == "XDL", Passes: uint8(num(r[3])), FLOPs: uint32(num(r[4])),
			ABBytes: uint8(max(num(r[5]), num(r[6]))), Double: strings.Contains(name, "f64")}
		if got != want {
			t.Errorf("%v %s:\n got %+v\nwant %+v", cpu, r[1], got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		text string
		want Class
	}{
		{"v_exp_f32_e32 v0, v1", Class{Unit: UnitVALU, Trans: true}},
		{"v_rsq_f64_e32 v[0:1], v[2:3]", Class{Unit: UnitVALU, Trans: true, Double: true}},
		{"v_cvt_f32_u32_e32 v0, v1", Class{Unit: UnitVALU, Quarter: true}},
		{"v_cvt_f16_f32_e64 v0, v1", Class{Unit: UnitVALU, Quarter: true}},
		{"v_cvt_pk_bf16_f32 v0, v1, v2", Class{Unit: UnitVALU}},
		{"v_cvt_f32_ubyte0_e32 v0, v1", Class{Unit: UnitVALU}},
		{"v_frexp_exp_i32_f32_e32 v0, v1", Class{Unit: UnitVALU}},
		{"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", Class{Unit: UnitVALU, Packed: true}},
		{"v_pk_fma_f16 v0, v1, v2, v3", Class{Unit: UnitVALU}},
		{"v_dot2_f32_f16 v0, v1, v2, v3", Class{Unit: UnitVALU, Packed: true}},
		{"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", Class{Unit: UnitVALU, Double: true}},
		{"v_cmp_lt_u32_e32 vcc, v0, v1", Class{Unit: UnitVALU, SGPRW: true}},
		{"v_add_co_u32_e32 v0, vcc, v1, v2", Class{Unit: UnitVALU, SGPRW: true}},
		{"v_readfirstlane_b32 s0, v1", Class{Unit: UnitVALU, SGPRW: true}},
		{"v_accvgpr_read_b32 v0, a1", Class{Unit: UnitVALU}},
		{"s_add_u32 s0, s1, s2", Class{Unit: UnitSALU}},
		{"s_setpc_b64 s[0:1]", Class{Unit: UnitBranch}},
		{"s_cbranch_scc1 4", Class{Unit: UnitBranch}},
		{"s_waitcnt vmcnt(0)", Class{Unit: UnitInternal}},
		{"s_barrier", Class{Unit: UnitInternal}},
		{"s_load_dwordx4 s[0:3], s[4:5], 0x0", Class{Unit: UnitSMEM, Load: true, Return: true, Bytes: 16}},
		{"ds_read_b128 v[0:3], v4", Class{Unit: UnitLDS, Load: true, Return: true, Bytes: 16}},
		{"ds_read2_b64 v[0:3], v4 offset1:1", Class{Unit: UnitLDS, Load: true, Return: true, Bytes: 8, TwoAddr: true}},
		{"ds_write2_b32 v0, v1, v2 offset1:1", Class{Unit: UnitLDS, Store: true, Bytes: 4, TwoAddr: true}},
		{"ds_read_u16_d16 v0, v1", Class{Unit: UnitLDS, Load: true, Return: true, Bytes: 2}},
		{"ds_write_b8 v0, v1", Class{Unit: UnitLDS, Store: true, Bytes: 1}},
		{"ds_read_b64_tr_b16 v[0:1], v2", Class{Unit: UnitLDS, Load: true, Return: true, Bytes: 8}},
		{"ds_read_b96_tr_b6 v[0:2], v4", Class{Unit: UnitLDS, Load: true, Return: true, Bytes: 12}},
		{"ds_add_rtn_f32 v0, v1, v2", Class{Unit: UnitLDS, Atomic: true, Return: true, Bytes: 4}},
		{"ds_bpermute_b32 v0, v1, v2", Class{Unit: UnitLDS, Load: true, Return: true, Bytes: 4}},
		{"buffer_load_dwordx4 v[0:3], v4, s[4:7], 0 offen", Class{Unit: UnitVMEM, Load: true, Return: true, Bytes: 16}},
		{"buffer_load_dwordx4 v4, s[8:11], s2 offen lds", Class{Unit: UnitVMEM, Load: true, LDSDMA: true, Bytes: 16}},
		{"global_load_lds_dwordx4 v[2:3], off", Class{Unit: UnitVMEM, Load: true, LDSDMA: true, Bytes: 16}},
		{"global_load_ubyte v0, v[2:3], off", Class{Unit: UnitVMEM, Load: true, Return: true, Bytes: 1}},
		{"global_store_short v[2:3], v0, off", Class{Unit: UnitVMEM, Store: true, Bytes: 2}},
		{"flat_load_dword v0, v[2:3]", Class{Unit: UnitVMEM, Load: true, Return: true, Bytes: 4, Flat: true}},
		{"global_atomic_add v[2:3], v0, off", Class{Unit: UnitVMEM, Atomic: true, Bytes: 4}},
		{"global_atomic_cmpswap v1, v[2:3], v[4:5], off sc0", Class{Unit: UnitVMEM, Atomic: true, Return: true, Bytes: 4}},
		{"buffer_wbl2 sc1", Class{Unit: UnitVMEM}},
	} {
		in, err := Parse(GFX950, c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := Classify(GFX950, &in); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.text, got, c.want)
		}
	}
}

// TestClassifyCoverage lists the opcodes without a timing class.
func TestClassifyCoverage(t *testing.T) {
	want := map[Op]bool{V_MFMA_LD_SCALE_B32: true, DS_GWS_INIT: true, DS_GWS_BARRIER: true, DS_GWS_SEMA_BR: true,
		DS_GWS_SEMA_P: true, DS_GWS_SEMA_V: true, DS_GWS_SEMA_RELEASE_ALL: true}
	for cpu := GFX942; cpu < numCPUs; cpu++ {
		for i := range rows {
			if rows[i].cpus>>cpu&1 == 0 {
				continue
			}
			in := Inst{Op: rows[i].op, Enc: rows[i].enc}
			if unknown := Classify(cpu, &in).Unit == UnitUnknown; unknown != want[in.Op] {
				t.Errorf("%v %v: unknown timing class is %v, want %v", cpu, in.Op, unknown, want[in.Op])
			}
		}
	}
}

// TestQuarterRate compares the instructions at a quarter of the rate with those of
// LLVM's schedule: all of them, and no other of the golden vectors.
func TestQuarterRate(t *testing.T) {
	want := map[string]bool{}
	for _, r := range readCSV(t, "testdata/quarter_rate.csv")[1:] {
		want[r[0]+" "+r[1]] = true
	}
	seen := map[string]bool{}
	rows := append(readCSV(t, "testdata/vectors.csv"), // and what these lack
		[]string{"gfx950", "v_cvt_pk_f32_fp8 v[0:1], v2"}, []string{"gfx942", "v_cvt_pk_f32_bf8 v[0:1], v2"}, []string{"gfx950", "v_cvt_pk_f32_bf8 v[0:1], v2"})
	for _, r := range rows {
		cpu, ok := map[string]CPU{"gfx942": GFX942, "gfx950": GFX950}[r[0]]
		if !ok {
			continue // the head
		}
		in, err := Parse(cpu, r[1])
		if err != nil {
			continue
		}
		c := Classify(cpu, &in)
		if c.Unit != UnitVALU {
			continue
		}
		name, _, _ := strings.Cut(r[1], " ")
		for _, suffix := range []string{"_e32", "_e64", "_dpp", "_sdwa"} {
			name = strings.TrimSuffix(name, suffix)
		}
		key := r[0] + " " + name
		seen[key] = true
		if got := c.Trans || c.Quarter; got != want[key] {
			t.Errorf("%s: quarter rate %v, LLVM's schedule says %v", key, got, want[key])
		}
	}
	for key := range want {
		if !seen[key] {
			t.Errorf("%s: not compared", key)
		}
	}
	if len(seen) < 1000 {
		t.Errorf("only %d VALU mnemonics were compared", len(seen))
	}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
