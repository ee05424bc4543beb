package device

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/workloads"
)

// ExportOptions says what to export and where.
type ExportOptions struct {
	Kernel  string            // by name
	Options map[string]string // of the kernel
	Seed    uint64            // of the inputs
	Machine *configs.Resolved // gives the CPU, the XCDs and the LDS
	Dir     string
	Force   bool // replace an earlier export
	// NoReference leaves the expected values out: the host program then times
	// without checking.
	NoReference bool
	Version     string // of Whisker
}

// Manifest is export.json: what a folder was exported from, and how.
type Manifest struct {
	Version string            `json:"version"`
	Kernel  string            `json:"kernel"`
	Options []Option          `json:"options"`
	Given   map[string]string `json:"given,omitempty"` // options as they were asked for
	Seed    uint64            `json:"seed"`
	Machine string            `json:"machine"`
	Hash    string            `json:"machine_hash"`
	CPU     string            `json:"cpu"`
	DType   string            `json:"dtype"`
	FLOPs   float64           `json:"flops"`
	Bytes   float64           `json:"bytes,omitempty"`
	Limit   float64           `json:"limit"`
	Kernels []ExportedKernel  `json:"kernels"`
	Regions []ExportedRegion  `json:"regions"`
	Counter []CounterGroup    `json:"counter_groups"`
	Notes   []string          `json:"notes,omitempty"`
}

// Option is an option of a kernel and its value.
type Option struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ExportedKernel is one launch.
type ExportedKernel struct {
	Symbol     string `json:"symbol"`
	Assembly   string `json:"assembly"`
	Object     string `json:"object"`
	Assembler  string `json:"assembler"` // what made the object
	Workgroups [3]int `json:"workgroups"`
	Workgroup  [3]int `json:"workgroup"`
	VGPRs      int    `json:"vgprs"`
	AGPRs      int    `json:"agprs"`
	SGPRs      int    `json:"sgprs"`
	LDSBytes   int    `json:"lds_bytes"`
	Code       int    `json:"code_bytes"`
}

// ExportedRegion is one buffer.
type ExportedRegion struct {
	Name  string `json:"name"`
	Bytes uint64 `json:"bytes"`
	File  string `json:"file,omitempty"` // empty: it starts as zeros
	Reset bool   `json:"reset,omitempty"`
}

// CounterGroup is counters that one pass of the profiler can take.
type CounterGroup struct {
	Name     string   `json:"name"`
	Counters []string `json:"counters"`
}

// counterGroups are the counters that a simulated run reports too, in groups that
// fit the counter registers of their blocks (8 of SQ, 4 of TCP and of TCC a pass).
var counterGroups = []CounterGroup{
	{"sq-compute", []string{"SQ_WAVES", "SQ_WAVE_CYCLES", "SQ_INSTS_VALU", "SQ_INSTS_MFMA", "SQ_VALU_MFMA_BUSY_CYCLES", "GRBM_GUI_ACTIVE"}},
	{"sq-memory", []string{"SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_VMEM", "SQ_INSTS_LDS", "SQ_INSTS_BRANCH", "SQ_LDS_BANK_CONFLICT"}},
	{"tcp", []string{"TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum"}},
	{"tcc", []string{"TCC_REQ_sum", "TCC_HIT_sum", "TCC_MISS_sum"}},
	{"tcc-kind", []string{"TCC_READ_sum", "TCC_WRITE_sum"}},
}

// manifestFile marks an exported folder.
const manifestFile = "export.json"

// exporter writes one folder.
type exporter struct {
	dir  string
	job  *workloads.Job
	m    Manifest
	tool *toolchain
	plan bytes.Buffer

	firstRegion int // number of the memory's first region in the plan
}

// Export writes the folder: assembly, code objects, inputs, expected values, the
// host program with its build file, run.sh and a README. Nothing is left under
// the folder's name unless all of it is there.
func Export(o ExportOptions) (*Manifest, error) {
	machine := o.Machine.Machine()
	cpu, err := cpuOf(machine.CPU)
	if err != nil {
		return nil, err
	}
	job, err := workloads.Build(o.Kernel, workloads.Request{CPU: cpu, XCDs: machine.Chip.XCDs, Seed: o.Seed, LDSBytes: machine.LDS.Bytes, Options: o.Options})
	if err != nil {
		return nil, &InputError{err}
	}
	partial, done, drop, err := newFolder(o.Dir, manifestFile, o.Force)
	if err != nil {
		return nil, err
	}
	defer drop()
	e := &exporter{dir: partial, job: job, tool: findToolchain()}
	e.m = Manifest{Version: o.Version, Kernel: job.Kernel, Given: o.Options, Seed: o.Seed, Machine: machine.Name, Hash: o.Machine.Hash(), CPU: cpu.String(),
		DType: job.DType, FLOPs: job.FLOPs, Bytes: job.Bytes, Limit: job.Limit, Counter: counterGroups, Notes: job.Notes}
	for _, s := range job.Settings {
		e.m.Options = append(e.m.Options, Option{s.Name, s.Value})
	}
	if err := e.all(!o.NoReference); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Dir, err)
	}
	if err := done(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Dir, cause(err))
	}
	return &e.m, nil
}

func cpuOf(name string) (isa.CPU, error) {
	for _, c := range []isa.CPU{isa.GFX942, isa.GFX950} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, badInput("the machine's CPU is %s; kernels exist for gfx942 and gfx950", name)
}

// all writes every file.
func (e *exporter) all(reference bool) error {
	e.job.FillInputs()
	fmt.Fprintf(&e.plan, "whisker-plan 1\nkernel %s\narch %s\ndtype %s\nflops %s\nbytes %s\nlimit %s\n",
		e.m.Kernel, e.m.CPU, e.m.DType, num(e.m.FLOPs), num(e.m.Bytes), num(e.m.Limit))
	for _, b := range e.job.Kernels {
		if b.RotatesInputs {
			fmt.Fprintf(&e.plan, "rotate %d\n", rotatedBytes)
			break
		}
	}
	if err := e.regions(); err != nil {
		return err
	}
	for _, b := range e.job.Kernels {
		if err := e.kernel(b); err != nil {
			return fmt.Errorf("kernel %s: %w", b.Launch.Kernel.Name, err)
		}
	}
	if reference && e.job.Expect != nil {
		if err := e.expected(); err != nil {
			return err
		}
		e.plan.WriteString("expected expected.bin\n")
	}
	e.plan.WriteString("end\n")
	return e.fixedFiles()
}

// rotatedBytes is what a benchmark that rotates its inputs goes around in.
const rotatedBytes = 500 << 20

func num(x float64) string { return fmt.Sprintf("%.17g", x) }

// memory is the job's memory; all its kernels share it.
func (e *exporter) memory() *isa.Memory { return e.job.Kernels[0].Launch.Memory }

// regions writes the input files. A region of zeros needs none.
func (e *exporter) regions() error {
	reset := map[string]bool{}
	for _, b := range e.job.Kernels {
		for _, name := range accumulated(b) {
			reset[name] = true
		}
	}
	if err := os.Mkdir(filepath.Join(e.dir, "inputs"), 0o755); err != nil {
		return cause(err)
	}
	for i, r := range e.memory().Regions() {
		x := ExportedRegion{Name: r.Name, Bytes: r.Size}
		file := filepath.Join("inputs", fileName(r.Name)+".bin")
		hash, zero, err := e.dump(file, r)
		if err != nil {
			return fmt.Errorf("%s: %w", file, cause(err))
		}
		if zero {
			x.Reset = reset[r.Name]
			fmt.Fprintf(&e.plan, "region %d - 0 %s\n", r.Size, r.Name)
			if x.Reset {
				fmt.Fprintf(&e.plan, "reset %d\n", i)
			}
		} else {
			x.File = filepath.ToSlash(file)
			fmt.Fprintf(&e.plan, "region %d %s %x %s\n", r.Size, x.File, hash, r.Name)
		}
		e.m.Regions = append(e.m.Regions, x)
	}
	return nil
}

// fileName makes a region's name fit for a file.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// dump writes a region and returns its hash; a region of zeros leaves no file.
func (e *exporter) dump(file string, r isa.Region) (hash uint64, zero bool, err error) {
	buf := make([]byte, 1<<20)
	var f *os.File
	hash, zero = fnvOffset, true
	var skipped uint64 // zeros before the first other byte
	for at := uint64(0); at < r.Size; {
		b := buf[:min(uint64(len(buf)), r.Size-at)]
		e.memory().Read(r.Base+at, b)
		at += uint64(len(b))
		hash = fnvWords(hash, b)
		if zero && allZero(b) {
			skipped = at
			continue
		}
		if f == nil {
			zero = false
			if f, err = os.Create(filepath.Join(e.dir, file)); err != nil {
				return 0, false, err
			}
			defer f.Close()
			if _, err = f.Seek(int64(skipped), 0); err != nil {
				return 0, false, err
			}
		}
		if _, err = f.Write(b); err != nil {
			return 0, false, err
		}
	}
	if f != nil {
		err = f.Close()
	}
	return hash, zero, err
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnvWords is FNV-1a over 64-bit words, the last one padded with zeros; all but
// the last piece of a file must be a multiple of 8 bytes.
func fnvWords(h uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * fnvPrime
	}
	if len(b) > 0 {
		var w [8]byte
		copy(w[:], b)
		h = (h ^ binary.LittleEndian.Uint64(w[:])) * fnvPrime
	}
	return h
}

// accumulated names the regions that a kernel with memory atomics can reach: they
// add to what is there, so those that start as zeros must do so at every launch.
func accumulated(b *workloads.Built) []string {
	l := b.Launch
	atomic := slices.ContainsFunc(l.Kernel.Insts, func(in isa.Inst) bool {
		name := in.Op.String()
		return strings.HasPrefix(name, "buffer_atomic") || strings.HasPrefix(name, "global_atomic") || strings.HasPrefix(name, "flat_atomic")
	})
	if !atomic {
		return nil
	}
	var names []string
	for i := range b.Pointers {
		if r, ok := l.Memory.Find(binary.LittleEndian.Uint64(l.Kernarg[8*i:]), 1); ok {
			names = append(names, r.Name)
		}
	}
	return names
}

// kernel writes one kernel's assembly and code object, and its line of the plan.
func (e *exporter) kernel(b *workloads.Built) error {
	k := b.Launch.Kernel
	x := ExportedKernel{Symbol: k.Name, Assembly: k.Name + ".s", Object: k.Name + ".co", Workgroups: b.Launch.Workgroups, Workgroup: k.Workgroup,
		VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs, LDSBytes: k.LDSBytes}
	if n := len(k.Insts); n > 0 {
		x.Code = int(k.Insts[n-1].PC) + int(k.Insts[n-1].Size)
	}
	text, err := isa.Assembly(k)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(e.dir, x.Assembly), []byte(text), 0o644); err != nil {
		return cause(err)
	}
	object := filepath.Join(e.dir, x.Object)
	if x.Assembler, err = e.tool.assemble(filepath.Join(e.dir, x.Assembly), object, k); err != nil {
		return err
	}
	f, err := codeobj.Open(object)
	if err != nil {
		return err
	}
	if err := sameKernel(f, k); err != nil {
		return fmt.Errorf("the code object that %s made differs from what is simulated: %w", x.Assembler, err)
	}
	e.m.Kernels = append(e.m.Kernels, x)
	l := b.Launch
	fmt.Fprintf(&e.plan, "launch %s %s %d %d %d %d %d %d %s\n", x.Object, x.Symbol, l.Workgroups[0], l.Workgroups[1], l.Workgroups[2],
		k.Workgroup[0], k.Workgroup[1], k.Workgroup[2], hex.EncodeToString(l.Kernarg))
	for i := range b.Pointers {
		p := binary.LittleEndian.Uint64(l.Kernarg[8*i:])
		at := slices.IndexFunc(l.Memory.Regions(), func(r isa.Region) bool { return p >= r.Base && p-r.Base < max(r.Size, 1) })
		if at < 0 {
			return fmt.Errorf("argument %d, %#x, points into no buffer", i, p)
		}
		fmt.Fprintf(&e.plan, "pointer %d %d %d\n", 8*i, e.firstRegion+at, p-l.Memory.Regions()[at].Base)
	}
	return nil
}

// valueTypes are the host program's numbers of the types.
var valueTypes = map[workloads.ValueType]uint32{workloads.BF16: 0, workloads.FP16: 1, workloads.F32: 2, workloads.U32: 3}

// expected writes expected.bin: pieces as host.cpp reads them.
func (e *exporter) expected() error {
	f, err := os.Create(filepath.Join(e.dir, "expected.bin"))
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	var failed error
	var buf []byte
	err = e.job.Expect(func(x workloads.Expected) {
		place, err := x.Locate(e.memory())
		if err != nil && failed == nil {
			failed = err
		}
		region := slices.IndexFunc(e.memory().Regions(), func(r isa.Region) bool { return r.Name == place.Region })
		fixed := uint32(0)
		if x.Fixed {
			fixed = 1
		}
		le := binary.LittleEndian
		buf = le.AppendUint32(le.AppendUint32(buf[:0], uint32(region)), valueTypes[x.Type])
		buf = le.AppendUint64(le.AppendUint64(buf, place.Offset), uint64(len(x.Want)))
		buf = le.AppendUint64(buf, math.Float64bits(x.Scale))
		buf = le.AppendUint32(le.AppendUint32(buf, fixed), 0)
		for _, v := range x.Want {
			buf = le.AppendUint64(buf, math.Float64bits(v))
		}
		if _, err := f.Write(buf); err != nil && failed == nil {
			failed = fmt.Errorf("expected.bin: %w", cause(err))
		}
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// fixedFiles writes what is the same for every kernel, and the manifest.
func (e *exporter) fixedFiles() error {
	var groups bytes.Buffer
	groups.WriteString("# Counters, a group a line: one pass of the profiler each.\n")
	for _, g := range e.m.Counter {
		fmt.Fprintf(&groups, "%s: %s\n", g.Name, strings.Join(g.Counters, " "))
	}
	manifest, err := json.MarshalIndent(&e.m, "", "  ")
	if err != nil {
		return err
	}
	files := []struct {
		name string
		data []byte
		mode os.FileMode
	}{
		{"plan.txt", e.plan.Bytes(), 0o644}, {"counters.txt", groups.Bytes(), 0o644}, {"README.md", e.readme(), 0o644},
		{manifestFile, append(manifest, '\n'), 0o644},
		{"host.cpp", templateFile("host.cpp"), 0o644}, {"Makefile", templateFile("Makefile"), 0o644}, {"run.sh", templateFile("run.sh"), 0o755},
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(e.dir, f.name), f.data, f.mode); err != nil {
			return fmt.Errorf("%s: %w", f.name, cause(err))
		}
	}
	return nil
}
