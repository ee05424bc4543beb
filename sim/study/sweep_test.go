package study

import (
	"bytes"
	"context"
	"errors"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

// small is a study of eight points that simulate in a moment each; two of them
// cannot be run.
const small = `
kernel: gemm
fixed: {size: 256, chip.xcds: 1, chip.iods: 1, chip.cus_per_xcd: 4}
axes:
  lds.bytes: [163840, 262144]
  schedule: [pingpong8, interleave4]
  tile: [256x256, 128x256]
`

func parse(t *testing.T, text string) *Study {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sweepAll runs a study without interruption and returns the file's bytes.
func sweepAll(t *testing.T, s *Study, o Options) []byte {
	t.Helper()
	o.Out = filepath.Join(t.TempDir(), "all.sqlite")
	if _, err := Sweep(context.Background(), s, o); err != nil && !strings.Contains(err.Error(), "points failed") {
		t.Fatal(err)
	}
	return read(t, o.Out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A sweep that is stopped again and again after a random number of points ends
// with the same bytes as one that was not, and runs no point twice.
func TestInterruptedSweepGivesTheSameBytes(t *testing.T) {
	s := parse(t, small)
	want := sweepAll(t, s, Options{Jobs: 1, Runner: oddFails})
	r := rand.New(rand.NewSource(8))
	out := filepath.Join(t.TempDir(), "r.sqlite")
	var ran atomic.Int32
	for stops := 0; ; stops++ {
		ctx, stop := context.WithCancel(context.Background())
		after := int32(1 + r.Intn(3))
		if stops == 3 {
			after = 100
		}
		var now atomic.Int32
		o := Options{Out: out, Jobs: 2, Runner: func(ctx context.Context, s *Study, p Point) (results.Record, error) {
			ran.Add(1)
			return oddFails(ctx, s, p)
		}, Progress: func(st Status) {
			if st.Finished() > st.Before && now.Add(1) == after {
				stop()
			}
		}}
		status, err := Sweep(ctx, s, o)
		stop()
		if status.Finished() == status.Points {
			if stops < 2 {
				t.Fatalf("stopped only %d times", stops)
			}
			break
		}
		if err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Fatal(status, err)
		}
	}
	if n := ran.Load(); n < 8 || n > 8+3*2 {
		t.Errorf("%d runs of 8 points: more than what was under way at the three stops", n)
	}
	if got := read(t, out); !bytes.Equal(got, want) {
		t.Errorf("the interrupted sweep's file differs: %d and %d bytes", len(got), len(want))
	}
	if _, err := os.Stat(out + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the lock file is left")
	}
}

// oddFails makes outcomes in no time: points with an odd number fail.
func oddFails(_ context.Context, _ *Study, p Point) (results.Record, error) {
	if p.Index%2 == 1 {
		rec := p.record()
		rec.Status, rec.Message = results.Failed, "odd"
		return rec, nil
	}
	return fake(p, int64(1000+p.Index)), nil
}

// The outcome of a failed point is its message, and the others are run.
func TestFailedPoint(t *testing.T) {
	s := parse(t, strings.Replace(small, "[163840, 262144]", "[163840]", 1))
	out := filepath.Join(t.TempDir(), "r.sqlite")
	status, err := Sweep(context.Background(), s, Options{Out: out, Jobs: 2})
	if err == nil || status.Failed == 0 || status.Done == 0 || status.Finished() != 4 {
		t.Fatalf("%+v, %v", status, err)
	}
	f, err := results.Open(out, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := f.Get(1)
	if err != nil || rec.Status != results.Failed || !strings.Contains(rec.Message, "128x256") {
		t.Errorf("point 1: %+v, %v", rec, err)
	}
	if rec, err = f.Get(0); err != nil || rec.Status != results.Done {
		t.Fatalf("point 0: %v", err)
	}
	run, err := rec.GetRun()
	if err != nil || run.CheckSums() != nil || len(run.Instructions) == 0 || run.Machine.Resolved == nil || run.Version != sim.Version {
		t.Errorf("point 0's run is not whole: %v", err)
	}
	// Run again, nothing is to be done and the file stays as it is.
	before := read(t, out)
	status, err = Sweep(context.Background(), s, Options{Out: out, Runner: func(context.Context, *Study, Point) (results.Record, error) {
		t.Error("a finished point was run again")
		return results.Record{}, errors.New("no")
	}})
	if err == nil || status.Before != 4 || !bytes.Equal(before, read(t, out)) {
		t.Errorf("second sweep: %+v, %v", status, err)
	}
}

// A point whose process gives no answer is tried again by the next sweep.
func TestLostPoint(t *testing.T) {
	s := parse(t, strings.ReplaceAll(small, ", 128x256", ""))
	out := filepath.Join(t.TempDir(), "r.sqlite")
	broken := true
	run := func(_ context.Context, s *Study, p Point) (results.Record, error) {
		if p.Index == 2 && broken {
			return results.Record{}, errors.New("killed")
		}
		return fake(p, int64(1000+p.Index)), nil
	}
	status, err := Sweep(context.Background(), s, Options{Out: out, Jobs: 3, Runner: run})
	if err == nil || status.Lost != 1 || status.Done != 3 {
		t.Fatalf("%+v, %v", status, err)
	}
	broken = false
	if status, err = Sweep(context.Background(), s, Options{Out: out, Jobs: 1, Runner: run}); err != nil || status.Done != 4 || status.Before != 3 {
		t.Fatalf("%+v, %v", status, err)
	}
	if !bytes.Equal(read(t, out), sweepAll(t, s, Options{Jobs: 2, Runner: run})) {
		t.Error("the file tells that a point was lost")
	}
}

// fake is the outcome of a point that was not simulated.
func fake(p Point, cycles int64) results.Record {
	rec := p.record()
	run := &report.Run{Version: sim.Version, Kernel: rec.Kernel, Arch: rec.Machine, Cycles: cycles, Seed: 1, Machine: report.Machine{Name: rec.Machine, Hash: "h",
		Resolved: report.Tree{"lds": report.Tree{"bytes": 65536}}}}
	if err := rec.SetRun(run); err != nil {
		panic(err)
	}
	return rec
}

// A full disk loses no finished point, and says how to go on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small file system can be made here: %s", out)
	}
	defer exec.Command("umount", dir).Run()
	s := parse(t, "kernel: gemm\nfixed: {size: 256}\naxes: {seed: {from: 1, to: 40}}")
	run := func(_ context.Context, s *Study, p Point) (results.Record, error) {
		return fake(p, int64(p.Index)), nil
	}
	o := Options{Out: filepath.Join(dir, "r.sqlite"), Jobs: 2, Runner: run}
	status, err := Sweep(context.Background(), s, o)
	if err == nil || !strings.Contains(err.Error(), "no room") || status.Done == 0 || status.Done == 40 {
		t.Fatalf("%+v, %v", status, err)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=8m", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	again, err := Sweep(context.Background(), s, o)
	if err != nil || again.Before != status.Done || again.Done != 40 {
		t.Fatalf("%+v after %+v, %v", again, status, err)
	}
	if !bytes.Equal(read(t, o.Out), sweepAll(t, s, Options{Jobs: 4, Runner: run})) {
		t.Error("the file tells that the disk was full")
	}
}

// Two sweeps into one file: the second is refused.
func TestTwoSweepsAtOnce(t *testing.T) {
	s := parse(t, "kernel: gemm\nfixed: {size: 256}\naxes: {seed: [1, 2]}")
	out := filepath.Join(t.TempDir(), "r.sqlite")
	var second error
	run := func(_ context.Context, s *Study, p Point) (results.Record, error) {
		if p.Index == 0 {
			_, second = Sweep(context.Background(), s, Options{Out: out})
		}
		return fake(p, 1), nil
	}
	if _, err := Sweep(context.Background(), s, Options{Out: out, Jobs: 1, Runner: run}); err != nil {
		t.Fatal(err)
	}
	if second == nil || !strings.Contains(second.Error(), "another sweep") {
		t.Errorf("the second sweep: %v", second)
	}
}

// Results of another study, another version, or that are none, are refused.
func TestOtherResults(t *testing.T) {
	s := parse(t, "kernel: gemm\nfixed: {size: 256}\naxes: {seed: [1, 2]}")
	other := parse(t, "kernel: gemm\nfixed: {size: 256}\naxes: {seed: [1, 3]}")
	run := func(_ context.Context, s *Study, p Point) (results.Record, error) { return fake(p, 1), nil }
	dir := t.TempDir()
	of := func(name string) Options { return Options{Out: filepath.Join(dir, name), Runner: run} }
	if _, err := Sweep(context.Background(), other, of("other")); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(context.Background(), s, of("version")); err != nil {
		t.Fatal(err)
	}
	data := read(t, filepath.Join(dir, "version"))
	data[63] = 9 // the last byte of user_version in SQLite's header
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("version", data)
	write("text", []byte("hello"))
	write("empty", nil)
	cut := read(t, filepath.Join(dir, "other"))
	write("cut", cut[:5000])
	for name, want := range map[string]string{
		"other": "another study", "version": "schema version 9", "text": "not a SQLite database", "empty": "not a SQLite database",
		"cut": "cut", "no/such/folder": "cannot be written",
	} {
		_, err := Sweep(context.Background(), s, of(name))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
			continue
		}
		if _, usage := errors.AsType[*sim.UsageError](err); !usage {
			t.Errorf("%s: %v is no usage error", name, err)
		}
	}
}
