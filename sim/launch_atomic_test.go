package sim

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/xcd"
)

const ticketKernel = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
ticket:
  s_load_dwordx4 s[4:7], s[0:1], 0x0 // the counter, a place for each workgroup
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b64 exec, 1
  s_movk_i32 s8, 64
  s_waitcnt lgkmcnt(0)
again:
  global_atomic_add v3, v1, v2, s[4:5] sc0
  s_waitcnt vmcnt(0)
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 again
  v_mov_b32_e32 v4, s2
  v_lshlrev_b32_e32 v4, 2, v4
  global_store_dword v4, v3, s[6:7]
  s_endpgm
.amdhsa_kernel ticket
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
`

// No atomic of several XCDs on one place is lost, and what each returns is the same
// on any number of threads.
func TestAtomicsOfSeveralXCDs(t *testing.T) {
	units, err := asm.Assemble("ticket.s", ticketKernel, asm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := codeobj.Write(units...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ticket.yaml")
	const text = "code_object: ticket.co\ngrid: [64]\nworkgroup: [64]\nargs: [{name: n, type: u32, shape: [1]}, {name: last, type: u32, shape: [64]}]\n"
	for path, b := range map[string][]byte{file: []byte(text), filepath.Join(dir, "ticket.co"): data} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := ReadLaunch(file)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := LoadMachine("mi355x", "", []string{"chip.cus_per_xcd=2", "chip.shader_engines=1"})
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	var cycles int64
	for i, threads := range []int{1, 4, 4, 8, 8} {
		p, err := l.prepare()
		if err != nil {
			t.Fatal(err)
		}
		g, err := xcd.NewGPU(machine.Machine(), 2000, p.launch, xcd.GPUOptions{Full: true, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var n [4]byte
		last := make([]byte, 4*64)
		p.launch.Memory.Read(p.bases["n"].Base, n[:])
		p.launch.Memory.Read(p.bases["last"].Base, last)
		if got := binary.LittleEndian.Uint32(n[:]); got != 64*64 {
			t.Errorf("%d threads: %d of %d atomics are counted", threads, got, 64*64)
		}
		if i == 0 {
			want, cycles = last, res.Timing.Cycles
		} else if !bytes.Equal(last, want) || res.Timing.Cycles != cycles {
			t.Errorf("%d threads: %d cycles, the last values %x; one thread: %d, %x", threads, res.Timing.Cycles, last, cycles, want)
		}
	}
}
