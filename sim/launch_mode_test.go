package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// inFullOnly are the kernels that steer themselves by values which timing mode
// does not compute.
var inFullOnly = map[string]string{
	"abi": "stores what it reads back by flat addresses of its own scratch",
}

// TestTimingIsFull runs every launch of the suites in timing and in full mode:
// the cycles, the instructions and the stalls must be the same, and no kernel
// may need full mode unless it is known to.
func TestTimingIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := suite.Extract(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"triton", "clang"} {
		launches, err := suite.Launches(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range launches {
			t.Run(name+"/"+l.Name+"/"+l.CPU, func(t *testing.T) {
				file := filepath.Join(dir, "launch", "mode.yaml")
				if err := os.WriteFile(file, []byte(l.Text), 0o644); err != nil {
					t.Fatal(err)
				}
				o := LaunchOptions{File: file, RunOptions: RunOptions{Arch: suiteMachines[l.CPU], Mode: "timing", Threads: 1, PerInstruction: true}}
				timing, err := RunLaunch(o)
				if err != nil {
					t.Fatal(err)
				}
				again := strings.Contains(strings.Join(timing.Notes, "\n"), "ran in full mode")
				if _, known := inFullOnly[l.Name]; again != known {
					t.Errorf("ran in full mode: %v; notes: %q", again, timing.Notes)
				}
				o.Mode = "full"
				full, err := RunLaunch(o)
				if err != nil {
					t.Fatal(err)
				}
				if timing.Cycles != full.Cycles || timing.WaveInstructions != full.WaveInstructions {
					t.Errorf("timing mode: %d cycles, %d instructions; full mode: %d, %d", timing.Cycles, timing.WaveInstructions, full.Cycles, full.WaveInstructions)
				}
			})
		}
	}
}

// A kernel that spills runs, with the cycles of full mode, and says in which
// mode it ran.
func TestScratchRunsInFull(t *testing.T) {
	const src = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl spill
.p2align 8
.type spill,@function
spill:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v2, 7, v0
  scratch_store_dword off, v1, off offset:4
  s_waitcnt vmcnt(0)
  scratch_load_dword v3, off, off offset:4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v3, v2, s[2:3]
  s_endpgm
.amdhsa_kernel spill
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_private_segment_fixed_size 64
  .amdhsa_kernarg_size 8
  .amdhsa_enable_private_segment 1
.end_amdhsa_kernel
`
	units, err := asm.Assemble("spill.s", src, asm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	units[0].Meta = &codeobj.Meta{
		Name: "spill", Symbol: "spill.kd", KernargBytes: 8, KernargAlign: 8, PrivateBytes: 64, WavefrontSize: 64, MaxWorkgroup: 256,
		SGPRs: 8, VGPRs: 4, Args: []codeobj.Arg{{Name: "out", Size: 8, ValueKind: "global_buffer", AddressSpace: "global"}},
	}
	data, err := codeobj.Write(units...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "spill.yaml")
	launch := "code_object: spill.co\ngrid: [1]\nworkgroup: [128]\nseed: 1\nargs:\n  - {name: out, type: i32, shape: [128]}\n"
	for name, b := range map[string][]byte{file: []byte(launch), filepath.Join(dir, "spill.co"): data} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := RunLaunch(LaunchOptions{File: file, RunOptions: RunOptions{Arch: "mi355x", Mode: "timing", Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(r.Notes, "\n"); r.Mode != "full" || !strings.Contains(notes, "scratch_store_dword") || r.Cycles == 0 {
		t.Errorf("mode %s, %d cycles, notes %q", r.Mode, r.Cycles, notes)
	}
}

// The launch that docs/triton-gemm.md shows is one that can be run.
func TestDocumentedLaunch(t *testing.T) {
	l, err := ReadLaunch("../docs/triton-gemm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.resolve(l.CodeObject)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile("../docs/triton-gemm.md")
	if err != nil || !strings.Contains(string(text), "--launch docs/triton-gemm.yaml") {
		t.Errorf("the page does not run the launch file: %v", err)
	}
}
