package sim

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/workloads"
)

// tinyTrace records a GEMM of four workgroups on four CUs.
func tinyTrace(t *testing.T) (path string, cycles int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tiny.trace")
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", Set: oneDie, M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1, Trace: path}
	return path, mustRun(t, o).Cycles
}

// TestDamagedTraces: every fault is one sentence and the user's.
func TestDamagedTraces(t *testing.T) {
	path, _ := tinyTrace(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 4
	newer := bytes.Clone(whole)
	binary.LittleEndian.PutUint16(newer[8:], 7)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not a valid trace"},
		{"text", []byte("hello, this is no trace at all"), "does not begin with"},
		{"cut", whole[:len(whole)*2/3], "--allow-truncated"},
		{"without its last byte", whole[:len(whole)-1], "--allow-truncated"},
		{"flipped", flipped, "checksum"},
		{"newer", newer, "version 7"},
	} {
		file := filepath.Join(t.TempDir(), "x.trace")
		if err := os.WriteFile(file, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Replay(ReplayOptions{File: file, Threads: 1})
		usage, ok := errors.AsType[*UsageError](err)
		if !ok || !strings.Contains(usage.Error(), c.want) || strings.Contains(usage.Error(), "\n") || !strings.Contains(usage.Error(), file) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	if _, err := Replay(ReplayOptions{File: "nowhere.trace", Threads: 1}); err == nil || !strings.Contains(err.Error(), "nowhere.trace") {
		t.Errorf("%v", err)
	}
}

// TestTruncatedReplay: the waves up to the last whole chunk are replayed, and it
// is said that others are missing.
func TestTruncatedReplay(t *testing.T) {
	path, cycles := tinyTrace(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.trace")
	write := func(n int) {
		if err := os.WriteFile(cut, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(len(whole) - 30) // the index alone is cut
	r := mustReplay(t, ReplayOptions{File: cut, AllowTruncated: true})
	if r.Cycles != cycles || !strings.Contains(strings.Join(r.Notes, "\n"), "last whole chunk") || r.Replay.Complete {
		t.Errorf("%d cycles instead of %d, notes %q", r.Cycles, cycles, r.Notes)
	}
	tr, err := openTrace(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	chunks, err := tr.Chunks()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		if c.Kind == trace.KindWaves {
			write(int(c.Offset) + 10)
			if _, err := Replay(ReplayOptions{File: cut, AllowTruncated: true, Threads: 1}); err == nil || !strings.Contains(err.Error(), "no wave is whole") {
				t.Errorf("without a wave: %v", err)
			}
			break
		}
	}
}

// TestMissingWaves: of a trace that is cut between its waves, the ones that are
// missing are counted by the launch's grid, not by what is left of them.
func TestMissingWaves(t *testing.T) {
	dir := t.TempDir()
	text, path, cut := filepath.Join(dir, "many.txt"), filepath.Join(dir, "many.trace"), filepath.Join(dir, "cut.trace")
	var b bytes.Buffer
	b.WriteString(".cpu gfx950\n.workgroups 32\n.waves 4\n.lds 4096\n")
	for i := range 500 {
		fmt.Fprintf(&b, "ds_read_b32 v1, v0 @ lane*4 + %d\n", i*i%3000&^3)
	}
	if err := os.WriteFile(text, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ImportText(&b, text, ImportOptions{Out: path, Arch: "mi355x", Set: oneDie, Format: "table"}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := openTrace(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	chunks, err := tr.Chunks()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range chunks {
		if c.Kind == trace.KindWaves {
			n = int(c.Offset + 40) // within the last one
		}
	}
	if err := os.WriteFile(cut, whole[:n], 0o644); err != nil {
		t.Fatal(err)
	}
	r := mustReplay(t, ReplayOptions{File: cut, AllowTruncated: true})
	lack := 128 - r.Replay.Waves
	if r.Replay.Waves == 0 || lack == 0 || r.Replay.Complete {
		t.Fatalf("%+v: the trace has not been cut between waves", r.Replay)
	}
	want := fmt.Sprintf("launch 0 lacks %d of 128 waves", lack)
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	for _, show := range []func() error{
		func() error { return TraceInfoOf(&b, cut, true, "json") },
		func() error { return TraceCheck(&b, cut, "", "", true, "json") },
	} {
		b.Reset()
		if err := show(); err != nil || !strings.Contains(b.String(), fmt.Sprintf(`"waves_missing": %d`, lack)) {
			t.Errorf("%v, want %d missing waves: %s", err, lack, &b)
		}
	}
	b.Reset()
	if err := TraceInfoOf(&b, cut, true, "table"); err != nil || !strings.Contains(b.String(), fmt.Sprintf("%d of 128 waves", lack)) {
		t.Errorf("%v: %s", err, &b)
	}
}

func TestTraceCommands(t *testing.T) {
	path, cycles := tinyTrace(t)
	var b bytes.Buffer
	if err := TraceInfoOf(&b, path, false, "json"); err != nil {
		t.Fatal(err)
	}
	var info TraceInfo
	if err := json.Unmarshal(b.Bytes(), &info); err != nil {
		t.Fatal(err)
	}
	if l := info.Launches[0]; l.Cycles != cycles || l.Waves != 32 || l.InTrace != 4 || !info.Complete || l.Instructions == 0 {
		t.Errorf("%+v", l)
	}
	b.Reset()
	if err := TraceCheck(&b, path, "", "", false, "json"); err != nil || !strings.Contains(b.String(), `"sound": true`) {
		t.Errorf("%v %s", err, &b)
	}
	b.Reset()
	if err := TraceDump(&b, path, Selection{Launch: 0, Workgroups: "1", Waves: "2", Range: "0-4"}, false); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 7 || !strings.Contains(lines[2], "s_load_dwordx4") || !strings.Contains(lines[2], "0x1") {
		t.Errorf("dump:\n%s", &b)
	}
	for _, s := range []Selection{{Workgroups: "x"}, {Waves: "3-1"}, {Range: "1,3"}, {Workgroups: "99"}, {Launch: 5}, {Range: "900000-900001"}} {
		b.Reset()
		if _, ok := errors.AsType[*UsageError](TraceDump(&b, path, s, false)); !ok || b.Len() > 0 {
			t.Errorf("%+v is taken, or leaves output: %s", s, &b)
		}
	}
}

// TestSlice: the workgroups that are kept run as they are numbered, and a range
// ends with an s_endpgm.
func TestSlice(t *testing.T) {
	path, _ := tinyTrace(t)
	out := filepath.Join(t.TempDir(), "s.trace")
	var b bytes.Buffer
	if err := TraceSlice(&b, path, out, Selection{Workgroups: "1,3", Waves: "0-3", Range: "10-209"}, false, "json"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"waves": 8`) || !strings.Contains(b.String(), `"instructions": 1608`) {
		t.Errorf("%s", &b)
	}
	if err := TraceCheck(&b, out, "", "", false, "table"); err != nil {
		t.Error(err)
	}
	r := mustReplay(t, ReplayOptions{File: out})
	if r.WaveInstructions != 1608 || r.FLOPs != 0 || r.Counters.Get("SQ_WAVES") != 8 || !strings.Contains(strings.Join(r.Notes, "\n"), "workgroups 1,3, waves 0-3") {
		t.Errorf("%d instructions, %g flop, notes %q", r.WaveInstructions, r.FLOPs, r.Notes)
	}
	if err := TraceSlice(&b, path, out, Selection{}, false, "table"); err == nil {
		t.Error("a slice of everything is taken")
	}
	if err := TraceSlice(&b, path, out+"2", Selection{Workgroups: "77"}, false, "table"); err == nil {
		t.Error("an empty slice is written")
	}
	if _, err := os.Stat(out + "2"); err == nil {
		t.Error("an empty slice stays behind")
	}
}

func TestTraceRefusals(t *testing.T) {
	path, _ := tinyTrace(t)
	for _, c := range []struct {
		o    ReplayOptions
		want string
	}{
		{ReplayOptions{Arch: "mi300x"}, "code for gfx950"},
		{ReplayOptions{Arch: "mi999"}, "mi999"},
		{ReplayOptions{Set: []string{"lds.byts=5"}}, "did you mean lds.bytes"},
		{ReplayOptions{Set: []string{"lds.bytes=1280"}}, "does not fit"},
		{ReplayOptions{CodeObject: "trace_test.go"}, "not an ELF file"},
	} {
		c.o.File, c.o.Threads = path, 1
		_, err := Replay(c.o)
		if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.o, err, c.want)
		}
	}
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", M: 256, N: 256, K: 256, Threads: 1, Trace: filepath.Join(t.TempDir(), "no", "such", "folder")}
	for _, mode := range []string{"functional", "timing"} {
		o.Mode = mode
		if _, err := Run(o); err == nil {
			t.Errorf("%s: a trace is written into nowhere", mode)
		}
	}
}

// spinKernel waits in a loop for a flag in LDS that its first wave sets after some
// work, and steers itself by the clock.
const spinKernel = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl spin
.p2align 8
.type spin,@function
spin:
  v_mov_b32_e32 v1, 0
  v_readfirstlane_b32 s4, v0
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc0 wait
  s_sleep 20
  v_mov_b32_e32 v2, 1
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_branch done
wait:
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s5, v3
  s_cmp_eq_u32 s5, 0
  s_cbranch_scc1 wait
done:
  s_memtime s[6:7]
  s_waitcnt lgkmcnt(0)
  s_bitcmp1_b32 s6, 3
  s_cbranch_scc1 end
  s_nop 3
end:
  s_endpgm
.amdhsa_kernel spin
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_group_segment_fixed_size 1024
.end_amdhsa_kernel
`

// TestSpins: a kernel that polls and reads the clock replays with the same
// cycles on its machine, and on another it is said that its stream may differ.
func TestSpins(t *testing.T) {
	units, err := asm.Assemble("spin.s", spinKernel, asm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	units[0].Meta = &codeobj.Meta{Name: "spin", Symbol: "spin.kd", WavefrontSize: 64, MaxWorkgroup: 256, SGPRs: 8, VGPRs: 4, GroupBytes: 1024}
	data, err := codeobj.Write(units...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, object := filepath.Join(dir, "spin.yaml"), filepath.Join(dir, "spin.co")
	for name, b := range map[string][]byte{file: []byte("code_object: spin.co\ngrid: [2]\nworkgroup: [256]\nargs: []\n"), object: data} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "spin.trace")
	want, err := RunLaunch(LaunchOptions{File: file, RunOptions: RunOptions{Arch: "mi355x", Set: oneDie, Mode: "full", Threads: 1, Trace: path}})
	if err != nil {
		t.Fatal(err)
	}
	got := mustReplay(t, ReplayOptions{File: path, CodeObject: object})
	if got.Cycles != want.Cycles || got.WaveInstructions != want.WaveInstructions || strings.Contains(strings.Join(got.Notes, "\n"), "depends on timing") {
		t.Errorf("%d cycles and %d instructions, the run %d and %d; notes %q", got.Cycles, got.WaveInstructions, want.Cycles, want.WaveInstructions, got.Notes)
	}
	_, err = Replay(ReplayOptions{File: path, CodeObject: object, KernelName: "spun", Threads: 1})
	if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), "no launch of kernel spun; it has spin") {
		t.Errorf("a kernel that the trace lacks: %v", err)
	}
	notes := strings.Join(mustReplay(t, ReplayOptions{File: path, Set: []string{"lds.latency_cycles=90"}}).Notes, "\n")
	for _, s := range []string{"waits in a loop", "s_cbranch_scc1", "reads the clock", "s_memtime"} {
		if !strings.Contains(notes, s) {
			t.Errorf("the notes lack %q: %s", s, notes)
		}
	}
	// Another code object of the same kernel name is told apart.
	other := strings.Replace(spinKernel, "s_sleep 20", "s_sleep 21", 1)
	if units, err = asm.Assemble("spin.s", other, asm.Options{}); err != nil {
		t.Fatal(err)
	}
	units[0].Meta = &codeobj.Meta{Name: "spin", Symbol: "spin.kd", WavefrontSize: 64, MaxWorkgroup: 256, SGPRs: 8, VGPRs: 4, GroupBytes: 1024}
	if data, err = codeobj.Write(units...); err == nil {
		err = os.WriteFile(object, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(ReplayOptions{File: path, CodeObject: object, Threads: 1}); err == nil || !strings.Contains(err.Error(), "they differ first at pc 0x") {
		t.Errorf("another code object: %v", err)
	}
}

// TestEveryLaunchIsCompared: a code object that lacks a later kernel of the trace is
// not what it was recorded from, unless only the others are asked for.
func TestEveryLaunchIsCompared(t *testing.T) {
	options := map[string]string{"batch": "1", "heads": "1", "seq": "256"}
	dir := t.TempDir()
	path, object := filepath.Join(dir, "b.trace"), filepath.Join(dir, "b.co")
	if _, err := Run(RunOptions{Kernel: "attention-backward", Arch: "mi355x", Set: oneDie, Options: options, Mode: "timing", Threads: 1, Seed: 1, Trace: path}); err != nil {
		t.Fatal(err)
	}
	job, err := workloads.Build("attention-backward", workloads.Request{CPU: isa.GFX950, XCDs: 1, Seed: 1, LDSBytes: 160 << 10, Registers: 512, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	var units []codeobj.Unit
	for _, b := range job.Kernels {
		units = append(units, codeobj.Unit{Kernel: b.Launch.Kernel})
	}
	first, last := units[0].Kernel.Name, units[len(units)-1].Kernel.Name
	for _, c := range []struct {
		units        []codeobj.Unit
		kernel, want string
	}{{units, "", ""}, {units, last, ""}, {units[:1], first, ""}, {units[:1], "", "it has " + first}, {units[:1], last, "it has " + first}} {
		data, err := codeobj.Write(c.units...)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(object, data, 0o644); err != nil {
			t.Fatal(err)
		}
		err = TraceCheck(io.Discard, path, object, c.kernel, false, "table")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d of %d kernels, compared %q: %v, want %q", len(c.units), len(units), c.kernel, err, c.want)
		}
	}
}

// TestPartsOfWaves: a wave that is written in many parts gives the same trace to
// a replay as one that is written whole.
func TestPartsOfWaves(t *testing.T) {
	d := &dieLog{slots: []int16{-1, 0, -1}, columns: 1, byHash: map[uint64][]*trace.Pattern{}}
	w := d.Wave(0, 0, 0, 7)
	a := &isa.Access{Lanes: 3, Bytes: 4}
	const turns = 3*partRuns + 5
	for i := range turns {
		a.Addr[0], a.Addr[1] = uint64(i*i)*64, uint64(i*i)*64+4
		w.Address(1, a, false)
		w.Access(1, 0)
		if i < turns-1 {
			w.Jump(2, i%2) // alternating, so that jumps do not fold
		}
	}
	w.End(2)
	if n := len(d.ended); n < 4 {
		t.Fatalf("%d parts", n)
	}
	at, runs := 0, 0
	for i, p := range d.ended {
		v := &p.wave
		if v.Part != i || v.Last != (i == len(d.ended)-1) || v.Exec != 7 {
			t.Errorf("part %d: %+v", i, v)
		}
		for _, r := range v.Accesses[0].Runs {
			for k := range r.Count {
				if r.Base+k*r.Step != uint64(at*at)*64 {
					t.Fatalf("access %d at %#x", at, r.Base)
				}
				at++
			}
			runs++
		}
		if len(v.Accesses[0].Runs) > partRuns+1 {
			t.Errorf("part %d has %d runs", i, len(v.Accesses[0].Runs))
		}
	}
	if at != turns {
		t.Errorf("%d accesses in %d runs", at, runs)
	}
}
