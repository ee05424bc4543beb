// Package konata writes recordings as logs of Konata, the pipeline viewer
// ("Kanata" format, version 4), and reads them back. A line of the viewer is one
// executed instruction, a thread one wave slot; stages are what it waited for,
// then issue, then its execution in the pipe or in memory; dependencies lead from
// a load to its wait.
package konata

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report/timeline"
)

// Header is a log's first line.
const Header = "Kanata\t0004"

// Stages beside the names of stall reasons. Konata takes a stage with a capital X
// in its name for the execution, between which it draws dependencies: those that do
// nothing after their issue, such as waits, execute in it.
const (
	StageIssue     = "Is"
	StageIssueOnly = "IsX"
	StageExecute   = "X"
)

// Op is one instruction of a log.
type Op struct {
	ID     int
	Thread int
	Text   string
	Detail string
	Stages []Stage
	Retire int64    // cycle
	Needs  [][2]int // producer, type
}

// Stage is one stage of an instruction, from one cycle to another.
type Stage struct {
	Name     string
	From, To int64
}

// From turns a recording into instructions, in order of their first stage.
func From(r *timeline.Recording) []Op {
	var ops []Op
	thread := 0
	for i := range r.CUs {
		for j := range r.CUs[i].Lanes {
			ops = append(ops, lane(r, &r.CUs[i], &r.CUs[i].Lanes[j], thread, len(ops))...)
			thread++
		}
	}
	// The log tells things in order of time, and ids count in that order.
	order := make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ops[a].Stages[0].From, ops[b].Stages[0].From) })
	place := make([]int, len(ops))
	sorted := make([]Op, len(ops))
	for id, old := range order {
		place[old] = id
		sorted[id] = ops[old]
		sorted[id].ID = id
	}
	for i := range sorted {
		for k := range sorted[i].Needs {
			sorted[i].Needs[k][0] = place[sorted[i].Needs[k][0]]
		}
	}
	return sorted
}

// lane gives the instructions of a wave slot; base is the number of the first.
func lane(r *timeline.Recording, c *timeline.CU, l *timeline.Lane, thread, base int) []Op {
	var ops []Op
	at := map[int64]int{} // by issue
	l.EachExecution(r.Interval, func(_ int, e *timeline.Execution) {
		in := &r.Insts[e.Inst]
		op := Op{Thread: thread, Text: fmt.Sprintf("%#06x %s", in.PC, in.Text), Detail: fmt.Sprintf("CU %s SIMD %d slot %d", c.Name(), l.SIMD, l.Slot)}
		for _, s := range e.Segments {
			name := s.Kind.Name()
			if s.Kind == timeline.Issue {
				name = StageIssue
			}
			op.Stages = append(op.Stages, Stage{name, s.From, s.To})
		}
		if end := e.Issue + int64(in.Busy); end > e.To {
			op.Stages = append(op.Stages, Stage{StageExecute, e.To, end})
		}
		at[e.Issue] = len(ops)
		ops = append(ops, op)
	})
	for _, f := range l.Flows(r) {
		i, ok := at[f.Issued]
		if !ok {
			continue
		}
		if last := &ops[i].Stages[len(ops[i].Stages)-1]; f.Done > last.To {
			if last.Name == StageExecute {
				last.To = f.Done
			} else {
				ops[i].Stages = append(ops[i].Stages, Stage{StageExecute, last.To, f.Done})
			}
		}
		if w, ok := at[f.Wait]; ok && f.Wait > 0 {
			ops[w].Needs = append(ops[w].Needs, [2]int{base + i, 0})
		}
	}
	for i := range ops {
		stages := ops[i].Stages
		last := stages[len(stages)-1]
		for k := range stages {
			if stages[k].Name == StageIssue && last.Name != StageExecute {
				stages[k].Name = StageIssueOnly
			}
		}
		ops[i].Retire = last.To
	}
	return ops
}

// line is one command of the log at a cycle; those of a cycle keep their order.
type line struct {
	at   int64
	text string
}

// Write writes a recording as a log.
func Write(out io.Writer, r *timeline.Recording) error {
	ops := From(r)
	var lines []line
	for i := range ops {
		o := &ops[i]
		begin := o.Stages[0].From
		lines = append(lines, line{begin, fmt.Sprintf("I\t%d\t%d\t%d\nL\t%d\t0\t%s\nL\t%d\t1\t%s", o.ID, o.ID, o.Thread, o.ID, o.Text, o.ID, o.Detail)})
		last := o.Stages[len(o.Stages)-1]
		for k, s := range o.Stages {
			end := "" // of the stage before, which the format does not end by itself
			if k > 0 {
				end = fmt.Sprintf("E\t%d\t0\t%s\n", o.ID, o.Stages[k-1].Name)
			}
			lines = append(lines, line{s.From, fmt.Sprintf("%sS\t%d\t0\t%s", end, o.ID, s.Name)})
		}
		for _, n := range o.Needs {
			lines = append(lines, line{begin, fmt.Sprintf("W\t%d\t%d\t%d", o.ID, n[0], n[1])})
		}
		lines = append(lines, line{o.Retire, fmt.Sprintf("E\t%d\t0\t%s\nR\t%d\t%d\t0", o.ID, last.Name, o.ID, o.ID)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	w := bufio.NewWriterSize(out, 1<<16)
	fmt.Fprintln(w, Header)
	now := r.Window.From
	fmt.Fprintf(w, "C=\t%d\n", now)
	for _, l := range lines {
		if l.at > now {
			fmt.Fprintf(w, "C\t%d\n", l.at-now)
			now = l.at
		}
		w.WriteString(l.text)
		w.WriteByte('\n')
	}
	return w.Flush()
}

// Read reads a log.
func Read(in io.Reader) ([]Op, error) {
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 1<<20)
	if !sc.Scan() || !strings.HasPrefix(sc.Text(), "Kanata") {
		return nil, fmt.Errorf("konata: the first line is not %q", Header)
	}
	var ops []Op
	now := int64(0)
	for n := 2; sc.Scan(); n++ {
		f := strings.Split(sc.Text(), "\t")
		var num [3]int64
		bad := len(f) < 2
		for i := 0; i < 3 && i+1 < len(f); i++ {
			if i == 2 && (f[0] == "L" || f[0] == "S" || f[0] == "E") {
				break // text
			}
			v, err := strconv.ParseInt(f[i+1], 10, 64)
			bad = bad || err != nil
			num[i] = v
		}
		if need := map[string]int{"C=": 2, "C": 2, "I": 4, "L": 4, "S": 4, "E": 4, "R": 4, "W": 4}[f[0]]; bad || need == 0 || len(f) < need {
			return nil, fmt.Errorf("konata: line %d: %q is no command", n, sc.Text())
		}
		switch f[0] {
		case "C=":
			now = num[0]
			continue
		case "C":
			now += num[0]
			continue
		case "I":
			if num[0] != int64(len(ops)) {
				return nil, fmt.Errorf("konata: line %d: instruction %d comes after %d", n, num[0], len(ops)-1)
			}
			ops = append(ops, Op{ID: int(num[0]), Thread: int(num[2])})
			continue
		}
		if num[0] < 0 || num[0] >= int64(len(ops)) {
			return nil, fmt.Errorf("konata: line %d: there is no instruction %d", n, num[0])
		}
		o := &ops[num[0]]
		switch f[0] {
		case "L":
			if num[1] == 0 {
				o.Text += f[3]
			} else {
				o.Detail += f[3]
			}
		case "S":
			o.close(now)
			o.Stages = append(o.Stages, Stage{f[3], now, -1})
		case "E":
			if k := len(o.Stages); k == 0 || o.Stages[k-1].Name != f[3] || o.Stages[k-1].To >= 0 {
				return nil, fmt.Errorf("konata: line %d: stage %s of instruction %d is not open", n, f[3], num[0])
			}
			o.close(now)
		case "R":
			o.Retire = now
		case "W":
			o.Needs = append(o.Needs, [2]int{int(num[1]), int(num[2])})
		}
	}
	return ops, sc.Err()
}

// close ends the open stage.
func (o *Op) close(now int64) {
	if k := len(o.Stages); k > 0 && o.Stages[k-1].To < 0 {
		o.Stages[k-1].To = now
	}
}
