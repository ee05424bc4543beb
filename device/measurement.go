package device

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Measurement is what files from a real GPU say, whatever wrote them.
type Measurement struct {
	Sources  []Source     `json:"sources"`
	Agents   []Agent      `json:"agents,omitempty"`
	Timing   []*Timing    `json:"timing,omitempty"` // of the host program
	Kernels  []*Kernel    `json:"kernels"`
	Traces   []*CodeTrace `json:"thread_traces,omitempty"`
	Problems []Problem    `json:"problems,omitempty"`
	Notes    []string     `json:"notes,omitempty"`
	byName   map[string]*Kernel
}

// Source is one file.
type Source struct {
	File       string `json:"file"`
	Kind       string `json:"kind"`
	Rows       int64  `json:"rows"`
	Understood int64  `json:"understood"`
	// Unknown names columns that were not understood, and left out.
	Unknown []string `json:"unknown_columns,omitempty"`
}

// Problem is a row, or a file, that was not understood.
type Problem struct {
	File string `json:"file"`
	Line int64  `json:"line,omitempty"` // 0: the whole file
	Text string `json:"text"`
	// More is how many further rows of the file had problems and are not listed.
	More int64 `json:"more,omitempty"`
}

// String is the problem as a sentence.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": " + p.Text
	if p.More > 0 {
		s += fmt.Sprintf(" (and %d more rows)", p.More)
	}
	return s
}

// Agent is a processor of the machine that was measured.
type Agent struct {
	Node       int    `json:"node"`
	Type       string `json:"type"`
	Name       string `json:"name"` // gfx950
	Product    string `json:"product"`
	CUs        int    `json:"cus"`
	SIMDs      int    `json:"simds"`
	XCCs       int    `json:"xccs"`
	LDSKiB     int    `json:"lds_kib"`
	MaxMHz     int    `json:"max_clock_mhz"`
	WavesASIMD int    `json:"max_waves_per_simd"`
	Wavefront  int    `json:"wavefront"`
}

// Kernel is what was measured of one kernel, over its dispatches.
type Kernel struct {
	Name       string     `json:"kernel"`
	Agents     []string   `json:"agents,omitempty"`
	Dispatches int64      `json:"dispatches"`
	Grid       int64      `json:"grid,omitempty"`      // work-items; 0 where dispatches differ
	Workgroup  int64      `json:"workgroup,omitempty"` // work-items
	VGPRs      int64      `json:"vgprs,omitempty"`
	AGPRs      int64      `json:"agprs,omitempty"`
	SGPRs      int64      `json:"sgprs,omitempty"`
	LDSBytes   int64      `json:"lds_bytes,omitempty"`
	TraceUS    *Stats     `json:"trace_us,omitempty"`    // durations of a kernel trace
	ProfiledUS *Stats     `json:"profiled_us,omitempty"` // durations while counters were read, which slows kernels
	Counters   []*Counter `json:"counters,omitempty"`

	byCounter map[string]*Counter
	varies    map[*int64]bool
	seen      bool
}

// Counter is one counter over the dispatches of a kernel.
type Counter struct {
	Name string `json:"counter"`
	Stats

	dispatch int64 // of the value that is being summed up
	file     int
	open     bool
	value    float64
}

// CodeTrace is a thread trace by instruction.
type CodeTrace struct {
	Folder       string      `json:"folder"`
	Waves        int         `json:"waves"` // whose files are there
	Missing      int         `json:"missing_waves,omitempty"`
	Instructions []TracedRow `json:"instructions"`
}

// TracedRow is one instruction of a thread trace, summed over the traced waves.
type TracedRow struct {
	ISA     string `json:"isa"`
	Address int64  `json:"address"`
	Hits    int64  `json:"hits"`
	Latency int64  `json:"latency"` // cycles, stall included
	Stall   int64  `json:"stall"`
	Idle    int64  `json:"idle"`
}

// maxKernels bounds the kernels of a measurement.
const maxKernels = 1 << 16

// kernel finds or makes a kernel.
func (m *Measurement) kernel(name string) (*Kernel, error) {
	if k := m.byName[name]; k != nil {
		return k, nil
	}
	if len(m.Kernels) == maxKernels {
		return nil, fmt.Errorf("more than %d kernels", maxKernels)
	}
	k := &Kernel{Name: name, byCounter: map[string]*Counter{}, varies: map[*int64]bool{}}
	m.byName[name] = k
	m.Kernels = append(m.Kernels, k)
	return k, nil
}

// set notes a property; one that differs between dispatches becomes 0.
func (k *Kernel) set(to *int64, v int64) {
	switch {
	case k.varies[to] || *to == v:
	case *to == 0 && !k.seen:
		*to = v
	default:
		*to, k.varies[to] = 0, true
	}
}

// count adds a counter's value of a dispatch. Values of the same counter of the
// same dispatch, one a die or an instance, are parts of one.
func (k *Kernel) count(name string, file int, dispatch int64, v float64) {
	c := k.byCounter[name]
	if c == nil {
		c = &Counter{Name: name}
		k.byCounter[name] = c
		k.Counters = append(k.Counters, c)
	}
	if c.open && c.dispatch == dispatch && c.file == file {
		c.value += v
		return
	}
	c.close()
	c.open, c.dispatch, c.file, c.value = true, dispatch, file, v
}

func (c *Counter) close() {
	if c.open {
		c.Add(c.value)
	}
	c.open = false
}

// finish computes statistics, sorts, and looks for what the numbers say about
// themselves: records that were lost.
func (m *Measurement) finish() {
	for _, k := range m.Kernels {
		for _, c := range k.Counters {
			c.close()
			c.finish()
			k.Dispatches = max(k.Dispatches, c.N)
		}
		for _, s := range []*Stats{k.TraceUS, k.ProfiledUS} {
			if s != nil {
				s.finish()
				k.Dispatches = max(k.Dispatches, s.N)
			}
		}
		slices.SortFunc(k.Counters, func(a, b *Counter) int { return cmp.Compare(a.Name, b.Name) })
		slices.Sort(k.Agents)
	}
	slices.SortFunc(m.Kernels, func(a, b *Kernel) int { return cmp.Compare(a.Name, b.Name) })
}

// runtimeKernel reports whether a kernel is one of the HIP runtime's own: copies
// and fills.
func runtimeKernel(name string) bool { return strings.HasPrefix(name, "__amd_rocclr_") }

// Counter is the measured counter of a name, nil when there is none.
func (k *Kernel) Counter(name string) *Counter { return k.byCounter[name] }
