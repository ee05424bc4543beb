package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const abortSource = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl abort
.p2align 8
.type abort,@function
abort:
%s
  s_endpgm
.Lend:
.size abort, .Lend-abort
.rodata
.p2align 6
.amdhsa_kernel abort
  .amdhsa_next_free_vgpr 24
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 24
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_group_segment_fixed_size 1024
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: abort
    .symbol: abort.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 24
    .max_flat_workgroup_size: 64
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
`

// A trap and an access outside LDS end the run in every mode; a breakpoint and
// what stays inside do not.
func TestLaunchAborts(t *testing.T) {
	dma := "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_lshlrev_b32_e32 v1, 2, v0\n  s_mov_b32 m0, %d\n  s_waitcnt lgkmcnt(0)\n  global_load_lds_dword v1, s[4:5]\n  s_waitcnt vmcnt(0)"
	for name, c := range map[string]struct{ body, want string }{
		"trap":        {"  s_trap 2", "s_trap 2"},
		"breakpoint":  {"  s_trap 3", ""},
		"read":        {"  v_lshlrev_b32_e32 v1, 4, v0\n  ds_read_b128 v[4:7], v1 offset:16\n  s_waitcnt lgkmcnt(0)", "ds_read_b128"},
		"read inside": {"  v_lshlrev_b32_e32 v1, 4, v0\n  ds_read_b128 v[4:7], v1\n  s_waitcnt lgkmcnt(0)", ""},
		"write":       {"  v_lshlrev_b32_e32 v1, 4, v0\n  ds_write2_b32 v1, v0, v0 offset1:4\n  s_waitcnt lgkmcnt(0)", "ds_write2_b32"},
		"DMA":         {fmt.Sprintf(dma, 772), "global_load_lds_dword"},
		"DMA inside":  {fmt.Sprintf(dma, 768), ""},
	} {
		dir := t.TempDir()
		source, object := filepath.Join(dir, "abort.s"), filepath.Join(dir, "abort.gfx950.co")
		if err := os.WriteFile(source, fmt.Appendf(nil, abortSource, c.body), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := ISAAsm(source, object, ""); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := "code_object: " + object + "\ngrid: [1]\nworkgroup: [64]\nargs:\n  - {name: x, type: f32, shape: [64]}\n"
		for _, mode := range []string{"functional", "full", "timing"} {
			_, err := launch(t, text, mode)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s mode: error %v, want one that says %q", name, mode, err, c.want)
			}
		}
	}
}
