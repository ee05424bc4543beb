package sim

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// Version is Whisker's version, which every result carries.
const Version = "0.1.0"

// RunOptions is everything that one run is asked for. An empty Tile, Schedule,
// MFMA or DType and a nil Window or Chunk mean the kernel's own choice for the
// size and the machine.
type RunOptions struct {
	Kernel string // one of Kernels

	Arch    string   // built-in machine
	Machine string   // machine file; replaces Arch
	Set     []string // path=value, applied in order

	// Options are the kernel's options by name, as workloads.Definition lists
	// them; absent ones take the kernel's default. The fields below are
	// shorthands for a GEMM's, and win over Options.
	Options  map[string]string
	M, N, K  int    // 0: the default
	Tile     string // MxN of a workgroup
	Schedule string // wave schedule
	MFMA     string // matrix instruction, MxNxK
	DType    string // input type
	Window   *int   // W of the block remap; 0: none
	Chunk    *int   // C of the block remap; 0: none

	Mode             string // one of Modes
	Verify           bool   // compare the values with the host reference
	Threads          int
	Seed             uint64
	LaunchOverheadUS *float64       // nil: the machine file's
	HostSync         *bool          // the host waits for the device after each launch, inside the time; nil: as the kernel's original does
	ColdLLC          bool           // start with an empty LLC instead of one that an earlier launch filled
	Monitor          bool           // Akita's monitor
	PerInstruction   bool           // report one row an instruction
	SampleRounds     int            // simulate so many rounds of workgroups and extrapolate; 0: all
	oneTry           bool           // take the clock that the run's work gives, though it was simulated at another
	oneXCD           bool           // simulate the first round of workgroups of one XCD, which stands for all
	parts            int            // machines of this size that the launch is shared over; set with oneXCD
	Record           *RecordOptions // nil: record nothing
	Trace            string         // trace file to write; empty: none
	// Adjust, when set, changes how a kernel is simulated; stop ends the run.
	Adjust func(o *xcd.GPUOptions, l *isa.Launch, stop func())
	// SampledWorkgroups is how many workgroups are computed for the branches that
	// depend on data; 0: the default.
	SampledWorkgroups int
	decisions         map[int]decided // recorded so far, by kernel of the job

	// Progress, when set, is called now and then with the work that is done, all
	// the work, both in one unit, and the simulated cycle.
	Progress func(done, total, cycle int64)
	// Notices, when set, takes what is said while the run goes on, such as the
	// monitor's address.
	Notices io.Writer

	// StartMHz, when not 0, is the clock that a run under the power budget is
	// tried at first, instead of what pilots guess.
	StartMHz float64

	// Warmup, when set, is how many launches are simulated before the measured
	// one; 0 measures the first. nil takes the LLC to hold what a launch leaves.
	Warmup *int
	// RotateBuffers says that every launch uses buffers of its own, so that the
	// LLC holds none of the measured launch's.
	RotateBuffers bool

	tracing *tracing   // the trace being written
	replay  *replaying // the trace being replayed
}

// KernelInfo describes a kernel that can be run by name.
type KernelInfo struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Example string `json:"example"`
}

// Kernels are the kernels that can be run by name, each without another flag.
func Kernels() []KernelInfo {
	var out []KernelInfo
	for _, d := range workloads.Definitions {
		out = append(out, KernelInfo{d.Name, d.Doc, d.Example})
	}
	return out
}

// KernelNames are the names of Kernels.
func KernelNames() []string {
	var names []string
	for _, k := range Kernels() {
		names = append(names, k.Name)
	}
	return names
}

// Modes are the values of --mode.
var Modes = []string{"timing", "functional", "full"}

// DefaultDim is M, N and K of a GEMM that is given none: the size of the
// published tables.
const DefaultDim = 8192

// maxThreads bounds --threads; there are at most as many dies to simulate.
const maxThreads = 256

var (
	tilePattern  = regexp.MustCompile(`^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$`)
	sizesPattern = regexp.MustCompile(`^(0|[1-9][0-9]*)x(0|[1-9][0-9]*)$`) // sizes, in range or not
)

// Check refuses what no machine and no kernel could run.
func (o *RunOptions) Check() error {
	for _, c := range []struct {
		what, value string
		valid       []string
	}{
		{"kernel", o.Kernel, KernelNames()},
		{"--mode", o.Mode, Modes},
	} {
		if err := oneOf(c.what, c.value, c.valid); err != nil {
			return err
		}
	}
	if o.Threads < 1 || o.Threads > maxThreads {
		return usagef("--threads is %d; it must be from 1 to %d", o.Threads, maxThreads)
	}
	if err := o.checkWarmup(); err != nil {
		return err
	}
	if err := o.Record.check(o.Mode); err != nil {
		return err
	}
	if o.SampleRounds < 0 {
		return usagef("--sample-rounds is %d; it must not be negative", o.SampleRounds)
	}
	if o.SampleRounds > 0 && (o.Mode != "timing" || o.Verify) {
		return usagef("--sample-rounds leaves workgroups out, which only timing mode can do")
	}
	if o.Trace != "" && o.SampleRounds > 0 {
		return usagef("a trace holds every wave of a run, and --sample-rounds leaves most out: give one or the other")
	}
	if o.Trace != "" && o.Mode == "functional" {
		return usagef("a trace is written by a run with time, which functional mode does not have: leave --mode functional out")
	}
	if o.Trace != "" && o.Warmup != nil && *o.Warmup > 0 {
		return usagef("a trace does not hold what the launches of --warmup leave in the LLC, and its replay would be of another run: leave --warmup out, or give --warmup 0")
	}
	tile := o.Tile
	if tile == "" {
		tile = o.Options["tile"]
	}
	o.Tile = tile
	if o.Tile != "" {
		if _, _, err := twoSizes("--tile", o.Tile, "rows x columns, such as 256x256"); err != nil {
			return err
		}
	}
	if us := o.LaunchOverheadUS; us != nil && (math.IsNaN(*us) || *us < 0 || *us > 1e6) {
		return usagef("--launch-overhead-us is %g; it must be from 0 to 1000000", *us)
	}
	if o.Verify && o.Mode == "timing" {
		return usagef("--verify compares values, which timing mode does not compute: add --mode functional or --mode full")
	}
	return nil
}

// CheckFormat refuses an output format that is not among valid.
func CheckFormat(format string, valid []string) error { return oneOf("--format", format, valid) }

// CheckOneOf refuses a flag's value that is not among valid.
func CheckOneOf(flag, value string, valid []string) error { return oneOf(flag, value, valid) }

// oneOf refuses a value that is not among valid and names those that are.
func oneOf(what, value string, valid []string) error {
	if slices.Contains(valid, value) {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(valid), func(s string) bool { return s == "" })
	return usagef("unknown %s %q: choose %s", what, value, orList(named))
}

// orList joins names as a sentence does.
func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return fmt.Sprintf("%s or %s", strings.Join(names[:last], ", "), names[last])
}
