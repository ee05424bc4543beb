package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// complete fills defaults in and refuses a computer without Slurm.
func (c *Slurm) complete() error {
	for _, tool := range []string{"sbatch", "squeue", "scancel"} {
		if _, err := exec.LookPath(tool); err != nil {
			return usagef("--slurm needs Slurm's commands, and %s is not found: run this where sbatch, squeue and scancel are installed (Debian: slurm-client), or leave --slurm out to run the points here", tool)
		}
	}
	if c.Poll == 0 {
		c.Poll = 2 * time.Second
	}
	c.MaxArray = max(1, min(c.MaxArray, mostTasks()))
	return nil
}

// mostTasks is the largest array that the cluster takes; a large number where it
// does not say.
func mostTasks() int {
	const any = 1 << 20
	out, err := slurmCommand(context.Background(), "scontrol", "show", "config") // which ends where no controller answers
	if err != nil {
		return any
	}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "MaxArraySize" {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > 1 {
				return n - 1
			}
		}
	}
	return any
}

// submit submits an array, one task a point.
func (f *flight) submit(ctx context.Context, points []int) error {
	f.arrays++
	base := filepath.Join(f.dir, fmt.Sprintf("array-%d-%d", os.Getpid(), f.arrays))
	var list strings.Builder
	for _, p := range points {
		fmt.Fprintln(&list, p)
	}
	script, err := f.script(base + ".txt")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{base + ".txt": list.String(), base + ".sh": script} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			return err
		}
	}
	array := fmt.Sprintf("0-%d", len(points)-1)
	if f.c.AtOnce > 0 {
		array += fmt.Sprintf("%%%d", f.c.AtOnce)
	}
	args := []string{"--parsable", "--no-requeue", "--array=" + array, "--job-name=whisker-" + f.s.Name, "--output=" + escape(f.dir) + "/log/%A-%a.txt",
		fmt.Sprintf("--cpus-per-task=%d", max(1, f.c.Threads))}
	for _, pass := range []struct{ flag, value string }{{"--partition=", f.c.Partition}, {"--time=", f.c.Time}, {"--mem=", f.c.Mem}} {
		if pass.value != "" {
			args = append(args, pass.flag+pass.value)
		}
	}
	out, err := slurmCommand(ctx, "sbatch", append(args, base+".sh")...)
	if err != nil {
		return fmt.Errorf("slurm: %w", err)
	}
	job, _, _ := strings.Cut(strings.TrimSpace(out), ";") // job;cluster
	if _, err := strconv.Atoi(job); err != nil {
		return fmt.Errorf("slurm: sbatch answered %q, which is no job number", strings.TrimSpace(out))
	}
	for i, p := range points {
		f.tasks[task{job, i}] = p
		f.tries[p]++
	}
	f.stuck = time.Time{}
	return os.WriteFile(base+".job", []byte(job+"\n"), 0o644)
}

// escape keeps sbatch from reading a percent sign in a path as a pattern.
func escape(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// script is what a task runs: its point is the line of the list that its number
// names.
func (f *flight) script(list string) (string, error) {
	study, err := filepath.Abs(f.s.path)
	if err != nil {
		return "", err
	}
	print, err := f.s.Fingerprint()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`#!/bin/sh
point=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" %s)
exec %s sweep %s --task "$point" --fingerprint %s --threads %d --into %s/points/"$point".json
`, quoted(list), quoted(f.c.Program), quoted(study), print, max(1, f.c.Threads), quoted(f.dir)), nil
}

// quoted quotes a word for the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// slurmCommand runs one of Slurm's commands; an error is what it said.
func slurmCommand(ctx context.Context, name string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if text := oneLine(said.String()); text != "" {
			return "", fmt.Errorf("%s: %s", name, strings.TrimPrefix(text, name+": "))
		}
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return out.String(), nil
}

// adopt takes tasks back that an earlier sweep into the same file submitted and
// that are still there.
func (f *flight) adopt(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(globbed(f.dir), "array-*.job"))
	if err != nil {
		return err
	}
	for _, name := range files {
		id, err1 := os.ReadFile(name)
		list, err2 := os.ReadFile(strings.TrimSuffix(name, ".job") + ".txt")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for i, line := range strings.Fields(string(list)) {
			p, err := strconv.Atoi(line)
			if _, wanted := f.wanted[p]; err == nil && wanted {
				f.tasks[task{strings.TrimSpace(string(id)), i}] = p
			}
		}
	}
	if len(f.tasks) == 0 {
		return nil
	}
	queue, err := f.queue(ctx)
	if err != nil {
		return err
	}
	for t := range f.tasks {
		if _, there := queue[t]; !there {
			delete(f.tasks, t)
		}
	}
	return nil
}

// globbed escapes what a pattern would read in a path.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// entry is a task as squeue shows it.
type entry struct {
	state  string
	ran    time.Duration
	reason string
}

// queue asks which tasks are there.
func (f *flight) queue(ctx context.Context) (map[task]entry, error) {
	out, err := slurmCommand(ctx, "squeue", "--noheader", "--array", "--jobs="+strings.Join(f.jobs(), ","), "--format=%F|%K|%T|%M|%r")
	if err != nil {
		if strings.Contains(err.Error(), "Invalid job id") {
			return map[task]entry{}, nil // all have ended, some time ago
		}
		return nil, err
	}
	queue := map[task]entry{}
	for line := range strings.Lines(out) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		if len(parts) != 5 {
			continue
		}
		if i, err := strconv.Atoi(parts[1]); err == nil {
			queue[task{parts[0], i}] = entry{parts[2], elapsed(parts[3]), parts[4]}
		}
	}
	return queue, nil
}

// elapsed reads Slurm's [days-][hours:]minutes:seconds.
func elapsed(text string) time.Duration {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	var seconds int
	for part := range strings.SplitSeq(clock, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0
		}
		seconds = 60*seconds + n
	}
	d, err := strconv.Atoi(days)
	if err != nil {
		return 0
	}
	return time.Duration(d)*24*time.Hour + time.Duration(seconds)*time.Second
}

// look finds tasks that have ended without an outcome, ends those that have run
// for too long, and gives up on tasks that Slurm cannot run.
func (f *flight) look(ctx context.Context) error {
	if len(f.tasks) == 0 {
		return nil
	}
	queue, err := f.queue(ctx)
	if err != nil {
		if ctx.Err() == nil && time.Since(f.answered) > silence {
			return fmt.Errorf("slurm does not answer: %w; %d of %d points are safe in %s", err, f.status.Finished(), f.status.Points, f.o.Out)
		}
		return nil // asked again soon
	}
	f.answered = time.Now()
	running, reasons := 0, map[string]int{}
	for t := range f.tasks {
		e, there := queue[t]
		switch {
		case !there || e.state == "COMPLETING":
			// An outcome may be on its way through the file system: it is missed
			// only the second time.
			if f.absent[t] {
				delete(f.tasks, t)
			}
			f.absent[t] = true
		case e.state == "PENDING":
			reasons[e.reason]++
		case f.c.TaskTimeout > 0 && e.ran > f.c.TaskTimeout:
			f.cancel(ctx, t)
		default:
			running++
		}
	}
	f.status.Note = fmt.Sprintf("%d running, %d queued", running, len(f.tasks)-running)
	return f.hopeless(ctx, running, reasons)
}

// cancel ends a task and forgets it: its point is missing from now on.
func (f *flight) cancel(ctx context.Context, t task) {
	// A controller that does not find the task has ended it already.
	_, _ = slurmCommand(ctx, "scancel", fmt.Sprintf("%s_%d", t.job, t.index))
	delete(f.tasks, t)
}

// patient are the beginnings of reasons for which a task waits its turn.
var patient = []string{"None", "Priority", "Resources", "JobArrayTaskLimit", "Dependency", "BeginTime", "Licenses", "QOS", "Assoc", "Cleaning", "Prolog"}

// hopeless ends a sweep whose tasks wait for something that does not come, such
// as a node that never returns.
func (f *flight) hopeless(ctx context.Context, running int, reasons map[string]int) error {
	why := ""
	for r := range reasons {
		if slices.ContainsFunc(patient, func(p string) bool { return strings.HasPrefix(r, p) }) {
			f.stuck = time.Time{}
			return nil
		}
		if why == "" || r < why {
			why = r
		}
	}
	switch {
	case running > 0 || why == "":
		f.stuck = time.Time{}
		return nil
	case f.stuck.IsZero():
		f.stuck = time.Now()
		return nil
	case f.c.TaskTimeout == 0 || time.Since(f.stuck) <= f.c.TaskTimeout:
		return nil
	}
	for _, job := range f.jobs() {
		_, _ = slurmCommand(ctx, "scancel", job) // what is not there any more needs no ending
	}
	return fmt.Errorf("slurm cannot run the tasks (%s) and nothing has changed for %v: they are cancelled; %d of %d points are safe in %s, and the same command goes on from there",
		why, f.c.TaskTimeout, f.status.Finished(), f.status.Points, f.o.Out)
}

// lastWords is the last line that any of a point's tasks wrote.
func (f *flight) lastWords(point int) string {
	lists, err := filepath.Glob(filepath.Join(globbed(f.dir), "array-*.txt"))
	if err != nil {
		return ""
	}
	said := ""
	for _, name := range lists {
		list, err1 := os.ReadFile(name)
		job, err2 := os.ReadFile(strings.TrimSuffix(name, ".txt") + ".job")
		if err1 != nil || err2 != nil {
			continue
		}
		i := slices.Index(strings.Fields(string(list)), strconv.Itoa(point))
		if i < 0 {
			continue
		}
		log, err := os.ReadFile(filepath.Join(f.dir, "log", fmt.Sprintf("%s-%d.txt", strings.TrimSpace(string(job)), i)))
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		if last := lines[len(lines)-1]; last != "" {
			said = last
		}
	}
	return said
}
