package sim

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// tracing writes the trace of a run while it goes on. A nil tracing writes
// nothing.
type tracing struct {
	file *output.File
	w    *trace.Writer
	dies []*dieLog // of the running launch
	err  error
	stop func() // ends the run

	regions []trace.Region // of the running launch, before the machine adds its own
}

func createOutput(path string) (*output.File, error) {
	f, err := output.Create(path)
	if err != nil {
		return nil, &UsageError{err}
	}
	return f, nil
}

// startTrace opens the trace that o asks for, anew for every try of a run.
func (o *RunOptions) startTrace() error {
	o.tracing.discard()
	if o.Trace == "" {
		return nil
	}
	f, err := createOutput(o.Trace)
	if err != nil {
		return err
	}
	w, err := trace.NewWriter(f)
	if err != nil {
		f.Discard()
		return fmt.Errorf("%s: %w", o.Trace, err)
	}
	o.tracing = &tracing{file: f, w: w}
	return nil
}

// finish closes the trace of a run that has ended well.
func (t *tracing) finish() error {
	if t == nil {
		return nil
	}
	f := t.file
	t.file = nil
	err := t.w.Close()
	if err != nil {
		f.Discard()
		return fmt.Errorf("%s cannot be written: %w", f.Path(), err)
	}
	return f.Commit()
}

// discard removes the trace of a run that has failed; after finish it does
// nothing.
func (t *tracing) discard() {
	if t != nil && t.file != nil {
		t.file.Discard()
		t.file = nil
	}
}

// attach makes a run log its waves. It is called before the machine is built.
func (t *tracing) attach(o *xcd.GPUOptions, l *isa.Launch, stop func()) {
	if t == nil {
		return
	}
	t.dies, t.stop = nil, stop
	t.regions = []trace.Region{}
	for _, r := range l.Memory.Regions() {
		t.regions = append(t.regions, trace.Region{Name: r.Name, Base: r.Base, Bytes: r.Size})
	}
	slots := make([]int16, len(l.Kernel.Insts))
	for i := range slots {
		slots[i] = -1
	}
	o.Log = func(int) cu.Logger {
		d := &dieLog{slots: slots, byHash: map[uint64][]*trace.Pattern{}}
		t.dies = append(t.dies, d)
		return d
	}
	told := o.Progress
	o.Progress = func(done, total, cycle int64) {
		t.flush()
		if told != nil {
			told(done, total, cycle)
		}
	}
}

// begin writes the description of a launch whose machine has been built.
func (t *tracing) begin(o *RunOptions, r *report.Run, machine *configs.Resolved, g *xcd.GPU, opts *xcd.GPUOptions, mhz float64, job *workloads.Job, b *workloads.Built) error {
	if t == nil {
		return nil
	}
	prog, err := programOf(b.Launch.Kernel)
	if err != nil {
		return err
	}
	p := g.Program()
	for i := range b.Launch.Kernel.Insts {
		t.dies[0].slots[i] = int16(p.Slot(i))
	}
	for _, d := range t.dies {
		d.columns = p.Slots()
	}
	l := describe(machine, b, opts, mhz)
	l.Origin, l.Regions = "run", t.regions
	l.Dependence = dependence(b.Launch.Kernel, &p.Slice)
	if l.Extra, err = packExtra(o, r.Notes, job, b); err != nil {
		return err
	}
	return t.fail(t.w.Begin(l, prog))
}

// end closes a launch that took so many cycles.
func (t *tracing) end(cycles int64) error {
	if t == nil {
		return nil
	}
	t.flush()
	if t.err == nil {
		t.fail(t.w.End(cycles))
	}
	return t.err
}

func (t *tracing) fail(err error) error {
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("%s cannot be written: %w", t.file.Path(), err)
	}
	return t.err
}

// failed is the first error of writing; the run ends early for it.
func (t *tracing) failed() error {
	if t == nil {
		return nil
	}
	return t.err
}

// flush writes the waves that have ended, die by die and in order: called
// between windows, it gives the same bytes on any number of threads.
func (t *tracing) flush() {
	for _, d := range t.dies {
		for i, w := range d.ended {
			if t.err == nil && t.fail(t.w.Wave(&w.wave)) != nil {
				t.stop()
			}
			d.recycle(w)
			d.ended[i] = nil
		}
		d.ended = d.ended[:0]
	}
}

// programOf encodes a kernel's instructions.
func programOf(k *isa.Kernel) (trace.Program, error) {
	p := make(trace.Program, len(k.Insts))
	for i := range k.Insts {
		in := &k.Insts[i]
		code, err := isa.Encode(k.CPU, in)
		if err != nil {
			return nil, fmt.Errorf("trace: kernel %s, pc %#x: %w", k.Name, in.PC, err)
		}
		p[i] = trace.Inst{PC: in.PC, Target: in.Target, Code: code}
	}
	return p, nil
}

// describe turns a launch into its description in a trace.
func describe(machine *configs.Resolved, b *workloads.Built, opts *xcd.GPUOptions, mhz float64) *trace.Launch {
	k, m := b.Launch.Kernel, machine.Machine()
	l := &trace.Launch{
		Kernel: k.Name, CPU: k.CPU.String(), Writer: "whisker " + Version, Entry: k.Entry,
		Workgroups: b.Launch.Workgroups, Workgroup: k.Workgroup, VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs,
		LDS: k.LDSBytes, Scratch: k.ScratchBytes, Kernarg: hex.EncodeToString(b.Launch.Kernarg),
		Machine: trace.Machine{Name: m.Name, Hash: machine.Hash(), YAML: machine.YAML()}, ClockMHz: mhz, Cold: opts.ColdLLC,
		Warm: []trace.Range{},
	}
	for _, r := range opts.Warm {
		l.Warm = append(l.Warm, trace.Range{Base: r.Base, Bytes: r.Bytes, Dirty: r.Written})
	}
	return l
}

// traceExtra is what Whisker adds to a launch for its report.
type traceExtra struct {
	Mode   string                     `json:"mode"`
	Seed   uint64                     `json:"seed"`
	Cold   bool                       `json:"cold_llc"` // as it was asked for, by --cold-llc or --warmup 0
	Rotate bool                       `json:"rotate_buffers"`
	File   bool                       `json:"file"`  // of a launch file: no pilot looks for the clock
	Notes  []string                   `json:"notes"` // of the report before the run
	Job    map[string]json.RawMessage `json:"job"`
	Part   map[string]json.RawMessage `json:"part"` // of the job: this launch
}

func packExtra(o *RunOptions, notes []string, job *workloads.Job, b *workloads.Built) (json.RawMessage, error) {
	x := traceExtra{Mode: o.Mode, Seed: o.Seed, Cold: o.cold(), Rotate: o.RotateBuffers, Notes: notes, File: job.Kernels == nil}
	var err error
	if x.Job, err = packFields(job); err == nil {
		x.Part, err = packFields(b)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(&x)
}

// packFields is the data in a struct: functions, pointers and other kernels left
// out.
func packFields(v any) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		if !packable(s.Type().Field(i)) {
			continue
		}
		b, err := json.Marshal(s.Field(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("trace: %s: %w", s.Type().Field(i).Name, err)
		}
		out[s.Type().Field(i).Name] = b
	}
	return out, nil
}

func packable(f reflect.StructField) bool {
	t := f.Type
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return f.IsExported() && t.Kind() != reflect.Func && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface
}

// unpackFields is the reverse; fields that the struct does not have any more are
// left out.
func unpackFields(v any, fields map[string]json.RawMessage) error {
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		f := s.Type().Field(i)
		if b, ok := fields[f.Name]; ok && packable(f) {
			if err := json.Unmarshal(b, s.Field(i).Addr().Interface()); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}
