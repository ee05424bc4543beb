package att_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/whisker-sim/whisker/report/att"
	"github.com/whisker-sim/whisker/report/timeline"
	"github.com/whisker-sim/whisker/sim"
)

func recording(t *testing.T, cycles string) *timeline.Recording {
	t.Helper()
	o := sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 512, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{Cycles: cycles}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	return o.Record.Result
}

// valid holds a file against its schema.
func valid(t *testing.T, schema, file string) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", schema+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v", filepath.Base(file), err)
	}
}

// TestFolder writes a recording as a thread trace: each file is as its schema
// says, and what is read back is what was written and what the run's report says.
func TestFolder(t *testing.T) {
	r := recording(t, "")
	want := att.From(r)
	dir := t.TempDir()
	for range 2 { // the second replaces the first
		if err := att.Write(dir, att.FolderName(0, 1), want); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "ui_output_agent_0_dispatch_1")
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 7+16 {
		t.Fatalf("%d files, want 7 and one for each of 16 waves; %v", len(files), err)
	}
	for _, f := range files {
		switch name := strings.TrimSuffix(filepath.Base(f), ".json"); {
		case strings.HasPrefix(name, "se"):
			valid(t, "wave", f)
		case strings.HasPrefix(name, "wstates"):
			valid(t, "wstates", f)
		default:
			valid(t, name, f)
		}
	}
	got, err := att.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	a, b := text(t, want), text(t, got)
	if a != b {
		t.Errorf("what is read is not what was written: %s", cmp.Diff(a, b))
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 2 {
		t.Errorf("beside the folder and its table lie %v", left)
	}
	checkAgainstReport(t, r, got)
}

func text(t *testing.T, f *att.Folder) string {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "null", "[]")
}

// checkAgainstReport: hits, and issue and stall cycles of every instruction, and
// each wave's life without a gap.
func checkAgainstReport(t *testing.T, r *timeline.Recording, f *att.Folder) {
	t.Helper()
	byPC := map[int64]att.CodeRow{}
	for _, c := range f.Code {
		byPC[c.Address] = c
	}
	for _, in := range r.Run.Instructions {
		c := byPC[int64(in.PC)]
		if c.Hit != in.Hits || c.Latency-c.Stall != in.IssueCycles || c.Stall != in.StallCycles-c.Idle {
			// Stalls that are booked on an instruction are before it or after it,
			// never elsewhere, so that nothing is idle.
			t.Errorf("%s: hits %d, latency %d, stall %d, idle %d; the report has %d hits, %d of issue, %d of stall", in.Text, c.Hit, c.Latency, c.Stall, c.Idle, in.Hits, in.IssueCycles, in.StallCycles)
		}
	}
	types := map[int64]int{}
	for _, w := range f.Waves {
		at := w.Begin
		for _, s := range w.Timeline {
			at += s.Length
		}
		if at != w.End {
			t.Errorf("%s: its states end at %d, the wave at %d", w.File, at, w.End)
		}
		for i, in := range w.Insts {
			types[in.Type]++
			if in.Time < w.Begin || in.Time+in.Duration > w.End || i > 0 && in.Time < w.Insts[i-1].Time+w.Insts[i-1].Duration {
				t.Fatalf("%s: instruction %d from %d for %d cycles, the wave from %d to %d", w.File, i, in.Time, in.Duration, w.Begin, w.End)
			}
		}
		if len(w.Waits) == 0 {
			t.Errorf("%s: no wait is explained", w.File)
		}
		for _, x := range w.Waits {
			text := f.Code[x.Line-1].ISA
			if !strings.HasPrefix(text, "s_waitcnt") && text != "s_endpgm" {
				t.Errorf("%s: %q waits", w.File, text)
			}
		}
	}
	for _, typ := range []int64{att.TypeSMEM, att.TypeSALU, att.TypeVMEM, att.TypeLDS, att.TypeVALU, att.TypeJump, att.TypeNext, att.TypeImmediate, att.TypeMessage} {
		if types[typ] == 0 {
			t.Errorf("no instruction has type %d", typ)
		}
	}
	for i, s := range f.States {
		if n := len(s.Counts); n == 0 || s.Counts[n-1] != 0 {
			t.Errorf("wstates%d does not end with no wave: %v", i+1, s.Counts)
		}
	}
}

// TestWindow: a part of a run is a valid trace as well.
func TestWindow(t *testing.T) {
	f := att.From(recording(t, "6000:7000"))
	for _, w := range f.Waves {
		if w.Begin < 6000 || w.End > 7000 {
			t.Errorf("a wave from %d to %d", w.Begin, w.End)
		}
	}
	if len(f.Waves) != 8 {
		t.Errorf("%d waves, want 8", len(f.Waves))
	}
}

// TestDamage: every file that is missing or wrong is named.
func TestDamage(t *testing.T) {
	good := t.TempDir()
	if err := att.Write(good, "x", att.From(recording(t, ""))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, text, want string }{
		{"code.json", "", "code.json"},
		{"code.json", "{}", "holds no code"},
		{"code.json", `{"code": [["s_nop"]]}`, "1 fields instead of 10"},
		{"code.json", `{"code": 5}`, "key code: a number stands where a list is expected"},
		{"code.json", `{"code": [7]}`, "a number stands where a list is expected"},
		{"filenames.json", "{", "filenames.json"},
		{"occupancy.json", `[]`, "a list stands where an object is expected"},
		{"occupancy.json", `{"0": 1}`, "a number stands where a list is expected"},
		{"occupancy.json", `{"dispatches": {"1": 2}}`, "a number stands where a text is expected"},
		{"wstates1.json", `{"state": {}}`, "an object stands where a list is expected"},
		{"se0_sm0_sl0_wv0.json", `{"wave": {"begin": 1.5}}`, "a whole number is expected"},
		{"occupancy.json", `{"0": [[1, 2]]}`, "2 fields instead of 6"},
		{"wstates2.json", `{"name": "x", "state": [1], "time": []}`, "1 counts"},
		{"se0_sm0_sl0_wv0.json", `{"wave": {"instructions": [[0, 1, 2, 3, 99999]]}}`, "line 99999"},
		{"se0_sm0_sl0_wv0.json", "{", "se0_sm0_sl0_wv0.json"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(good, "x"))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := att.Read(dir); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: error %v, want one about %q", c.file, c.text, err, c.want)
		}
	}
	holds := t.TempDir()
	if err := os.MkdirAll(filepath.Join(holds, att.FolderName(0, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := att.Read(holds); err == nil || !strings.Contains(err.Error(), "holds 1 of them: give one, such as "+filepath.Join(holds, "ui_output_agent_0_dispatch_1")) {
		t.Errorf("a folder of thread traces: %v", err)
	}
	large := t.TempDir()
	for i := range 3 {
		name := filepath.Join(large, fmt.Sprintf("se0_sm0_sl0_wv%d.json", i))
		if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<30)); err != nil { // holes
			t.Fatal(err)
		}
	}
	if _, err := att.Read(large); err == nil || !strings.Contains(err.Error(), "has 3221225472 bytes") {
		t.Errorf("a folder of 3 GB: %v", err)
	}
	if err := os.Mkdir(filepath.Join(good, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := att.Write(good, "mine", &att.Folder{}); err == nil || !strings.Contains(err.Error(), "not a thread trace") {
		t.Errorf("a folder of something else is replaced: %v", err)
	}
}

// TestReal reads the forms that rocprofv3 writes and Write does not: a null
// source, an index without a name for the processor.
func TestReal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"code.json":            `{"code": [["; kernel", 0, 0, "", 0, 0, 0, 0, 0, 0], ["s_load_dwordx2 s[0:1], s[2:3], 0x0", 0, 1, null, 2, 6400, 32, 292, 164, 5444]], "header": "x", "version": "3.0.0"}`,
		"occupancy.json":       `{"3": [[100, 1, 0, 0, 1, 1], [900, 1, 0, 0, 0, 1]], "dispatches": {"1": "gemm"}, "version": "3.0.0"}`,
		"filenames.json":       `{"wave_filenames": {"3": {"0": {"0": {"0": ["se3_sm0_sl0_wv0.json", 100, 900]}}}}, "gfxv": "vega"}`,
		"se3_sm0_sl0_wv0.json": `{"name": "SE3", "duration": 800, "num_insts": 1, "num_stitched": 1, "wave": {"begin": 100, "end": 900, "cu": 1, "simd": 0, "slot": 0, "id": 7, "instructions": [[104, 1, 4, 8, 1]], "timeline": [[1, 4], [2, 796]], "waitcnt": []}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := att.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(f.Waves[0].Insts)
	if err != nil || len(f.Waves) != 1 || f.Waves[0].SE != 3 || string(b) != `[{"Time":104,"Type":1,"Stall":4,"Duration":8,"Line":1}]` || f.Code[1].Idle != 5444 {
		t.Errorf("read %+v, %v", f, err)
	}
}
