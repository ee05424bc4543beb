// Package perfetto writes recordings as Chrome trace events, gzip-compressed
// JSON that ui.perfetto.dev and chrome://tracing open, and reads them back. A
// process is a CU, a thread a wave slot; further threads are the matrix pipes and
// the LDS banks, and a counter the vector memory operations in flight. One
// microsecond of the viewer is one core cycle.
package perfetto

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/whisker-sim/whisker/report/timeline"
)

// Event is one trace event; see the Trace Event Format. TS and Dur are cycles.
type Event struct {
	Name string         `json:"name"`
	Ph   string         `json:"ph"` // X slice, s and f flow, C counter, M metadata
	Cat  string         `json:"cat,omitempty"`
	TS   int64          `json:"ts"`
	Dur  int64          `json:"dur,omitempty"`
	PID  int            `json:"pid"`
	TID  int            `json:"tid"`
	ID   int            `json:"id,omitempty"`
	BP   string         `json:"bp,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

// Threads of a CU beside the wave slots, which count from 1.
const (
	TIDPipe  = 1000 // and the SIMD
	TIDBanks = 2000
)

type writer struct {
	w     *bufio.Writer
	err   error
	first bool
	flows int
}

func (w *writer) event(e *Event) {
	if w.err != nil {
		return
	}
	b, err := json.Marshal(e)
	if err != nil {
		w.err = err
		return
	}
	if !w.first {
		w.w.WriteByte(',')
	}
	w.first = false
	w.w.WriteByte('\n')
	_, w.err = w.w.Write(b)
}

// Write writes a recording. Events stream out one by one.
func Write(out io.Writer, r *timeline.Recording) error {
	z := gzip.NewWriter(out)
	w := &writer{w: bufio.NewWriterSize(z, 1<<16), first: true}
	head, err := json.Marshal(map[string]any{"kernel": r.Run.Kernel, "machine": r.Run.Arch, "whisker": r.Run.Version, "clock_mhz": r.Run.ClockMHz, "time": "1 us is 1 core cycle"})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.w, `{"displayTimeUnit":"ns","otherData":%s,"traceEvents":[`, head)
	for i := range r.CUs {
		w.cu(r, &r.CUs[i], i+1)
	}
	w.w.WriteString("\n]}\n")
	if w.err != nil {
		return w.err
	}
	if err := w.w.Flush(); err != nil {
		return err
	}
	return z.Close()
}

func (w *writer) name(pid, tid int, what, name string, order int) {
	w.event(&Event{Name: what + "_name", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	w.event(&Event{Name: what + "_sort_index", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"sort_index": order}})
}

func (w *writer) cu(r *timeline.Recording, c *timeline.CU, pid int) {
	w.name(pid, 0, "process", fmt.Sprintf("XCD %d CU %d", c.XCD, c.ID), pid)
	for i := range c.Lanes {
		l := &c.Lanes[i]
		tid := 1 + l.SIMD*r.Slots + l.Slot
		w.name(pid, tid, "thread", fmt.Sprintf("SIMD %d slot %d", l.SIMD, l.Slot), tid)
		w.lane(r, l, pid, tid)
	}
	for s := range r.SIMDs {
		w.pipe(r, c, pid, s)
	}
	if len(c.Banks) > 0 {
		w.name(pid, TIDBanks, "thread", "LDS banks", TIDBanks)
		c.EachBankUse(func(u timeline.BankUse) {
			if u.To == u.From {
				return
			}
			name := "before the window"
			if u.Inst >= 0 {
				name = r.Insts[u.Inst].Text
			}
			cat := "ds"
			if u.Fill {
				cat = "fill"
			}
			w.event(&Event{Name: name, Ph: "X", Cat: cat, TS: u.From, Dur: u.To - u.From, PID: pid, TID: TIDBanks, Args: map[string]any{"slot": u.Slot}})
		})
	}
	w.counter(c, pid)
}

// lane writes a wave slot: issues and stalls as slices, waves as slices around
// them, flows from loads to their waits.
func (w *writer) lane(r *timeline.Recording, l *timeline.Lane, pid, tid int) {
	for _, v := range l.Waves {
		from, to := max(v.Start, r.Window.From), v.End
		if to == 0 || to > r.End {
			to = r.End
		}
		w.event(&Event{Name: fmt.Sprintf("wave %d of workgroup %d", v.Number, v.Group), Ph: "X", Cat: "wave", TS: from, Dur: max(to-from, 1), PID: pid, TID: tid})
	}
	l.EachSegment(r.Interval, func(s timeline.Segment) bool {
		// An issue that the window cuts would go past its wave, and Perfetto drop it.
		if s.From, s.To = max(s.From, r.Window.From), min(s.To, r.End); s.From >= s.To {
			return true
		}
		in := &r.Insts[s.Inst]
		e := &Event{Name: in.Text, Ph: "X", Cat: in.Class, TS: s.From, Dur: s.To - s.From, PID: pid, TID: tid, Args: map[string]any{"pc": fmt.Sprintf("%#x", in.PC)}}
		if s.Kind != timeline.Issue {
			e.Name, e.Cat = s.Kind.Name(), "stall"
			e.Args["before"] = in.Text
		}
		w.event(e)
		return w.err == nil
	})
	for _, f := range l.Flows(r) {
		if f.Wait == 0 {
			continue
		}
		w.flows++
		w.event(&Event{Name: "wait", Ph: "s", Cat: "load", TS: f.Issued, PID: pid, TID: tid, ID: w.flows})
		w.event(&Event{Name: "wait", Ph: "f", Cat: "load", BP: "e", TS: f.Wait, PID: pid, TID: tid, ID: w.flows})
	}
}

func (w *writer) pipe(r *timeline.Recording, c *timeline.CU, pid, simd int) {
	var events []Event
	for i := range c.Lanes {
		l := &c.Lanes[i]
		if l.SIMD != simd {
			continue
		}
		l.EachSegment(r.Interval, func(s timeline.Segment) bool {
			if in := &r.Insts[s.Inst]; s.Kind == timeline.Issue && in.Class == "mfma" {
				events = append(events, Event{Name: in.Text, Ph: "X", Cat: "matrix", TS: s.From, Dur: int64(in.Busy), PID: pid, TID: TIDPipe + simd, Args: map[string]any{"slot": l.Slot}})
			}
			return true
		})
	}
	if len(events) == 0 {
		return
	}
	slices.SortFunc(events, func(a, b Event) int { return int(max(-1, min(1, a.TS-b.TS))) })
	w.name(pid, TIDPipe+simd, "thread", fmt.Sprintf("matrix pipe %d", simd), TIDPipe+simd)
	for i := range events {
		w.event(&events[i])
	}
}

func (w *writer) counter(c *timeline.CU, pid int) {
	type edge struct{ at, by int64 }
	var edges []edge
	for i := range c.Lanes {
		c.Lanes[i].EachMemoryOp(func(m timeline.MemoryOp) {
			if !m.LGKM {
				edges = append(edges, edge{m.Issued, 1})
				if m.Done > 0 {
					edges = append(edges, edge{m.Done, -1})
				}
			}
		})
	}
	slices.SortFunc(edges, func(a, b edge) int { return int(max(-1, min(1, a.at-b.at))) })
	n := int64(0)
	for i, e := range edges {
		n += e.by
		if i+1 == len(edges) || edges[i+1].at != e.at {
			w.event(&Event{Name: "vector memory in flight", Ph: "C", TS: e.at, PID: pid, Args: map[string]any{"operations": n}})
		}
	}
}

// Read reads a trace that Write wrote, or any gzip or plain JSON trace of the
// same kinds of events.
func Read(in io.Reader) ([]Event, error) {
	b := bufio.NewReader(in)
	var src io.Reader = b
	if magic, err := b.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("perfetto: %w", err)
		}
		src = z
	}
	var v struct {
		TraceEvents []Event `json:"traceEvents"`
	}
	if err := json.NewDecoder(src).Decode(&v); err != nil {
		return nil, fmt.Errorf("perfetto: not a trace: %w", err)
	}
	if v.TraceEvents == nil {
		return nil, fmt.Errorf("perfetto: there are no traceEvents")
	}
	return v.TraceEvents, nil
}
