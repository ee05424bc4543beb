package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/xcd"
)

const sampleText = `# two waves that differ
.cpu gfx950
.kernel stream
.workgroups 2
.waves 2
.lds 8192
.region A 65536
.wave 0
loop:
  global_load_dwordx4 v[0:3], v4, s[0:1] @ A + lane*16 + wg*8192 + iter*1024
  ds_read2_b64 v[8:11], v5 @ lane*8, 512
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_cbranch_scc1 loop @ taken 3
  s_endpgm
.wave 1
inner:
  v_exp_f32_e32 v0, v1
  s_cbranch_scc0 inner @ taken 1
  s_cbranch_vccz inner @ taken 2
  global_store_dword v4, v0, s[0:1] @ 0x1000 + lane*-4 lanes 0xff0
  s_endpgm
`

func importText(t *testing.T, text string) (*openedTrace, string) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.trace")
	if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := ImportText(&b, in, ImportOptions{Out: out, Set: oneDie, Format: "json"}); err != nil {
		t.Fatal(err)
	}
	tr, err := openTrace(out, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr, b.String()
}

func TestImportText(t *testing.T) {
	tr, summary := importText(t, sampleText)
	if n, err := tr.Check(); n != 4 || err != nil {
		t.Fatalf("%d waves, %v", n, err)
	}
	if !strings.Contains(summary, `"instructions": 68`) || !strings.Contains(summary, `"notes": []`) {
		t.Errorf("summary %s", summary)
	}
	parts, err := tr.Wave(0, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := parts[0]
	if w.Instructions != 17 || len(w.Jumps) != 1 || w.Jumps[0].Count != 3 {
		t.Errorf("wave 0: %d instructions, jumps %v", w.Instructions, w.Jumps)
	}
	base := tr.Launch(0).Regions[0].Base
	if r := w.Accesses[0].Runs; len(r) != 1 || r[0].Base != base+8192 || r[0].Step != 1024 || r[0].Count != 4 || r[0].Pattern.Offset[63] != 63*16 {
		t.Errorf("loads %+v", r)
	}
	if p := w.Accesses[1].Runs[0].Pattern; p.Offset2 == nil || p.Offset2[1] != 8+512 {
		t.Errorf("two addresses: %+v", p)
	}
	if parts, err = tr.Wave(0, 0, 1); err != nil {
		t.Fatal(err)
	}
	// inner runs twice for each of the three turns of the outer branch.
	if w := parts[0]; w.Instructions != 3*(2*2+1)+2 {
		t.Errorf("wave 1: %d instructions", w.Instructions)
	}
	if r := parts[0].Accesses[0].Runs[0]; r.Pattern.Lanes != 0xff0 || r.Base != 0x1000-16 || r.Pattern.Offset[5] != -4 {
		t.Errorf("store %+v lanes %#x", r, r.Pattern.Lanes)
	}
	r := mustReplay(t, ReplayOptions{File: tr.path})
	if r.WaveInstructions != 68 {
		t.Errorf("%d instructions replayed", r.WaveInstructions)
	}
	if r.Replay.Origin != "text" || r.Cycles == 0 {
		t.Errorf("%d cycles, %+v", r.Cycles, r.Replay)
	}
}

func TestImportTextErrors(t *testing.T) {
	const head = ".cpu gfx950\n"
	for _, c := range []struct{ text, want string }{
		{head + "  v_mov_b33 v0, v1\n", `t:2:3: unknown mnemonic "v_mov_b33"`},
		{head + "  v_mov_b32_e32 v0, q7\n", "t:2:21:"},
		{head + "v_mov_b32_e32 v0\n", "t:2:15:"},
		{"v_mov_b32_e32 v0, v1\n", "t:1:1: the processor is not known"},
		{".cpu gfx90a\n", "t:1:6: unknown processor"},
		{".cpus gfx950\n", "t:1:1: unknown directive .cpus"},
		{head + ".waves 17\n", "t:2:8: .waves is \"17\"; it must be from 1 to 16"},
		{head + ".region wave 5\n", "t:2:9: region wave"},
		{head + ".region A x\n", "t:2:11: a region of"},
		{head + "s_branch there\n", "t:2:10: there is no label there"},
		{head + "a:\ns_cbranch_scc1 a\n", "t:3:1: say how often"},
		{head + "a:\na:\n", "t:3:1: label a stands twice"},
		{head + "a:\ns_cbranch_scc1 a @ taken x\n", "t:3:20: a branch is"},
		{head + "s_nop 0 @ 5\n", "t:2:11: s_nop accesses no memory"},
		{head + "ds_read_b32 v0, v1 @ lane*4 + B\n", `t:2:31: "B" in an address`},
		{head + "ds_read_b32 v0, v1 @ 0, 4\n", "t:2:22: ds_read_b32 takes one address"},
		{head + "ds_read2_b32 v[0:1], v2 @ 0\n", "takes two addresses"},
		{head + "ds_read_b32 v0, v1 @ 0 lanes all\n", "t:2:24: lanes"},
		{head + "a:\ns_branch a\n", "runs more than"},
		{head, "there is no instruction"},
		{head + ".lds 1024\nds_read_b32 v0, v1 @ lane*4 + 772\n", "t:3:1: ds_read_b32 reaches LDS bytes 772 to 1027, and there are 1024"},
		{head + "s_nop 0\n  ds_read_b32 v0, v1 @ lane*400000\n", "t:3:3: ds_read_b32 reaches LDS bytes 0 to 25200003, and there are 163840"},
		{head + "ds_read_b32 v0, v1 @ lane*-4\n", "t:2:1: ds_read_b32 reaches LDS bytes -252 to 3"},
		{head + "ds_read2_b32 v[0:1], v2 @ lane*4, 200000\n", "t:2:1: ds_read2_b32 reaches"},
		{head + ".workgroups 1000000\na:\ns_cbranch_scc1 a @ taken 4000000000\n", "t:4:1: wave 0 of workgroup 0 runs more than"},
		{head + ".waves 2\n.wave 0\ns_endpgm\n", "no .wave section has wave 1"},
	} {
		_, err := parseTraceText("t", c.text, "")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
}

func FuzzTraceText(f *testing.F) {
	f.Add(sampleText)
	f.Add(".cpu gfx942\nds_read_b32 v0, v1 @ lane*4 lanes 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "taken") || strings.Contains(text, "branch") || strings.Contains(text, ".workgroups") {
			return // may run long
		}
		m, err := parseTraceText("t", text, "")
		if err == nil && (len(m.waves) == 0 || len(m.insts) == 0) {
			t.Error("nothing was imported")
		}
	})
}

// attFolder writes a synthetic thread trace: a loop of a load, an LDS read and
// matrix work that each of two waves runs three times. Fields have the order and
// types of rocprofv3's.
func attFolder(t testing.TB, change func(files map[string]string)) string {
	t.Helper()
	code := []struct {
		isa  string
		addr int
	}{
		{"; _Z4loopPf", 0},
		{"s_load_dwordx2 s[0:1], s[4:5], 0x0", 0x1000},
		{"s_waitcnt lgkmcnt(0)", 0x1008},
		{"global_load_dwordx4 v[0:3], v4, s[0:1]", 0x100c},
		{"ds_read_b128 v[8:11], v5", 0x1014},
		{"s_waitcnt vmcnt(0) lgkmcnt(0)", 0x101c},
		{"v_mfma_f32_16x16x32_bf16 v[12:15], v[0:3], v[8:11], v[12:15]", 0x1020},
		{"s_cbranch_scc1 65528", 0x1028},
		{"s_endpgm", 0x102c},
	}
	var rows []string
	for i, c := range code {
		rows = append(rows, fmt.Sprintf(`[%q, 0, %d, "loop.hip:7", 1, %d, 6, 100, 40, 3]`, c.isa, i+1, c.addr))
	}
	files := map[string]string{
		"code.json":      `{"code": [` + strings.Join(rows, ", ") + `], "header": "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle", "version": "3.0.0"}`,
		"occupancy.json": `{"0": [[100, 1, 0, 0, 1, 1], [2000, 1, 0, 0, 0, 1]], "dispatches": {"1": "loop"}, "version": "3.0.0"}`,
	}
	index := []string{}
	for simd := range 2 {
		at, insts := 100+4*simd, []string{}
		add := func(line, typ, stall, issue int) {
			insts = append(insts, fmt.Sprintf("[%d, %d, %d, %d, %d]", at, typ, stall, stall+issue, line))
			at += stall + issue
		}
		add(2, 1, 0, 4)
		add(3, 9, 200, 4)
		for turn := range 3 {
			add(4, 3, 0, 4)
			add(5, 5, 8, 4)
			add(6, 9, 500, 4)
			add(7, 6, 0, 16)
			if turn < 2 {
				add(8, 7, 0, 4)
			} else {
				add(8, 8, 0, 4)
			}
		}
		add(9, 11, 12, 4)
		name := fmt.Sprintf("se0_sm%d_sl0_wv0.json", simd)
		files[name] = fmt.Sprintf(`{"name": "loop", "duration": %d, "num_insts": %d, "num_stitched": %d, "wave": {"begin": %d, "end": %d, "cu": 1, "simd": %d, "slot": 0, "id": %d,
			"instructions": [%s], "timeline": [[1, 10], [2, 200], [3, 1500], [4, 44]], "waitcnt": [[6, [[4, 1], [5, 1]]]]}}`,
			at-100, len(insts), len(insts), 100+4*simd, at, simd, simd, strings.Join(insts, ", "))
		index = append(index, fmt.Sprintf(`"%d": {"0": {"0": [%q, 100, %d]}}`, simd, name, at))
	}
	files["filenames.json"] = `{"wave_filenames": {"0": {` + strings.Join(index, ", ") + `}}, "gfxv": "gfx950"}`
	if change != nil {
		change(files)
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImportATT(t *testing.T) {
	out := filepath.Join(t.TempDir(), "hw.trace")
	var b bytes.Buffer
	o := ATTOptions{ImportOptions: ImportOptions{Out: out, Set: oneDie, Format: "json"}}
	if err := ImportATT(&b, attFolder(t, nil), o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kernel": "_Z4loopPf"`, `"cpu": "gfx950"`, `"waves": 2`, `"instructions": 36`, "default locality", "global_load_dwordx4 at pc 0xc"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the summary lacks %s: %s", want, &b)
		}
	}
	tr, err := openTrace(out, false)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if n, err := tr.Check(); n != 2 || err != nil {
		t.Fatalf("%d waves, %v", n, err)
	}
	parts, err := tr.Wave(0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := parts[0]
	if len(w.Jumps) != 1 || w.Jumps[0] != (trace.Jump{Count: 2, From: 6, To: 2}) || tr.Program(0)[6].Target != 2 {
		t.Errorf("jumps %v, target %d", w.Jumps, tr.Program(0)[6].Target)
	}
	if len(w.Issues) != 18 || w.Issues[1] != (trace.Issue{Cycle: 108, Stall: 200, Duration: 204}) {
		t.Errorf("%d issue times, second %+v", len(w.Issues), w.Issues[1])
	}
	r := mustReplay(t, ReplayOptions{File: out})
	if r.WaveInstructions != 36 || r.Replay.Origin != "att" || !strings.Contains(strings.Join(r.Notes, "\n"), "default locality") {
		t.Errorf("%d instructions, %+v, notes %q", r.WaveInstructions, r.Replay, r.Notes)
	}
	compareATT(t, out)
}

// compareATT: gaps, totals and states are those of the folder.
func compareATT(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	if err := CompareTrace(&b, CompareOptions{ReplayOptions: ReplayOptions{File: path}, Format: "json"}); err != nil {
		t.Fatal(err)
	}
	var c TraceComparison
	if err := json.Unmarshal(b.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Waves) != 2 || c.Total.Instructions != 36 {
		t.Fatalf("%+v", c.Total)
	}
	// The loop's body takes 4 + 12 + 504 + 16 + 4 cycles, three times; before it
	// are 208, and the s_endpgm is held for 12.
	if hw := c.Waves[0].HardwareCycles; hw != 208+3*540+12 {
		t.Errorf("hardware takes %d cycles", hw)
	}
	if s := c.Waves[1].States; s == nil || *s != (States{10, 200, 1500, 44}) {
		t.Errorf("states %+v", s)
	}
	if c.Waves[0].ModelCycles <= 0 || c.Waves[0].PartsAt < 0 {
		t.Errorf("wave 0: %+v", c.Waves[0])
	}
	byPC := map[uint32]IssueCompare{}
	for _, i := range c.Instructions {
		byPC[i.PC] = i
	}
	if i := byPC[0x20]; i.Hits != 6 || i.HardwareGap != 4 || !strings.HasPrefix(i.Text, "v_mfma") {
		t.Errorf("the matrix instruction: %+v", i)
	}
	if i := byPC[0x1c]; i.HardwareGap != 504 || i.HardwareHeld != 500 {
		t.Errorf("the wait: %+v", i)
	}
	b.Reset()
	if err := CompareTrace(&b, CompareOptions{ReplayOptions: ReplayOptions{File: path}, Top: 2, Format: "table"}); err != nil || strings.Count(b.String(), "s_waitcnt") != 2 {
		t.Errorf("%v\n%s", err, &b)
	}
}

func TestImportATTErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		want   string
	}{
		{"no code", func(f map[string]string) { f["code.json"] = `{"code": null}` }, "holds no code"},
		{"no code file", func(f map[string]string) { delete(f, "code.json") }, "code.json is missing"},
		{"a wave is missing", func(f map[string]string) { delete(f, "se0_sm1_sl0_wv0.json") }, "se0_sm1_sl0_wv0.json is missing"},
		{"no wave", func(f map[string]string) {
			f["filenames.json"] = `{"gfxv": "gfx950"}`
			delete(f, "se0_sm0_sl0_wv0.json")
			delete(f, "se0_sm1_sl0_wv0.json")
		}, "has no wave"},
		{"no processor", func(f map[string]string) {
			f["filenames.json"] = strings.Replace(f["filenames.json"], "gfx950", "vega", 1)
		}, "--cpu"},
		{"another processor", func(f map[string]string) {
			f["filenames.json"] = strings.Replace(f["filenames.json"], "gfx950", "gfx90a", 1)
		}, "gfx90a"},
		{"cut off", func(f map[string]string) {
			f["se0_sm0_sl0_wv0.json"] = f["se0_sm0_sl0_wv0.json"][:200]
		}, "se0_sm0_sl0_wv0.json"},
		{"a short row", func(f map[string]string) {
			f["code.json"] = `{"code": [["s_nop 0", 0, 1]]}`
		}, "3 fields instead of 10"},
		{"an unknown mnemonic", func(f map[string]string) {
			f["code.json"] = strings.Replace(f["code.json"], "s_endpgm", "s_stop", 1)
		}, `line 9: isa: gfx950: "s_stop": unknown mnemonic "s_stop"`},
		{"a wrong type", func(f map[string]string) {
			f["se0_sm0_sl0_wv0.json"] = strings.Replace(f["se0_sm0_sl0_wv0.json"], "[100, 1,", "[100, 5,", 1)
		}, "has type 5"},
		{"an unknown type", func(f map[string]string) {
			f["se0_sm0_sl0_wv0.json"] = strings.Replace(f["se0_sm0_sl0_wv0.json"], "[100, 1,", "[100, 77,", 1)
		}, "type 77"},
		{"an unknown line", func(f map[string]string) {
			f["se0_sm0_sl0_wv0.json"] = strings.Replace(f["se0_sm0_sl0_wv0.json"], "[100, 1, 0, 4, 2]", "[100, 1, 0, 4, 99]", 1)
		}, "no line 99"},
		{"a state", func(f map[string]string) {
			f["se0_sm0_sl0_wv0.json"] = strings.Replace(f["se0_sm0_sl0_wv0.json"], "[4, 44]", "[9, 44]", 1)
		}, "timeline[3]"},
	} {
		out := filepath.Join(t.TempDir(), "x.trace")
		err := ImportATT(&bytes.Buffer{}, attFolder(t, c.change), ATTOptions{ImportOptions: ImportOptions{Out: out, Format: "table"}})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a trace is left behind", c.name)
		}
	}
	if err := ImportATT(&bytes.Buffer{}, "nowhere", ATTOptions{ImportOptions: ImportOptions{Format: "table"}}); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Errorf("%v", err)
	}
}

// A folder without filenames.json is taken by the names of its files, and a
// trace whose waves were cut off ends them.
func TestImportATTCutOff(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.trace")
	var b bytes.Buffer
	dir := attFolder(t, func(f map[string]string) {
		delete(f, "filenames.json")
		for _, name := range []string{"se0_sm0_sl0_wv0.json", "se0_sm1_sl0_wv0.json"} {
			text := f[name]
			i := strings.LastIndex(text[:strings.Index(text, `], "timeline"`)], ", [") // the s_endpgm
			end := strings.Index(text, `], "timeline"`)
			f[name] = text[:i] + text[end:]
		}
	})
	if err := ImportATT(&b, dir, ATTOptions{ImportOptions: ImportOptions{Out: out, CPU: "gfx950", Set: oneDie, Format: "table"}, Waves: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"filenames.json is missing", "s_endpgm behind the last", "2 in 2 workgroups", "has 17"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &b)
		}
	}
	if r := mustReplay(t, ReplayOptions{File: out}); r.WaveInstructions != 36 {
		t.Errorf("%d instructions", r.WaveInstructions)
	}
}

// FuzzImportATT hands a code.json and a wave's file to the import: what it takes is
// a sound trace, and what it refuses leaves none.
func FuzzImportATT(f *testing.F) {
	dir := attFolder(f, nil)
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	f.Add(read("code.json"), read("filenames.json"), read("se0_sm0_sl0_wv0.json"), read("occupancy.json"))
	f.Add([]byte(`{"code": [["s_endpgm", 0, 1, null, 1, 4096, 1, 1, 1, 1]]}`), []byte(`{"gfxv": "gfx942"}`), []byte(`{"wave": {"begin": 0, "end": 9, "instructions": [[0, 11, 0, 4, 1]]}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, code, names, wave, occupancy []byte) {
		dir := t.TempDir()
		for name, b := range map[string][]byte{"code.json": code, "filenames.json": names, "se0_sm0_sl0_wv0.json": wave, "se0_sm1_sl0_wv0.json": wave, "occupancy.json": occupancy} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(dir, "x.trace")
		err := ImportATT(io.Discard, dir, ATTOptions{ImportOptions: ImportOptions{Out: out, Format: "table"}})
		if err != nil {
			if _, there := os.Stat(out); there == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "Go ") {
				t.Fatalf("a trace is left behind, or not one sentence: %v", err)
			}
			return
		}
		if err := TraceCheck(io.Discard, out, "", "", false, "table"); err != nil {
			t.Fatal(err)
		}
	})
}

// A recorded stream ends: that it stores nothing for long is no deadlock.
func TestReplayOfLongStream(t *testing.T) {
	tr, _ := importText(t, ".cpu gfx950\n.kernel long\nloop:\n  s_sleep 127\n  s_cbranch_scc1 loop @ taken 3999\n  s_endpgm\n")
	if r := mustReplay(t, ReplayOptions{File: tr.path}); r.Cycles <= xcd.LivelockCycles {
		t.Errorf("%d cycles; the watch for deadlocks looks after %d only", r.Cycles, xcd.LivelockCycles)
	}
}
