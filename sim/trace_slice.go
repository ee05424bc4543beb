package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/trace"
)

// TraceSlice writes the selected waves of a trace into another. A workgroup
// keeps its place in the launch, and so its XCD; waves that are left out are
// not waited for at barriers. A wave that is cut at its end ends with an
// s_endpgm of its own.
func TraceSlice(w io.Writer, path, out string, s Selection, allowTruncated bool, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	x, err := s.parse()
	if err != nil {
		return err
	}
	if s.Workgroups == "" && s.Waves == "" && s.Range == "" {
		return usagef("say what to keep: --workgroups, --waves or --range")
	}
	t, err := openTrace(path, allowTruncated)
	if err != nil {
		return err
	}
	defer t.Close()
	if from, err := os.Stat(path); err == nil {
		if to, err := os.Stat(out); err == nil && os.SameFile(from, to) {
			return usagef("%s is the trace that is cut; write the part to another file", out)
		}
	}
	waves := 0
	var instructions uint64
	err = writeTrace(out, func(w *trace.Writer) error {
		for i := range t.Launches() {
			n, k, err := t.slice(w, i, &s, &x)
			if err != nil {
				return err
			}
			waves += n
			instructions += k
		}
		if waves == 0 && s.Range != "" {
			return usagef("%s has none of the waves that are asked for, or none as long as --range %s", path, s.Range)
		}
		if waves == 0 {
			return usagef("%s has none of the waves that are asked for", path)
		}
		return nil
	})
	if err != nil {
		return traceFault(err)
	}
	res := struct {
		File         string `json:"file"`
		Waves        int    `json:"waves"`
		Instructions uint64 `json:"instructions"`
	}{out, waves, instructions}
	tab := report.Table{Header: []string{"file", "waves", "instructions"}, Left: []int{0}}
	tab.Add(out, waves, report.Thousands(int64(instructions)))
	return writeRows(w, format, &tab, res)
}

// slice copies what is selected of one launch.
func (t *openedTrace) slice(w *trace.Writer, i int, s *Selection, x *selected) (waves int, instructions uint64, err error) {
	l := *t.Launch(i)
	var how []string
	for _, c := range []struct{ what, value string }{{"workgroups", s.Workgroups}, {"waves", s.Waves}, {"instructions", s.Range}} {
		if c.value != "" {
			how = append(how, c.what+" "+c.value)
		}
	}
	if l.Slice != "" {
		how = append(how, "of "+l.Slice)
	}
	l.Slice = strings.Join(how, ", ")
	p, end := t.Program(i), -1
	if s.Range != "" {
		if p, end, err = withEnd(&l, p); err != nil {
			return 0, 0, err
		}
	}
	if err := w.Begin(&l, p); err != nil {
		return 0, 0, err
	}
	for _, g := range t.Workgroups(i) {
		for _, v := range t.Waves(i, g) {
			if !x.groups.has(g) || !x.waves.has(v) {
				continue
			}
			parts, err := t.Wave(i, g, v)
			if err == nil && s.Range != "" {
				parts, err = cutWave(parts, x.from, x.to, end)
			}
			if err != nil {
				return waves, instructions, err
			}
			for _, part := range parts {
				if err := w.Wave(part); err != nil {
					return waves, instructions, err
				}
				instructions += part.Instructions
			}
			if len(parts) > 0 {
				waves++
			}
		}
	}
	return waves, instructions, w.End(0)
}

// withEnd adds an s_endpgm behind a program, for waves that are cut; it returns
// its index.
func withEnd(l *trace.Launch, p trace.Program) (trace.Program, int, error) {
	cpu, err := cpuOf(l.CPU)
	if err != nil {
		return nil, 0, err
	}
	code, err := isa.Encode(cpu, &isa.Inst{Op: isa.S_ENDPGM, Enc: isa.SOPP, Target: -1})
	if err != nil {
		return nil, 0, fmt.Errorf("trace: %w", err)
	}
	last := p[len(p)-1]
	p = append(slices.Clone(p), trace.Inst{PC: last.PC + uint32(len(last.Code)), Target: -1, Code: code})
	return p, len(p) - 1, nil
}

// cutWave keeps instructions [from, to) of a wave; nothing is left when it ends
// before.
func cutWave(parts []*trace.Wave, from, to uint64, end int) ([]*trace.Wave, error) {
	var b *trace.Builder
	measured := false
	err := trace.Walk(parts, func(s *trace.Step) error {
		if s.Number >= to {
			return errStop
		}
		if s.Number < from {
			return nil
		}
		if b == nil {
			b = trace.NewBuilder(parts[0].Workgroup, parts[0].Wave, s.Exec)
		}
		b.Step(s.Inst)
		if s.Pattern != nil {
			b.Access(s.Pattern, s.Base)
		}
		if s.Left {
			b.Exec(s.After)
		}
		if s.Issue != nil {
			b.Issue(*s.Issue)
			measured = true
		}
		return nil
	})
	switch {
	case errors.Is(err, errStop):
		b.Step(end)
		if measured {
			b.Issue(trace.Issue{})
		}
	case err != nil:
		return nil, err
	case b == nil:
		return nil, nil
	}
	return []*trace.Wave{b.Wave()}, nil
}
