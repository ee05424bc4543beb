package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/xcd"
)

// fullDisk takes n bytes and then no more.
type fullDisk struct{ n int }

func (f *fullDisk) Write(b []byte) (int, error) {
	if len(b) > f.n {
		n := f.n
		f.n = 0
		return n, errors.New("no space left on device")
	}
	f.n -= len(b)
	return len(b), nil
}

// Output that cannot be written is a failed run, exit code 1, from every command.
func TestFullDisk(t *testing.T) {
	const object = "../../workloads/suite/objects/vadd.gfx950.hsaco"
	for _, args := range []string{
		"--help",
		"run --help",
		"version",
		"list",
		"config show",
		"isa disasm " + object,
		"isa disasm --raw-text " + object,
		"isa coverage",
		"isa coverage --format csv",
		"lds analyze --op ds_read_b128 --layout st_16x32",
		"run --code-object " + object + " --print-launch",
		"run gemm --size 256 --mode functional",
		"run gemm --size 256 --mode functional --format json",
		"run --launch ../../workloads/suite/launch/triton_vadd.yaml --mode functional",
		"step --script show",
		"swizzle show --grid 8x8",
	} {
		for _, room := range []int{0, 5} {
			var stderr bytes.Buffer
			code := run(strings.Fields(args), &fullDisk{room}, &stderr)
			if code != exitFailed || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "no space left") {
				t.Errorf("%s with room for %d bytes: exit code %d and %q", args, room, code, &stderr)
			}
		}
	}
}

// object assembles a kernel named k that takes one buffer and gives its launch
// file.
func object(t *testing.T, body string) (launch string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "k.s")
	text := ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.text\nk:\n" + body + `
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
`
	launch = filepath.Join(dir, "k.yaml")
	for file, text := range map[string]string{source: text, launch: "code_object: k.co\ngrid: [2]\nworkgroup: [128]\nargs: [{type: f32, shape: [128]}]\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	if code := run([]string{"isa", "asm", source}, io.Discard, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	return launch
}

// What an object cannot do in any mode is bad input in every mode, with the pc,
// the text and the reason, in one line.
func TestUnsupportedOpcode(t *testing.T) {
	for text, why := range map[string]string{
		"ds_gws_barrier v0 gds":    "GWS allocation",
		"s_rfe_b64 s[4:5]":         "trap handler",
		"s_cbranch_join s4":        "fork and join",
		"s_setvskip s4, s5":        "vector skipping",
		"s_endpgm_ordered_ps_done": "pixel shader",
	} {
		launch := object(t, "  s_nop 0\n  "+text+"\n  s_endpgm\n")
		for _, mode := range []string{"timing", "functional", "full"} {
			var stderr bytes.Buffer
			code := run([]string{"run", "--launch", launch, "--mode", mode}, io.Discard, &stderr)
			said := stderr.String()
			if code != exitUsage || strings.Count(said, "\n") != 1 {
				t.Errorf("%s in %s mode: exit code %d, %q", text, mode, code, said)
			}
			for _, part := range []string{strings.Fields(text)[0], "0x4", why} {
				if !strings.Contains(said, part) {
					t.Errorf("%s in %s mode does not say %q: %q", text, mode, part, said)
				}
			}
		}
	}
}

// Code that goes on where it has no instruction is bad input in every mode.
func TestCodeThatLeaves(t *testing.T) {
	for body, want := range map[string]string{
		"  s_nop 0\n":                    "no instruction after s_nop 0 at pc 0x0, the last of its code: workgroup [0 0 0] wave 0 does not end",
		"  s_nop 0\n  s_cbranch_scc1 -2": "no instruction after s_cbranch_scc1 65534 at pc 0x4",
		"  s_getpc_b64 s[4:5]\n  s_add_u32 s4, s4, 2\n  s_addc_u32 s5, s5, 0\n  s_setpc_b64 s[4:5]\n  s_endpgm": "no instruction at pc 0x6",
		"  s_mov_b32 s4, 0\n  s_mov_b32 s5, 7\n  s_setpc_b64 s[4:5]\n  s_endpgm":                                "outside the code",
	} {
		launch := object(t, body)
		for _, mode := range []string{"timing", "functional", "full"} {
			var stderr bytes.Buffer
			code := run([]string{"run", "--launch", launch, "--mode", mode}, io.Discard, &stderr)
			if said := stderr.String(); code != exitUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, want) {
				t.Errorf("%q in %s mode: exit code %d, %q, want %q", body, mode, code, said, want)
			}
		}
	}
}

// stdin makes text the standard input of a test.
func stdin(t *testing.T, text string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "stdin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = old; f.Close() })
}

// A line that is far too long is named, with what is allowed.
func TestLongHexLine(t *testing.T) {
	for _, what := range []string{"disasm", "asm"} {
		stdin(t, "\n"+strings.Repeat("0", 3<<20)+"\n")
		var stderr bytes.Buffer
		code := run([]string{"isa", what, "--cpu", "gfx950", "--hex", "-"}, io.Discard, &stderr)
		if want := "whisker: line 2 has 65536 characters or more; a line holds one instruction\n"; code != exitUsage || stderr.String() != want {
			t.Errorf("isa %s: exit code %d, %q", what, code, &stderr)
		}
	}
}

// What is for files is not ignored when single instructions are turned over.
func TestHexFlags(t *testing.T) {
	for args, want := range map[string]string{
		"isa disasm --cpu gfx950 --hex - --kernel k": "--kernel has no meaning with --hex",
		"isa disasm --cpu gfx950 --hex - --raw-text": "--raw-text has no meaning with --hex",
		"isa asm --cpu gfx950 --hex - -o x.co":       "--output has no meaning with --hex",
		"isa asm --hex -":                            "--hex needs --cpu: choose gfx942 or gfx950",
		"isa disasm --hex -":                         "--hex needs --cpu: choose gfx942 or gfx950",
	} {
		stdin(t, "")
		var stderr bytes.Buffer
		if code := run(strings.Fields(args), io.Discard, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, &stderr, want)
		}
	}
}

// Outputs and modes that a run cannot have are refused before anything is simulated.
func TestRunFlags(t *testing.T) {
	for args, want := range map[string]string{
		"run micro --picture tile=a.svg --picture tile=b.svg":             "the picture tile is asked for twice",
		"run micro --picture tile":                                        `expected NAME=FILE, not "tile"`,
		"run micro --picture cat=a.svg --picture tile=b.svg":              `unknown --picture "cat"`,
		"run micro --rcv faults_test.go/below":                            "faults_test.go is a file; --rcv takes a directory",
		"run micro --test lds --dependent":                                "each address is what the read before found in the LDS, and timing mode computes no values: give --mode full",
		"run micro --test lds --dependent --arch mi300x --op ds_read_b32": "give --mode full",
	} {
		var stderr bytes.Buffer
		if code := run(strings.Fields(args), io.Discard, &stderr); code != exitUsage || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, &stderr, want)
		}
	}
}

// A script's fault is told with its place and what is allowed there.
func TestStepScriptFaults(t *testing.T) {
	for script, want := range map[string]string{
		"show; foo":  `--script, command 2: unknown command "foo"; choose cycle, issue,`,
		"foo bar":    `--script, command 1: unknown command "foo"; choose`,
		"show all":   `--script, command 1: "show all" has too many words; show takes none`,
		"cycle 1 2":  `"cycle 1 2" has too many words; cycle takes a number or nothing`,
		"cycle -1":   `"-1" is no number from 1`,
		"break pc":   "--script, command 1: a breakpoint is",
		"break at 1": "a breakpoint is on a pc, a cycle or a wave",
	} {
		var stderr bytes.Buffer
		code := run([]string{"step", "--script", script}, io.Discard, &stderr)
		if code != exitUsage || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit code %d, %q, want %q", script, code, &stderr, want)
		}
	}
}

// A launch that gets nowhere is given up: the first line names the kernel, the
// cycle and what waves wait for, and each wave has one below.
func TestDeadlock(t *testing.T) {
	launch := object(t, `  v_readfirstlane_b32 s4, v0
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 again
  s_barrier
  s_endpgm
again:
  s_sleep 127
  s_branch again
`)
	for _, mode := range []string{"timing", "full"} {
		var stderr bytes.Buffer
		code := run([]string{"run", "--launch", launch, "--mode", mode}, io.Discard, &stderr)
		lines := strings.Split(strings.TrimRight(stderr.String(), "\n"), "\n")
		if code != exitFailed || len(lines) < 3 || len(lines) > 70 {
			t.Fatalf("%s mode: exit code %d, %d lines: %s", mode, code, len(lines), &stderr)
		}
		for _, part := range []string{"whisker: kernel k: deadlock at cycle 2", "with 0 of 2 workgroups ended", "no wave has ended, passed a barrier, stored or asked for new data",
			"2 waves wait at pc 0xc, `s_barrier` (barrier)", "`s_sleep 0x7f` (sleep)"} {
			if !strings.Contains(lines[0], part) {
				t.Errorf("%s mode: the first line does not say %q: %s", mode, part, lines[0])
			}
		}
	}
}

// A wave that polls a flag in LDS which nobody sets gets nowhere; one that calculates for as long does.
func TestPollAndArithmetic(t *testing.T) {
	poll := object(t, `  v_mov_b32_e32 v1, 0
again:
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s4, v2
  s_cmp_eq_u32 s4, 7
  s_cbranch_scc0 again
  s_endpgm
`)
	const text = "code_object: k.co\ngrid: [2]\nworkgroup: [64]\ndynamic_lds: 64\nargs: [{type: u32, shape: [64], fill: zeros}]\n"
	if err := os.WriteFile(poll, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run([]string{"run", "--launch", poll, "--set", "chip.cus_per_xcd=4"}, io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "deadlock at cycle 2") {
		t.Errorf("a poll: exit code %d, %s", code, &stderr)
	}
	var stdout bytes.Buffer
	stderr.Reset()
	if code := run(strings.Fields("run micro --test valu --trips 20000 --set chip.cus_per_xcd=4 --format json"), &stdout, &stderr); code != 0 {
		t.Fatalf("20000 trips of additions: exit code %d, %s", code, &stderr)
	}
	var r report.Run
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Cycles <= xcd.LivelockCycles {
		t.Errorf("%d cycles (%v); the watch for deadlocks looks after %d only", r.Cycles, err, xcd.LivelockCycles)
	}
}

// Workgroups that wait for all others end although a pilot has some of them only,
// which poll without end.
func TestGridBarrier(t *testing.T) {
	launch := object(t, `  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v1, v2, s[4:5]
again:
  global_atomic_add v3, v1, v1, s[4:5] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v3
  s_cmp_lt_u32 s6, 16
  s_cbranch_scc1 again
  s_endpgm
`)
	const text = "code_object: k.co\ngrid: [16]\nworkgroup: [64]\nargs: [{type: u32, shape: [64], fill: zeros}]\n"
	if err := os.WriteFile(launch, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	code := run([]string{"run", "--launch", launch, "--mode", "full", "--set", "chip.cus_per_xcd=2", "--set", "chip.shader_engines=1"}, io.Discard, &stderr)
	if code != exitDone {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
