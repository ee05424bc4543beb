package device

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxProblems is how many problems of a file are listed; the rest are counted.
const maxProblems = 8

// ingester reads files into a Measurement.
type ingester struct {
	m     *Measurement
	files int
	read  int // files that were of use
}

func (g *ingester) nextFile() int { g.files++; return g.files }

// problem lists a row's problem, or counts it when the file has had enough; nth
// counts from 1.
func (g *ingester) problem(file string, line, nth int64, text string) {
	if nth > maxProblems {
		last := len(g.m.Problems) - 1
		for last >= 0 && g.m.Problems[last].File != file {
			last--
		}
		g.m.Problems[last].More++
		return
	}
	g.m.Problems = append(g.m.Problems, Problem{File: file, Line: line, Text: text})
}

// whole notes a problem of a whole file.
func (g *ingester) whole(file, format string, args ...any) {
	g.m.Problems = append(g.m.Problems, Problem{File: file, Text: fmt.Sprintf(format, args...)})
}

// Ingest reads a file or all files below a folder that a profiler, or the host
// program of an export, wrote. Rows that were not understood are in Problems; the
// error is for a path that has nothing of use.
func Ingest(path string) (*Measurement, error) {
	g := &ingester{m: &Measurement{byName: map[string]*Kernel{}}}
	st, err := os.Stat(path)
	if err != nil {
		return nil, badInput("%s: %w", path, cause(err))
	}
	var tried int
	if !st.IsDir() {
		tried = 1
		if err := g.file(path); err != nil {
			return nil, badInput("%s: %w", path, err)
		}
	} else if err := g.folder(path, &tried); err != nil {
		return nil, err
	}
	g.m.finish()
	g.lost()
	g.oneTraceEach()
	if g.read == 0 {
		if len(g.m.Problems) > 0 {
			return nil, badInput("%s: nothing could be read; the first problem: %s", path, g.m.Problems[0])
		}
		return nil, badInput("%s: there is no file that a profiler wrote among %d: no CSV, no rocpd database, no thread trace, no timing.json", path, tried)
	}
	return g.m, nil
}

// folder reads what is below a folder. A file that cannot be read is a problem, and
// the others are read all the same.
func (g *ingester) folder(dir string, tried *int) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return badInput("%s: %w", path, cause(err))
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "code.json")); err == nil {
				*tried++
				if err := g.thread(path); err != nil {
					g.whole(path, "%v", err)
				}
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !readable(path) {
			return nil
		}
		*tried++
		if err := g.file(path); err != nil {
			g.whole(path, "%v", err)
		}
		return nil
	})
}

// readable reports whether a file's name says that a profiler may have written it.
func readable(path string) bool {
	name := filepath.Base(path)
	return slices.Contains([]string{".csv", ".db", ".rocpd", ".sqlite"}, strings.ToLower(filepath.Ext(name))) || name == timingFile
}

// timingFile is where run.sh puts what the host program prints.
const timingFile = "timing.json"

var sqliteMagic = []byte("SQLite format 3\x00")

// file reads one file by what it holds.
func (g *ingester) file(path string) error {
	if filepath.Base(path) == "code.json" {
		return g.thread(filepath.Dir(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return cause(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return cause(err)
	}
	trimmed := bytes.TrimSpace(head[:n])
	switch {
	case bytes.Equal(head, sqliteMagic):
		err = g.rocpd(path)
	case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '['):
		err = g.timing(path, f)
	default:
		err = g.ingestCSV(path, f)
	}
	if err == nil {
		g.read++
	}
	return err
}

// timing reads what the host program printed.
func (g *ingester) timing(path string, in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, 64<<20))
	if err != nil {
		return cause(err)
	}
	t := new(Timing)
	if err := json.Unmarshal(data, t); err != nil {
		return fmt.Errorf("it is no JSON object that the host program printed: %w", err)
	}
	if t.Kernel == "" || t.Device.Arch == "" {
		return errors.New("it is JSON, but not what the host program of an export prints")
	}
	g.m.Timing = append(g.m.Timing, t)
	g.m.Sources = append(g.m.Sources, Source{File: path, Kind: "host program", Rows: 1, Understood: 1})
	return nil
}

// oneTraceEach drops the table of statistics of a thread trace whose folder was
// read: it holds the same sums.
func (g *ingester) oneTraceEach() {
	g.m.Traces = slices.DeleteFunc(g.m.Traces, func(t *CodeTrace) bool {
		name, stats := strings.CutPrefix(strings.TrimSuffix(filepath.Base(t.Folder), ".csv"), "stats_")
		return stats && slices.ContainsFunc(g.m.Traces, func(o *CodeTrace) bool { return o.Folder == filepath.Join(filepath.Dir(t.Folder), name) })
	})
}

// lost looks for records that are missing: all of a file, or counters of a pass that were not there
// for every dispatch.
func (g *ingester) lost() {
	for _, s := range g.m.Sources {
		if s.Rows == 0 {
			g.m.Notes = append(g.m.Notes, s.File+": there is no dispatch in it: the profiler saw no kernel, or was filtered to one that did not run")
		}
	}
	for _, k := range g.m.Kernels {
		byFile := map[int][2]int64{} // least and most values of a counter
		for _, c := range k.Counters {
			r, seen := byFile[c.file]
			if !seen {
				r = [2]int64{c.N, c.N}
			}
			byFile[c.file] = [2]int64{min(r[0], c.N), max(r[1], c.N)}
		}
		for _, c := range k.Counters {
			if r := byFile[c.file]; c.N < r[1] {
				g.m.Notes = append(g.m.Notes, fmt.Sprintf("%s: %s has values for %d of %d dispatches: the other records were lost", k.Name, c.Name, c.N, r[1]))
			}
		}
	}
}
