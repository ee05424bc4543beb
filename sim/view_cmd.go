package sim

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report/att"
	"github.com/whisker-sim/whisker/report/daisen"
	"github.com/whisker-sim/whisker/report/html"
	"github.com/whisker-sim/whisker/report/konata"
	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/report/perfetto"
	"github.com/whisker-sim/whisker/report/timeline"
)

// Outputs are the files to write of a recording; an empty name writes nothing.
type Outputs struct {
	Record   string            // run file
	HTML     string            // page
	Perfetto string            // Chrome trace events, gzip
	RCV      string            // folder for ROCprof Compute Viewer's
	Konata   string            // log
	Akita    string            // SQLite of Akita's tracer
	Pictures map[string]string // SVG file by drawing
}

// Any reports whether anything is to be written.
func (o *Outputs) Any() bool {
	return o.Record+o.HTML+o.Perfetto+o.RCV+o.Konata+o.Akita != "" || len(o.Pictures) > 0
}

// check refuses, before a run, what could not be written after it.
func (o *Outputs) check(others ...string) error {
	if err := checkPictures(o.Pictures); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, path := range others {
		if st, err := os.Stat(path); path != "" && (err != nil || st.Mode().IsRegular()) {
			seen[absolute(path)] = true
		}
	}
	for _, path := range append([]string{o.Record, o.HTML, o.Perfetto, o.Konata, o.Akita}, slices.Sorted(maps.Values(o.Pictures))...) {
		if path == "" {
			continue
		}
		if err := output.Check(path); err != nil {
			return &UsageError{err}
		}
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
			continue // a device takes any number
		}
		if seen[absolute(path)] {
			return usagef("%s is named for two outputs, of which the second would replace the first", path)
		}
		seen[absolute(path)] = true
	}
	return checkFolder("--rcv", o.RCV)
}

// checkFolder refuses a folder that is a file or would lie below one.
func checkFolder(flag, path string) error {
	if path == "" {
		return nil
	}
	for p := absolute(path); ; p = filepath.Dir(p) {
		st, err := os.Stat(p)
		switch {
		case err == nil && !st.IsDir():
			return usagef("%s is a file; %s takes a directory", p, flag)
		case err == nil || p == filepath.Dir(p):
			return nil
		}
	}
}

// absolute is a path by which two names of one file are the same, links aside.
func absolute(path string) string {
	if p, err := filepath.Abs(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}

// CheckOutputs refuses output files that could not be written, and a name that is
// among the others or given twice.
func CheckOutputs(o Outputs, others ...string) error { return o.check(others...) }

// KeepInputs refuses an output file, or one of the others, that would replace an
// input of the run.
func KeepInputs(o Outputs, others []string, inputs ...string) error {
	paths := append([]string{o.Record, o.HTML, o.Perfetto, o.Konata, o.Akita}, slices.Sorted(maps.Values(o.Pictures))...)
	for _, path := range append(paths, others...) {
		if err := keepInputs(path, inputs...); err != nil {
			return err
		}
	}
	return nil
}

// WriteOutputs writes a recording's files and says so on notices.
func WriteOutputs(r *timeline.Recording, o Outputs, notices io.Writer) error {
	if o.RCV != "" {
		name := att.FolderName(0, 1)
		if err := att.Write(o.RCV, name, att.From(r)); err != nil {
			return err
		}
		fmt.Fprintf(notices, "wrote %s\n", filepath.Join(o.RCV, name))
	}
	for _, f := range []struct {
		path  string
		write func(path string) error
	}{
		{o.Record, func(p string) error { return timeline.WriteFile(p, r) }},
		{o.HTML, to(func(w io.Writer) error { return html.Write(w, r) })},
		{o.Perfetto, to(func(w io.Writer) error { return perfetto.Write(w, r) })},
		{o.Konata, to(func(w io.Writer) error { return konata.Write(w, r) })},
		{o.Akita, func(p string) error { return daisen.Write(p, r) }},
	} {
		if f.path == "" {
			continue
		}
		if err := f.write(f.path); err != nil {
			return err
		}
		wrote(notices, f.path)
	}
	return drawPictures(r, o.Pictures, notices)
}

// to writes a file whole or not at all.
func to(write func(w io.Writer) error) func(path string) error {
	return func(path string) error { return output.Replace(path, write) }
}

func wrote(notices io.Writer, path string) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		fmt.Fprintf(notices, "wrote %s\n", path)
	} else if err == nil {
		size := fmt.Sprintf("%.1f MB", float64(st.Size())/1e6)
		if st.Size() < 1e5 {
			size = fmt.Sprintf("%.0f kB", float64(st.Size())/1e3)
		}
		fmt.Fprintf(notices, "wrote %s (%s)\n", path, size)
	}
}

// ViewOptions says what to make of recorded runs.
type ViewOptions struct {
	Files       []string // one run, or two to compare
	CUs, Cycles string   // window; empty: all that was recorded
	Outputs
}

// keep refuses to replace a run that is viewed by a file of another kind; a cut of
// it may take its place.
func (o *ViewOptions) keep() error {
	for _, path := range append([]string{o.HTML, o.Perfetto, o.Konata, o.Akita}, slices.Sorted(maps.Values(o.Pictures))...) {
		a, err := os.Stat(path)
		if path == "" || err != nil {
			continue
		}
		for _, f := range o.Files {
			if b, err := os.Stat(f); err == nil && os.SameFile(a, b) {
				return usagef("%s is the recorded run itself; give the output another name", path)
			}
		}
	}
	return nil
}

// View writes recorded runs for viewers: a page unless something else is asked
// for.
func View(w io.Writer, o ViewOptions) error {
	if len(o.Files) > html.MaxRuns {
		return usagef("%d runs are given; a page shows one or compares two", len(o.Files))
	}
	var runs []*timeline.Recording
	for _, f := range o.Files {
		r, err := timeline.ReadFile(f)
		if err != nil {
			return &UsageError{err}
		}
		if r, err = cut(r, o.CUs, o.Cycles); err != nil {
			return usagef("%s: %w", f, err)
		}
		runs = append(runs, r)
	}
	if !o.Any() {
		o.HTML = strings.TrimSuffix(o.Files[0], filepath.Ext(o.Files[0])) + ".html"
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := o.keep(); err != nil {
		return err
	}
	if len(runs) == 1 {
		return WriteOutputs(runs[0], o.Outputs, w)
	}
	if other := o.Outputs; (&Outputs{Record: other.Record, Perfetto: other.Perfetto, RCV: other.RCV, Konata: other.Konata, Akita: other.Akita, Pictures: other.Pictures}).Any() {
		return usagef("two runs make a page to compare them; give one run for anything but --html")
	}
	if err := to(func(f io.Writer) error { return html.Write(f, runs...) })(o.HTML); err != nil {
		return err
	}
	wrote(w, o.HTML)
	return nil
}

// cut takes the window's part of a recording, all of it when none is given.
func cut(r *timeline.Recording, cus, cycles string) (*timeline.Recording, error) {
	if cus == "" && cycles == "" {
		return r, nil
	}
	if cus == "" {
		cus = timeline.AllCUs
	}
	w, err := timeline.ParseWindow(cus, cycles)
	if err != nil {
		return nil, err
	}
	return r.Cut(w)
}

// errNoRecording guards against a run that promised a recording and left none.
var errNoRecording = errors.New("the run left no recording, which is a fault of Whisker")

// Outputs writes what a recorded run is to leave.
func (o *RecordOptions) Outputs(out Outputs, notices io.Writer) error {
	if o == nil {
		return nil
	}
	if o.Result == nil {
		return errNoRecording
	}
	return WriteOutputs(o.Result, out, notices)
}
