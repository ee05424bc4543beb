package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const endlessSource = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
endless:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
again:
  global_store_dword v1, v0, s[4:5]
  s_branch again
  s_endpgm
.amdhsa_kernel endless
  .amdhsa_next_free_vgpr 3
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
`

func TestLaunchCommand(t *testing.T) {
	const object = "../../workloads/suite/objects/vadd.gfx950.hsaco"
	const launch = "../../workloads/suite/launch/triton_vadd.yaml"
	bare := filepath.Join(t.TempDir(), "bare.yaml") // expects nothing
	text, err := os.ReadFile(launch)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("../../workloads/suite")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(strings.ReplaceAll(string(text), "code_object: ..", "code_object: "+dir), "expect:")
	if err := os.WriteFile(bare, []byte(head), 0o644); err != nil {
		t.Fatal(err)
	}
	// A loop that stores is not taken for a deadlock: it must be given up.
	source := filepath.Join(t.TempDir(), "endless.s")
	if err := os.WriteFile(source, []byte(endlessSource), 0o644); err != nil {
		t.Fatal(err)
	}
	endless := filepath.Join(filepath.Dir(source), "endless.yaml")
	if err := os.WriteFile(endless, []byte("code_object: endless.co\ngrid: [1]\nworkgroup: [64]\nargs: [{type: f32, shape: [64]}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"isa", "asm", source}, io.Discard, os.Stderr); code != 0 {
		t.Fatal("endless.s does not assemble")
	}
	for _, c := range []struct {
		args   string
		code   int
		output string // contained in what is printed
	}{
		{"run --code-object " + object + " --print-launch", 0, "args:\n  - {name: \"arg0\""},
		{"run --code-object " + object + " --kernel vadd --print-launch", 0, "kernel: \"vadd\""},
		{"run --launch " + launch + " --mode functional", 0, "float64 vadd"},
		{"run --launch " + launch + " --format json", 0, `"cycles"`},
		{"run --launch " + launch + " --arch mi300x", 2, "choose --arch"},
		{"run --launch nowhere.yaml", 2, "nowhere.yaml"},
		{"run --launch " + launch + " --max-cycles 100", 1, "--max-cycles"},
		{"run --launch " + launch + " --max-cycles=-1", 2, "--max-cycles"},
		{"run --launch " + launch + " --code-object " + object, 2, "--launch names"},
		{"run gemm --launch " + launch, 2, "not both"},
		{"run --code-object " + object, 2, "--print-launch"},
		{"run --print-launch", 2, "--code-object"},
		{"run --code-object " + object + " --kernel foot --print-launch", 2, "it has vadd"},
		{"run --code-object main.go --print-launch", 2, "not an ELF file"},
		{"run --suite triton --format csv", 0, "attention,gfx950"},
		{"run --launch " + launch + " --max-cycles 1856", 1, "has not ended at cycle 1,856, with 3 of 3 workgroups ended: --max-cycles is 1,856"},
		{"run --launch " + launch + " --max-cycles 100", 1, "has not ended at cycle 100, with 0 of 3"},
		{"run --launch " + launch + " --max-cycles 1857", 0, "1,857 cycles"},
		{"run --launch " + launch + " --mode functional --max-cycles 923", 1, "has not ended after 923 wave instructions"},
		{"run --launch " + launch + " --mode functional --max-cycles 924", 0, "VERIFY  passed"},
		{"run --launch " + endless + " --mode functional --max-cycles 10000", 1, "not ended after 10,000 wave instructions"},
		{"run --launch " + endless + " --mode full --max-cycles 10000", 1, "not ended at cycle 10,000"},
		{"run --launch " + endless + " --max-cycles 10000", 1, "not ended at cycle 10,000"},
		{"run --suite rocm", 2, "mgpusim"},
		{"run --suite triton --launch x", 2, "--suite brings"},
		{"run gemm --suite triton", 2, "not both"},
		{"run gemm --kernel x", 2, "for code objects"},
		{"run gemm --max-cycles 0", 2, "for code objects"},
		{"run --suite rocm", 2, "clang, mgpusim, triton or micro"},
		{"run --suite triton --html x.html", 2, "--html has no meaning with --suite, which takes --arch,"},
		{"run --suite triton --size 3", 2, "--size has no meaning"},
		{"run --suite triton --seed 1", 2, "--seed has no meaning"},
		{"run --suite triton --trace x", 2, "--trace has no meaning"},
		{"run --suite triton --verify", 2, "--verify has no meaning"},
		{"run --suite triton --max-cycles 7", 2, "--max-cycles has no meaning"},
		{"run --suite triton --mode timing", 2, "choose --mode functional or full"},
		{"run --suite micro --mode full", 2, "--suite micro, which takes --arch, --machine, --set, --threads and --format"},
		{"run --suite triton --arch mi300x --format csv", 0, "gfx942,mi300x"},
		{"run --suite triton --arch nothing", 2, "nothing"},
		{"run --suite clang --arch mi300x --format csv --cpu-profile " + filepath.Join(t.TempDir(), "p"), 0, "gfx942,mi300x"},
		{"run --suite mgpusim --arch mi355x", 2, "code for gfx942, and mi355x runs gfx950"},
		{"trace record --suite triton -o x", 2, "--out has no meaning"},
		{"run --code-object " + object + " --print-launch --arch mi300x", 2, "--arch has no meaning with --print-launch"},
		{"run --launch " + launch + " --verify", 2, "--mode functional"},
		{"run --launch " + launch + " --verify --mode functional", 0, "VERIFY  passed"},
		{"run --launch " + bare + " --verify --mode functional", 2, "has no expect"},
		{"run --launch " + launch + " --size 3", 2, "--size is an option of kernels by name"},
		{"run --launch " + launch + " --tile 128x128", 2, "--tile is an option of kernels by name"},
		{"run --launch " + launch + " --seed 3", 2, "seed of its own"},
		{"run --launch " + launch + " --warmup 3", 0, "starts as the launches before left it"},
		{"run --launch " + launch + " --warmup=-1", 2, "--warmup is -1"},
		{"run --launch " + launch + " --rotate-buffers", 2, "one set of buffers"},
		{"run --launch " + launch + " --sample-rounds 1", 2, "runs whole"},
		{"run gemm --size 256 --mode functional --cold-llc", 2, "--cold-llc is for runs that take time"},
		{"run gemm --size 256 --mode functional --no-host-sync", 2, "--host-sync is for runs that take time"},
		{"run --suite triton --host-sync", 2, "--host-sync has no meaning with --suite"},
		{"run gemm --size 256 --arch teaching --host-sync", 0, " + 50.00 us host"},
		{"run layernorm --batch 1 --seq 64 --arch teaching", 0, " + 50.00 us host"},
		{"run layernorm --batch 1 --seq 64 --arch teaching --set dispatch.host_sync_us=7", 0, " + 7.00 us host"},
		{"run layernorm --batch 1 --seq 64 --arch teaching --no-host-sync --format json", 0, `"host_sync_us": 0,`},
		{"run layernorm --batch 1 --seq 64 --arch teaching --set dispatch.host_sync_us=-7", 2, "from 0 to 1000000"},
		{"run --launch " + bare + " --host-sync", 0, " + 50.00 us host"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(c.args), &stdout, &stderr); code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, &stderr)
		}
		if out := stdout.String() + stderr.String(); !strings.Contains(out, c.output) {
			t.Errorf("%s does not say %q:\n%s", c.args, c.output, out)
		}
	}
}
