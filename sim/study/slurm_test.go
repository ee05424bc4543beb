package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

// The stand-ins for Slurm's commands keep their state in the folder $FAKE: a
// file tasks/JOB_INDEX holds the task's state and reason. sbatch runs the tasks
// at once, but for those that hang, wait or are lost, by their numbers.
const (
	fakeSbatch = `#!/bin/sh
echo "$@" >> $FAKE/sbatch.log
[ -e $FAKE/refuse ] && { echo "sbatch: error: Job violates accounting policy" >&2; exit 1; }
job=$(($(cat $FAKE/jobs) + 1)); echo $job > $FAKE/jobs
for a; do case $a in --output=*) pattern=${a#--output=};; --array=*) last=${a#--array=0-}; last=${last%%%*};; esac; script=$a; done
i=0
while [ $i -le $last ]; do
  if grep -qx $job.$i $FAKE/hang; then echo "RUNNING|9:00:00|None" > $FAKE/tasks/${job}_$i
  elif grep -qx $job.$i $FAKE/wait; then echo "PENDING|0:00|Nodes_required_for_job_are_DOWN" > $FAKE/tasks/${job}_$i
  elif ! grep -qx $job.$i $FAKE/lose; then SLURM_ARRAY_TASK_ID=$i sh "$script" > "$(echo "$pattern" | sed "s/%A/$job/;s/%a/$i/;s/%%/%/g")" 2>&1
  fi
  i=$((i + 1))
done
echo $job
`
	fakeSqueue = `#!/bin/sh
[ -e $FAKE/deaf ] && { echo "squeue: error: Unable to contact slurm controller" >&2; exit 1; }
for f in $FAKE/tasks/*; do
  [ -e "$f" ] || continue
  id=${f##*/}; IFS='|' read state ran reason < $f
  echo "${id%_*}|${id#*_}|$state|$ran|$reason"
done
`
	fakeScancel = `#!/bin/sh
echo "$@" >> $FAKE/scancel.log
rm -f $FAKE/tasks/$1 $FAKE/tasks/$1_*
`
	// The program copies the outcome that the test made.
	fakeProgram = `#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --task) point=$2;; --into) into=$2;; esac; shift; done
cp "$FAKE/outcomes/$point.json" "$into"
`
)

// fakeSlurm puts the stand-ins into the path.
func fakeSlurm(t *testing.T, s *Study) (dir string, c *Slurm) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "it's 100% odd")
	for _, sub := range []string{"bin", "tasks", "outcomes"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	quotedFake := func(text string) string { return strings.ReplaceAll(text, "$FAKE", `"$FAKE"`) }
	write("bin/sbatch", quotedFake(fakeSbatch))
	write("bin/squeue", strings.ReplaceAll(quotedFake(fakeSqueue), "< $f", `< "$f"`))
	write("bin/scancel", quotedFake(fakeScancel))
	write("bin/program", strings.ReplaceAll(fakeProgram, "$FAKE", "$FAKE"))
	write("jobs", "0")
	for _, name := range []string{"hang", "wait", "lose"} {
		write(name, "")
	}
	for p, err := range s.Points() {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(fake(p, int64(100+p.Index)))
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("outcomes/%d.json", p.Index), string(data))
	}
	t.Setenv("FAKE", dir)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	return dir, &Slurm{Program: filepath.Join(dir, "bin", "program"), MaxArray: 5, Retries: 2, Poll: time.Millisecond, TaskTimeout: time.Hour, Partition: "p", Mem: "1G", Time: "10"}
}

const twelve = "kernel: gemm\nfixed: {size: 256}\naxes: {seed: {from: 1, to: 12}}"

func textOf(t *testing.T, path string) string { return string(read(t, path)) }

func TestSlurmStandIn(t *testing.T) {
	s := parse(t, twelve)
	dir, c := fakeSlurm(t, s)
	set := func(name, lines string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set("lose", "1.2\n3.0\n5.1\n") // points 2 and 10, and point 10 again
	set("hang", "2.4\n")           // point 9
	out := filepath.Join(dir, "r.sqlite")
	status, err := Sweep(context.Background(), s, Options{Out: out, Slurm: c})
	if err != nil || status.Done != 12 {
		t.Fatalf("%+v, %v", status, err)
	}
	run := func(_ context.Context, s *Study, p Point) (results.Record, error) {
		return fake(p, int64(100+p.Index)), nil
	}
	if !bytes.Equal(read(t, out), sweepAll(t, s, Options{Jobs: 2, Runner: run})) {
		t.Error("the file differs from the local one")
	}
	calls := strings.Split(strings.TrimSpace(textOf(t, filepath.Join(dir, "sbatch.log"))), "\n")
	for i, want := range []string{"--array=0-4 ", "--array=0-4 ", "--array=0-1 "} {
		if !strings.Contains(calls[i], want) || !strings.Contains(calls[i], "--partition=p --time=10 --mem=1G") {
			t.Errorf("call %d: %s", i, calls[i])
		}
	}
	submitted := 0
	for _, call := range calls[3:] {
		var n int
		if _, err := fmt.Sscanf(call[strings.Index(call, "--array="):], "--array=0-%d", &n); err != nil {
			t.Fatal(call)
		}
		submitted += n + 1
	}
	if submitted != 4 {
		t.Errorf("%d tasks were submitted again; 2, 9, 10 and 10 again were missing: %v", submitted, calls)
	}
	if got := textOf(t, filepath.Join(dir, "scancel.log")); got != "2_4\n" {
		t.Errorf("cancelled: %q", got)
	}
}

// A point whose tasks leave nothing, however often, is lost, and the rest is
// there; the next sweep tries it again.
func TestSlurmGivesUp(t *testing.T) {
	s := parse(t, twelve)
	dir, c := fakeSlurm(t, s)
	c.MaxArray = 100
	if err := os.WriteFile(filepath.Join(dir, "bin", "program"), []byte(strings.Replace(fakeProgram, "cp ", `[ "$point" = 3 ] && { echo "out of luck"; exit 1; }; cp `, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "r.sqlite")
	status, err := Sweep(context.Background(), s, Options{Out: out, Slurm: c})
	if err == nil || status.Done != 11 || status.Lost != 1 {
		t.Fatalf("%+v, %v", status, err)
	}
	f, err := results.Open(out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := f.Get(3)
	f.Close()
	if err != nil || !strings.Contains(rec.Message, "in 3 tries: out of luck") {
		t.Errorf("%+v, %v", rec, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "program"), []byte(fakeProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	if status, err = Sweep(context.Background(), s, Options{Out: out, Slurm: c}); err != nil || status.Done != 12 || status.Before != 11 {
		t.Fatalf("%+v, %v", status, err)
	}
}

// A sweep that is interrupted leaves its tasks with Slurm, and the next one
// takes them back instead of submitting them again.
func TestSlurmTakesTasksBack(t *testing.T) {
	s := parse(t, twelve)
	dir, c := fakeSlurm(t, s)
	c.MaxArray, c.TaskTimeout = 100, 0
	if err := os.WriteFile(filepath.Join(dir, "hang"), []byte("1.7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "r.sqlite")
	ctx, stop := context.WithCancel(context.Background())
	_, err := Sweep(ctx, s, Options{Out: out, Slurm: c, Progress: func(st Status) {
		if st.Done == 11 {
			stop()
		}
	}})
	stop()
	if err == nil || !strings.Contains(err.Error(), "scancel 1 ends them") {
		t.Fatal(err)
	}
	go func() { // the task ends
		time.Sleep(50 * time.Millisecond)
		data, _ := os.ReadFile(filepath.Join(dir, "outcomes", "7.json"))
		_ = os.WriteFile(filepath.Join(out+".slurm", "points", "7.json"), data, 0o644)
		_ = os.Remove(filepath.Join(dir, "tasks", "1_7"))
	}()
	status, err := Sweep(context.Background(), s, Options{Out: out, Slurm: c})
	if err != nil || status.Done != 12 || status.Before != 11 {
		t.Fatalf("%+v, %v", status, err)
	}
	if calls := strings.Count(textOf(t, filepath.Join(dir, "sbatch.log")), "\n"); calls != 1 {
		t.Errorf("%d arrays were submitted", calls)
	}
}

func TestSlurmRefuses(t *testing.T) {
	s := parse(t, twelve)
	dir, c := fakeSlurm(t, s)
	touch := func(name, lines string) func() {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		return func() { os.Remove(path) }
	}
	sweep := func(c Slurm) error {
		_, err := Sweep(context.Background(), s, Options{Out: filepath.Join(t.TempDir(), "r.sqlite"), Slurm: &c})
		return err
	}
	undo := touch("refuse", "")
	if err := sweep(*c); err == nil || !strings.Contains(err.Error(), "violates accounting policy") {
		t.Error("a refused array:", err)
	}
	undo()
	touch("wait", "1.0\n1.1\n1.2\n1.3\n1.4\n")
	c.TaskTimeout = 50 * time.Millisecond
	if err := sweep(*c); err == nil || !strings.Contains(err.Error(), "Nodes_required_for_job_are_DOWN") || !strings.Contains(err.Error(), "7 of 12") {
		t.Error("nodes that never return:", err)
	}
	t.Setenv("PATH", t.TempDir())
	err := sweep(*c)
	if _, usage := errors.AsType[*sim.UsageError](err); !usage || !strings.Contains(err.Error(), "sbatch is not found") {
		t.Error("no Slurm:", err)
	}
}

func TestElapsed(t *testing.T) {
	for text, want := range map[string]time.Duration{"0:05": 5 * time.Second, "1:02:03": time.Hour + 2*time.Minute + 3*time.Second,
		"2-00:00:01": 48*time.Hour + time.Second, "INVALID": 0, "": 0} {
		if got := elapsed(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
