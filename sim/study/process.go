package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report/results"
)

// Task is one point as another process is asked for it.
type Task struct {
	Study       string // file
	Fingerprint string // that the study must still have
	Point       int
	Threads     int
}

// Run simulates the task's point.
func (t Task) Run() (results.Record, error) {
	s, err := Read(t.Study, true)
	if err != nil {
		return results.Record{}, err
	}
	print, err := s.Fingerprint()
	if err != nil {
		return results.Record{}, err
	}
	if print != t.Fingerprint {
		return results.Record{}, usagef("study %s or a machine file that it names has changed since the sweep began", t.Study)
	}
	p, err := s.Point(t.Point)
	if err != nil {
		return results.Record{}, err
	}
	return s.Simulate(p, t.Threads), nil
}

// Args is the command line of the task, after the program.
func (t Task) Args() []string {
	return []string{"sweep", t.Study, "--task", strconv.Itoa(t.Point), "--fingerprint", t.Fingerprint, "--threads", strconv.Itoa(t.Threads)}
}

// EndWithParent ends this process when the other end of its standard input is
// closed, which happens however the parent ends.
func EndWithParent(stdin io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(1)
	}()
}

// Processes returns a Runner that gives every point a process of its own: one
// that runs out of memory or breaks off takes no other with it.
func Processes(program string, threads int) Runner {
	return func(ctx context.Context, s *Study, p Point) (results.Record, error) {
		print, err := s.Fingerprint()
		if err != nil {
			return results.Record{}, err
		}
		task := Task{Study: s.path, Fingerprint: print, Point: p.Index, Threads: threads}
		cmd := exec.CommandContext(ctx, program, task.Args()...)
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &tail{b: &said}
		alive, err := cmd.StdinPipe()
		if err != nil {
			return results.Record{}, err
		}
		defer alive.Close()
		if err := cmd.Run(); err != nil {
			return results.Record{}, ended(err, said.String())
		}
		return decode(out.Bytes(), p)
	}
}

// decode reads a task's outcome and checks that it is the point's.
func decode(data []byte, p Point) (results.Record, error) {
	var rec results.Record
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, fmt.Errorf("the point's process gave no outcome: %w", err)
	}
	if rec.Point != p.Index || rec.ConfigHash != p.Hash() {
		return rec, errors.New("the outcome is of another point or another version")
	}
	return rec, nil
}

// ended says how a process ended without an outcome.
func ended(err error, said string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 0 {
		return fmt.Errorf("the point's process was ended from outside (%v), perhaps for want of memory", exit)
	}
	if first != "" {
		return fmt.Errorf("the point's process ended without an outcome: %s", first)
	}
	return fmt.Errorf("the point's process ended without an outcome: %w", err)
}

// tail keeps the beginning of what a process says, and reads the rest away.
type tail struct{ b *bytes.Buffer }

const mostSaid = 4096

func (t *tail) Write(p []byte) (int, error) {
	if room := mostSaid - t.b.Len(); room > 0 {
		t.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// WriteFile runs the task and leaves its outcome in a file that appears only
// whole.
func (t Task) WriteFile(path string) error {
	rec, err := t.Run()
	if err != nil {
		return err
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	tmp := path + ".part" + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, path)
}
