package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// Job is one measurement: the kernels that one launch of an operation runs, in
// this order and over one memory. Most have one kernel; attention backward has
// three.
type Job struct {
	Kernel   string // name of its Definition
	DType    string // of the matrix instructions, or of the data where there are none
	Settings []Setting
	Kernels  []*Built

	FLOPs float64 // the benchmark's own count; 0 for a memory-bound kernel
	Bytes float64 // that a memory-bound kernel must move; 0 for the rest

	// HostSync says that the original's launch function waits for the device after
	// every launch, so that a benchmark that times each launch has the host's round
	// trip in its time; HostSyncWhy is how that is known.
	HostSync    bool
	HostSyncWhy string

	// SharedReads says that the XCDs read mostly the same lines of memory at about
	// the same time, as a GEMM's operands, so that HBM serves a line once for all of
	// them. Without it an XCD reads lines that no other does, as heads of attention.
	SharedReads bool
	// RowBytes is how many bytes of memory in a row are of one head, where heads lie beside
	// each other: what follows is read by other workgroups, on other XCDs. 0: all of
	// what a workgroup reads lies in a row.
	RowBytes int

	// Limit is the largest error that Verify may return; it follows from the
	// output type.
	Limit float64
	// Values is how many values Verify compares.
	Values int64
	// Notes say what a reader of the figures must know, such as a policy of a
	// branch that depends on data.
	Notes []string

	FillInputs func()
	Verify     func() (maxRelErr float64, err error)
	// Expect gives the values that Verify compares with, as Built.Expect does.
	Expect func(yield func(Expected)) error
}

// Setting is an option with the value that a job was built with.
type Setting struct{ Name, Value string }

// Request asks for a job. Options are by name, as on the command line; what is
// absent takes its default.
type Request struct {
	CPU       isa.CPU
	XCDs      int
	Seed      uint64
	LDSBytes  int // LDS of a CU, 0 when any amount will do
	Registers int // vector registers of a SIMD, 0 for the CPU's own
	Options   map[string]string
}

// Definition is a kernel that can be run by name, without any option.
type Definition struct {
	Name, Doc, Example string
	Options            func() []Option
	Build              func(Request) (*Job, error)
	Forms              func() []Info
}

// Definitions are the kernels that can be run by name.
var Definitions = []Definition{
	{"gemm", "HipKittens GEMM: C = A B^T, pingpong8 (8 waves) or interleave4 (4 waves)", "whisker run gemm", gemmOptions, buildGEMM, everyGEMMForm},
	{"layernorm", "fused dropout, residual add and layer norm", "whisker run layernorm", layernormOptions, buildLayerNorm, layernormForms},
	{"attention", "attention forward, MHA and GQA, online softmax with lazy rescaling", "whisker run attention --batch 1", attentionOptions, buildAttention, attentionForms},
	{"rotary", "rotary position embedding", "whisker run rotary", rotaryOptions, buildRotary, rotaryForms},
	{bwdName, "attention backward, with the delta and dQ reshuffle kernels", "whisker run attention-backward --batch 1 --seq 1024", bwdOptions, buildBwd, bwdForms},
	{"chase", "dependent loads of one wave over a footprint: latency", "whisker run chase --arch mi300x", chaseOptions, buildChase, chaseForms},
	{"stream", "streaming reads over a footprint, one wave a SIMD: bandwidth", "whisker run stream --arch mi300x", streamOptions, buildStream, streamForms},
	{"micro", "one unit of a CU: LDS, matrix and vector instructions, barrier, dispatch", "whisker run micro --test mfma", microOptions, buildMicro, microForms},
}

// Define finds a kernel by name.
func Define(name string) (*Definition, bool) {
	for i := range Definitions {
		if Definitions[i].Name == name {
			return &Definitions[i], true
		}
	}
	return nil, false
}

// build builds the job that r asks for. Options that the kernel does not have
// are refused by name.
func (d *Definition) build(r Request) (*Job, error) {
	known := []string{"registers"} // every kernel has it
	for _, o := range d.Options() {
		if o.Name != "registers" {
			known = append(known, o.Name)
		}
	}
	names := make([]string, 0, len(r.Options))
	for n := range r.Options {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("%s: no option --%s; it has --%s", d.Name, n, strings.Join(known, ", --"))
		}
	}
	j, err := d.Build(r)
	if err != nil {
		return nil, err
	}
	j.Kernel = d.Name
	if err := r.chooseRegisters(d.Name, j); err != nil {
		return nil, err
	}
	return j, nil
}

// chooseRegisters applies --registers to the kernels of a job.
func (r *Request) chooseRegisters(kernel string, j *Job) error {
	model, err := r.Choice(kernel, "registers", registerModels...)
	if err != nil {
		return err
	}
	if _, given := r.Options["registers"]; given && !slices.ContainsFunc(j.Settings, func(s Setting) bool { return s.Name == "registers" }) {
		j.Settings = append(j.Settings, Setting{"registers", model})
	}
	if model == Pinned {
		return nil
	}
	changed := false
	for _, b := range j.Kernels {
		did, err := compilerRegisters(b, model)
		if err != nil {
			return err
		}
		changed = changed || did || b.compiled
	}
	if !changed {
		j.Notes = append(j.Notes, "registers: the kernel's own are such as a compiler can choose, so that nothing is copied or spilled")
	}
	return nil
}

// Build builds a job of the kernel that is called name.
func Build(name string, r Request) (*Job, error) {
	d, ok := Define(name)
	if !ok {
		var all []string
		for i := range Definitions {
			all = append(all, Definitions[i].Name)
		}
		return nil, fmt.Errorf("unknown kernel %q; there are %s", name, strings.Join(all, ", "))
	}
	return d.build(r)
}

// registersOption is one that every kernel has.
var registersOption = Option{"registers", Pinned, strings.Join(registerModels, ", "), "as the kernel states them, or as a compiler that cannot feed AGPRs to matrix instructions, or as one that also permutes what a loop carries in a full AGPR file through scratch"}

var registerModels = []string{Pinned, Compiler, Permuting}

// List describes every kernel form that can be built.
func List() []Info {
	var all []Info
	for i := range Definitions {
		all = append(all, Definitions[i].Forms()...)
	}
	for i := range all {
		if o := all[i].Options; !slices.ContainsFunc(o, func(x Option) bool { return x.Name == "registers" }) {
			all[i].Options = append(slices.Clip(o), registersOption)
		}
	}
	return all
}

// Int is an option's value as a whole number, or def when it is absent.
func (r *Request) Int(kernel, name string, def int) (int, error) {
	s, ok := r.Options[name]
	if !ok {
		return def, nil
	}
	v, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%s: --%s is %q; it must be a whole number", kernel, name, s)
	}
	return v, nil
}

// Positive is an option's value as a whole number from 1 to most.
func (r *Request) Positive(kernel, name string, def, most int) (int, error) {
	v, err := r.Int(kernel, name, def)
	if err == nil && (v < 1 || v > most) {
		err = fmt.Errorf("%s: --%s is %d; it must be from 1 to %d", kernel, name, v, most)
	}
	return v, err
}

// Bool is an option's value as true or false.
func (r *Request) Bool(kernel, name string) (bool, error) {
	s, ok := r.Options[name]
	if !ok {
		return false, nil
	}
	v, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("%s: --%s is %q; it must be true or false", kernel, name, s)
	}
	return v, nil
}

// Choice is an option's value out of those that are valid; the first is the
// default.
func (r *Request) Choice(kernel, name string, valid ...string) (string, error) {
	s, ok := r.Options[name]
	if !ok || s == "" {
		return valid[0], nil
	}
	if !slices.Contains(valid, s) {
		return "", fmt.Errorf("%s: unknown --%s %q; it takes %s", kernel, name, s, strings.Join(valid, ", "))
	}
	return s, nil
}

// verifyLimit is the largest max |c - ref| / max(|ref|, rms(ref)) that passes,
// by output type: a 16-bit result has 8 (bf16) or 11 (fp16) significant bits.
var verifyLimit = map[string]float64{"bf16": 1e-2, "fp16": 2e-3}

// buildGEMM is the GEMM's Definition.Build.
func buildGEMM(r Request) (*Job, error) {
	s := Spec{DType: r.Options["dtype"], Variant: r.Options["variant"], Tile: r.Options["tile"], Schedule: r.Options["schedule"], MFMA: r.Options["mfma"], Order: r.Options["order"],
		Handshake: r.Options["handshake"], Descriptors: r.Options["descriptors"], XCDs: r.XCDs, Seed: r.Seed, Break: r.Options["break"]}
	for _, f := range []struct {
		name string
		to   *int
		def  int
	}{{"m", &s.M, 8192}, {"n", &s.N, 8192}, {"k", &s.K, 8192}, {"window", &s.W, -1}, {"chunk", &s.C, -1},
		{"producers", &s.Producers, 0}, {"consumers", &s.Consumers, 0}, {"stages", &s.Stages, 0}} {
		v, err := r.Int("gemm", f.name, f.def)
		if err != nil {
			return nil, err
		}
		if _, given := r.Options[f.name]; given && v < 0 && f.def < 0 {
			return nil, fmt.Errorf("gemm: --%s is %d; it must not be negative", f.name, v)
		}
		*f.to = v
	}
	var err error
	if s.Features, err = ParseFeatures(r.Options["features"]); err != nil {
		return nil, err
	}
	s.LDSRoom, s.Registers = r.LDSBytes, r.Registers
	b, err := GEMM(r.CPU, s)
	if err != nil {
		return nil, err
	}
	if err := fitLDS(b, r.LDSBytes); err != nil {
		return nil, err
	}
	return b.job(), nil
}

// job is the measurement of one GEMM.
func (b *Built) job() *Job {
	s := &b.Spec
	j := &Job{Kernel: "gemm", DType: s.DType, Kernels: []*Built{b}, FLOPs: b.FLOPs, Limit: verifyLimit[b.OutDType], Values: int64(s.M) * int64(s.N), SharedReads: true,
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}
	for _, o := range []struct {
		name  string
		value any
	}{
		{"m", s.M}, {"n", s.N}, {"k", s.K}, {"tile", fmt.Sprintf("%dx%dx%d", b.TileM, b.TileN, b.KTile)}, {"schedule", s.Schedule},
		{"mfma", s.MFMA}, {"dtype", s.DType}, {"window", s.W}, {"chunk", s.C},
	} {
		j.Settings = append(j.Settings, Setting{o.name, fmt.Sprint(o.value)})
	}
	if s.Order != string(swizzle.Remap) {
		j.Settings = append(j.Settings, Setting{"order", s.Order})
	}
	if b.RotatesInputs {
		j.Notes = append(j.Notes, "the benchmark rotates about 500 MiB of inputs, so the LLC starts cold")
	}
	j.Settings = append(j.Settings, s.formSettings()...)
	if s.Break != "" {
		j.Settings = append(j.Settings, Setting{"break", s.Break})
		j.Notes = append(j.Notes, "the kernel is broken on purpose: --break "+s.Break)
	}
	return j
}
