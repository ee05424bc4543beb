package att

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// formatVersion is the version that folders carry.
const formatVersion = "3.0.0"

// codeHeader names the columns of code.json.
const codeHeader = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"

// FolderName is the name of the folder of a dispatch.
func FolderName(agent, dispatch int) string {
	return fmt.Sprintf("ui_output_agent_%d_dispatch_%d", agent, dispatch)
}

// Write writes the folder below dir, with the table of instructions beside it.
// It takes its name when all files are written; a folder that an earlier call
// left there is replaced, anything else is refused.
func Write(dir, name string, f *Folder) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	final := filepath.Join(dir, name)
	if _, err := os.Stat(final); err == nil {
		if _, err := os.Stat(filepath.Join(final, "filenames.json")); err != nil {
			return fmt.Errorf("%s exists and is not a thread trace: remove it, or choose another folder", final)
		}
	}
	tmp, err := os.MkdirTemp(dir, ".ui_output-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	for file, v := range f.files() {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, file), b, 0o644); err != nil {
			return err
		}
	}
	if err := f.writeStats(filepath.Join(tmp, "stats.csv")); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(tmp, "stats.csv"), filepath.Join(dir, "stats_"+name+".csv")); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return os.Rename(tmp, final)
}

// files gives every JSON file of the folder.
func (f *Folder) files() map[string]any {
	out := map[string]any{
		"code.json":      map[string]any{"code": f.codeRows(), "header": codeHeader, "version": formatVersion},
		"filenames.json": f.fileNames(),
		"occupancy.json": f.occupancy(),
	}
	for i := range f.States {
		s := &f.States[i]
		out[fmt.Sprintf("wstates%d.json", i+1)] = map[string]any{"name": s.Name, "state": list(s.Counts), "time": list(s.Times)}
	}
	for i := range f.Waves {
		out[f.Waves[i].File] = f.Waves[i].value()
	}
	return out
}

// list is a slice that is never null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (f *Folder) codeRows() [][]any {
	rows := make([][]any, 0, len(f.Code))
	for _, c := range f.Code {
		rows = append(rows, []any{c.ISA, 0, c.Line, c.Source, c.CodeObject, c.Address, c.Hit, c.Latency, c.Stall, c.Idle})
	}
	return rows
}

// fileNames is the index: SE, SIMD, slot, wave.
func (f *Folder) fileNames() map[string]any {
	type level = map[string]any
	down := func(m level, key int) level {
		k := strconv.Itoa(key)
		if _, ok := m[k]; !ok {
			m[k] = level{}
		}
		return m[k].(level)
	}
	top := level{}
	first := int64(0)
	for i, w := range f.Waves {
		down(down(down(top, w.SE), w.SIMD), w.Slot)[strconv.Itoa(w.Index)] = []any{w.File, w.Begin, w.End}
		if i == 0 || w.Begin < first {
			first = w.Begin
		}
	}
	return level{"wave_filenames": top, "gfxv": "vega", "gfxip": 9, "gfx": f.GFX, "counter_filenames": level{}, "global_begin_time": first, "version": formatVersion}
}

func (f *Folder) occupancy() map[string]any {
	out := map[string]any{"dispatches": f.Dispatches, "version": formatVersion}
	for se, events := range f.Occupancy {
		rows := [][]int64{}
		for _, e := range events {
			start := int64(0)
			if e.Start {
				start = 1
			}
			rows = append(rows, []int64{e.Time, int64(e.CU), int64(e.SIMD), int64(e.Slot), start, int64(e.Kernel)})
		}
		out[strconv.Itoa(se)] = rows
	}
	return out
}

func (w *Wave) value() map[string]any {
	insts := make([][]int64, 0, len(w.Insts))
	for _, i := range w.Insts {
		insts = append(insts, []int64{i.Time, i.Type, i.Stall, i.Duration, int64(i.Line)})
	}
	spans := make([][]int64, 0, len(w.Timeline))
	for _, s := range w.Timeline {
		spans = append(spans, []int64{s.State, s.Length})
	}
	waits := make([]any, 0, len(w.Waits))
	for _, x := range w.Waits {
		waits = append(waits, []any{x.Line, list(x.Sources)})
	}
	return map[string]any{
		"name": w.File, "duration": w.End - w.Begin, "num_insts": len(w.Insts), "num_stitched": len(w.Insts),
		"wave": map[string]any{"begin": w.Begin, "end": w.End, "cu": w.CU, "simd": w.SIMD, "slot": w.Slot, "id": w.ID,
			"instructions": insts, "timeline": spans, "waitcnt": waits},
	}
}

// writeStats writes the table of instructions that goes beside the folder.
func (f *Folder) writeStats(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.Stats(file); err != nil {
		return err
	}
	return file.Close()
}

// Stats writes the table of instructions as CSV.
func (f *Folder) Stats(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source"}}
	for _, r := range f.Code {
		n := func(v int64) string { return strconv.FormatInt(v, 10) }
		rows = append(rows, []string{strconv.Itoa(r.CodeObject), n(r.Address), r.ISA, n(r.Hit), n(r.Latency), n(r.Stall), n(r.Idle), r.Source})
	}
	return c.WriteAll(rows)
}

// sortWaves orders waves as the index does and gives each its name.
func (f *Folder) sortWaves() {
	slices.SortStableFunc(f.Waves, func(a, b Wave) int {
		for _, d := range [...]int64{int64(a.SE - b.SE), int64(a.SIMD - b.SIMD), int64(a.Slot - b.Slot), a.Begin - b.Begin, int64(a.CU - b.CU)} {
			if d != 0 {
				return int(max(-1, min(1, d)))
			}
		}
		return 0
	})
	for i := range f.Waves {
		w := &f.Waves[i]
		w.Index = 0
		if i > 0 {
			if p := &f.Waves[i-1]; p.SE == w.SE && p.SIMD == w.SIMD && p.Slot == w.Slot {
				w.Index = p.Index + 1
			}
		}
		w.File = fmt.Sprintf("se%d_sm%d_sl%d_wv%d.json", w.SE, w.SIMD, w.Slot, w.Index)
	}
}
