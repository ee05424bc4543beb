package sim

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// bufferValues are what the buffers of a launch hold, by the number of the argument.
type bufferValues [][]float64

func buffersOf(t *testing.T, p *prepared) bufferValues {
	t.Helper()
	v := make(bufferValues, len(p.args))
	for i, a := range p.args {
		if !a.buffer() {
			continue
		}
		tensor, err := p.tensor(a.label(i), true)
		if err != nil {
			t.Fatal(err)
		}
		v[i] = tensor.Data
	}
	return v
}

// sums gives the products of the n by n matrix a with x, added to what is in base; by
// columns with down.
func sums(n int, a, x, base []float64, down bool) []float64 {
	out := make([]float64, n)
	copy(out, base)
	for i := range n {
		for j := range n {
			if down {
				out[j] += a[i*n+j] * x[i]
			} else {
				out[i] += a[i*n+j] * x[j]
			}
		}
	}
	return out
}

// timedReferences give what a kernel leaves in the buffers, by the numbers of its
// arguments.
var timedReferences = map[string]func(n, m int, in bufferValues) map[int][]float64{
	"fill": func(n, _ int, in bufferValues) map[int][]float64 { return map[int][]float64{0: make([]float64, n)} },
	"vectoradd": func(n, _ int, in bufferValues) map[int][]float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = in[1][i] + in[2][i]
		}
		return map[int][]float64{0: out}
	},
	"relu": func(n, _ int, in bufferValues) map[int][]float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = max(in[1][i], 0)
		}
		return map[int][]float64{2: out}
	},
	"fir": func(n, m int, in bufferValues) map[int][]float64 {
		out := make([]float64, n)
		for i := range out {
			for k := range m {
				x := in[3][(m-k+i)%m] // only read where the signal has not begun
				if i >= k {
					x = in[2][i-k]
				}
				out[i] += in[1][k] * x
			}
		}
		return map[int][]float64{0: out}
	},
	"atax_rows": func(n, _ int, in bufferValues) map[int][]float64 {
		return map[int][]float64{2: sums(n, in[0], in[1], in[2], false)}
	},
	"atax_columns": func(n, _ int, in bufferValues) map[int][]float64 {
		return map[int][]float64{1: sums(n, in[0], in[2], in[1], true)}
	},
	"bicg_rows": func(n, _ int, in bufferValues) map[int][]float64 {
		return map[int][]float64{2: sums(n, in[0], in[1], nil, false)}
	},
	"bicg_columns": func(n, _ int, in bufferValues) map[int][]float64 {
		return map[int][]float64{2: sums(n, in[0], in[1], nil, true)}
	},
	"matrixtranspose": func(n, _ int, in bufferValues) map[int][]float64 {
		out := make([]float64, n*n)
		for i := range out {
			out[i] = in[1][i%n*n+i/n]
		}
		return map[int][]float64{0: out}
	},
	"matrixmultiplication": func(n, _ int, in bufferValues) map[int][]float64 {
		out := make([]float64, n*n)
		for i := range out {
			for k := range n {
				out[i] += in[0][i/n*n+k] * in[1][k*n+i%n]
			}
		}
		return map[int][]float64{2: out}
	},
	"nbody": func(n, _ int, in bufferValues) map[int][]float64 {
		const step, softening = 0.005, 50
		places, speeds := slices.Clone(in[0]), slices.Clone(in[1])
		for i := range n {
			var pull [3]float64
			for j := range n {
				var way [3]float64
				square := 0.0
				for k := range way {
					way[k] = in[0][4*j+k] - in[0][4*i+k]
					square += way[k] * way[k]
				}
				for k := range way {
					pull[k] += in[0][4*j+3] * way[k] / math.Pow(square+softening, 1.5)
				}
			}
			for k := range pull {
				places[4*i+k] += speeds[4*i+k]*step + pull[k]*step*step/2
				speeds[4*i+k] += pull[k] * step
			}
		}
		return map[int][]float64{6: places, 7: speeds}
	},
	"simpleconvolution": func(n, m int, in bufferValues) map[int][]float64 {
		out := make([]float64, n*n)
		for i := range out {
			s := 0.0
			for k := range m * m {
				s += in[0][(i/n+k/m)*(n+m-1)+i%n+k%m] * in[1][k]
			}
			out[i] = math.Trunc(s + 0.5)
		}
		return map[int][]float64{2: out}
	},
	"im2col": func(n, m int, in bufferValues) map[int][]float64 {
		field := n - m + 1
		out := make([]float64, m*m*field*field)
		for i := range out {
			k, at := i/(field*field), i%(field*field)
			out[i] = in[0][(at/field+k/m)*n+at%field+k%m]
		}
		return map[int][]float64{1: out}
	},
	"stencil2d": func(n, _ int, in bufferValues) map[int][]float64 {
		wide := len(in[0]) / (n + 2)
		out := slices.Clone(in[1]) // what lies around stays
		for r := 1; r <= n; r++ {
			for c := 1; c <= n; c++ {
				s := 0.0
				for k := range 9 {
					s += []float64{0.25, 0.15, 0.05}[(k/3-1)*(k/3-1)+(k%3-1)*(k%3-1)] * in[0][(r+k/3-1)*wide+c+k%3-1]
				}
				out[r*wide+c] = s
			}
		}
		return map[int][]float64{1: out}
	},
}

// Every kernel computes what its name says. The matrix product has one workgroup here: of
// more, each overwrites the block of A that the others read, as in the benchmark.
func TestTimedKernelsCompute(t *testing.T) {
	dir := t.TempDir()
	if err := suite.Extract(dir); err != nil {
		t.Fatal(err)
	}
	object := filepath.Join(dir, "objects", "mi300a.gfx942.co")
	timedKernelsCompute(t, object)
	// And from source, where there is a compiler.
	again, err := suite.Recompile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again {
		timedKernelsCompute(t, object)
	}
}

func timedKernelsCompute(t *testing.T, object string) {
	t.Helper()
	sizes := map[string][2]int{"vectoradd": {1000, 0}, "relu": {1000, 0}, "fir": {512, 16}, "atax": {48, 0}, "bicg": {48, 0}, "matrixtranspose": {128, 0},
		"matrixmultiplication": {32, 0}, "nbody": {512, 0}, "simpleconvolution": {40, 5}, "im2col": {20, 3}, "stencil2d": {128, 0}}
	for _, k := range timedKernels {
		size := sizes[k.name]
		for _, l := range k.launches(size[0], size[1]) {
			l.path, l.CodeObject, l.Seed = l.Kernel, object, 1
			for i := range l.Args {
				if a := &l.Args[i]; a.buffer() {
					a.Fill = map[string]string{"f32": "uniform(-1, 1)", "u32": "uniform(0, 9)"}[a.Type]
				}
			}
			if k.name == "simpleconvolution" { // whole sums: a fraction near a half would round either way
				l.Args[1].Fill = "iota"
			}
			p, err := l.prepare()
			if err != nil {
				t.Fatal(err)
			}
			before := buffersOf(t, p)
			if _, err := emu.Run(p.launch, emu.Options{}); err != nil {
				t.Fatalf("%s: %v", l.Kernel, err)
			}
			after := buffersOf(t, p)
			for i, want := range timedReferences[l.Kernel](size[0], size[1], before) {
				nearly(t, fmt.Sprintf("%s: argument %d", l.Kernel, i), after[i], want)
			}
		}
	}
}

func nearly(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 2e-5*max(1, math.Abs(w))) {
			t.Errorf("%s is %g at %d, want %g", what, got[i], i, w)
			return
		}
	}
}

// Work-items and workgroups are those of the measured launches.
func TestTimedLaunches(t *testing.T) {
	for _, c := range []struct {
		kernel, size string
		want         string // of each launch: kernel, grid, workgroup, LDS
	}{
		{"vectoradd", "67108864", "vectoradd [262144] [256] 0"},
		{"relu", "1000", "relu [4] [256] 0"},
		{"fir", "1024_taps8", "fir [4] [256] 0"},
		{"atax", "384x384", "fill [2] [256] 0, fill [2] [256] 0, atax_rows [2] [256] 0, atax_columns [2] [256] 0"},
		{"bicg", "48x48", "bicg_rows [1] [256] 0, bicg_columns [1] [256] 0"},
		{"matrixtranspose", "192x192", "matrixtranspose [3 3] [16 16] 16384"},
		{"matrixmultiplication", "96x96x96", "matrixmultiplication [3 3] [8 8] 0"},
		{"nbody", "768_particles", "nbody [3] [256] 0"},
		{"simpleconvolution", "128x128_mask9", "simpleconvolution [256] [64] 0"},
		{"im2col", "N1_C1_8x8_k3x3", "im2col [1] [256] 0"},
		{"im2col", "N1_C1_32x32_k5x5", "im2col [4] [256] 0"},
		{"stencil2d", "128x128", "stencil2d [8 2] [1 64] 0"},
	} {
		k := &timedKernels[slices.IndexFunc(timedKernels, func(k timedKernel) bool { return k.name == c.kernel })]
		n, m, err := k.numbers(c.size)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, l := range k.launches(n, m) {
			got = append(got, fmt.Sprint(l.Kernel, " ", l.Grid, l.Workgroup, l.DynamicLDS))
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s %s: %s, want %s", c.kernel, c.size, g, c.want)
		}
	}
}

func TestTimedSizesRefused(t *testing.T) {
	for i := range timedKernels {
		k := &timedKernels[i]
		for _, size := range []string{"", "0", "-1", "x", "48x64", "0x0", "1024_taps", "64x64x32", "N1_C1_8x9_k3x3", "N2_C1_8x8_k3x3", "256_particles ", "1024_taps8x", "4096_taps0", "N1_C1_8x8_k0x0", "128x128_mask0"} {
			if _, _, err := k.numbers(size); err == nil || !strings.Contains(err.Error(), k.name) {
				t.Errorf("%s %q: error %v", k.name, size, err)
			}
		}
		if _, err := k.job(k.short[0], "fast", "1"); err == nil {
			t.Errorf("%s: a time that is no number is accepted", k.name)
		}
	}
}

// Every kernel has sizes in the short form, which are simulated; a size is left out for
// its work alone, and the minimum is no more than the mean.
func TestTimedJobs(t *testing.T) {
	rows, err := readTable("mi300a.csv")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := timedJobs()
	if err != nil || len(jobs) != len(rows) {
		t.Fatalf("%d jobs for %d rows: %v", len(jobs), len(rows), err)
	}
	short := map[string]int{}
	for i, j := range jobs {
		r := rows[i]
		mean, err1 := strconv.ParseFloat(r["avg_us"], 64)
		least, err2 := strconv.ParseFloat(r["min_us"], 64)
		if err1 != nil || err2 != nil || !(least > 0 && least <= mean) {
			t.Errorf("%v: %v, %v", r, err1, err2)
		}
		if j.short {
			short[r["kernel"]]++
		}
		if j.run == nil && !strings.Contains(j.points[0].Note, "M wave instructions") {
			t.Errorf("%s is left out without a reason: %s", j.points[0].Name, j.points[0].Note)
		}
	}
	for _, k := range timedKernels {
		if short[k.name] != len(k.short) || len(k.short) == 0 {
			t.Errorf("%s: %d points in the short form, want %q", k.name, short[k.name], k.short)
		}
	}
}

// The sizes are chosen by estimates of the work that are near the work; these kernels run
// at the peak clock, and launches add up, each with its overhead.
func TestTimedEstimates(t *testing.T) {
	v := &validation{}
	for i := range timedKernels {
		k := &timedKernels[i]
		n, m, err := k.numbers(k.short[0])
		if err != nil {
			t.Fatal(err)
		}
		launches := k.launches(n, m)
		runs, err := v.timed(launches)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		var insts, us float64
		for _, r := range runs {
			insts += float64(r.WaveInstructions)
			us += r.KernelTimeUS + 3
			if r.ClockMHz != 2100 {
				t.Errorf("%s runs at %g MHz", r.Kernel, r.ClockMHz)
			}
		}
		if e := k.insts(float64(n), float64(m)); e < insts/1.5 || e > insts*1.5 {
			t.Errorf("%s %s: %g wave instructions, estimated as %g", k.name, k.short[0], insts, e)
		}
		if got := inAll(runs); math.Abs(got-us) > 1e-9*us {
			t.Errorf("%s: %g us, want %g with a launch overhead each", k.name, got, us)
		}
	}
}

var updatePage = flag.Bool("update", false, "write the table of docs/mi300a.md anew")

const pageBegin, pageEnd = "<!-- mi300a: begin -->\n", "<!-- mi300a: end -->"

// timedTable is how far off the points are, by kernel.
func timedTable(points []ValidatePoint) string {
	var b strings.Builder
	fmt.Fprint(&b, "| kernel | sizes | simulated | mean error | signed | worst | weighed by time |\n|---|---:|---:|---:|---:|---|---:|\n")
	row := func(name string, of []ValidatePoint) {
		var size, signed, off, measured float64
		var simulated int
		var worst *ValidatePoint
		for i := range of {
			p := &of[i]
			if p.Simulated == nil {
				continue
			}
			e := *p.RelativeError
			simulated++
			size += math.Abs(e)
			signed += e
			if p.Measured >= 10 {
				off += math.Abs(*p.Simulated - p.Measured)
				measured += p.Measured
			}
			if worst == nil || math.Abs(e) > math.Abs(*worst.RelativeError) {
				worst = p
			}
		}
		n := float64(max(simulated, 1))
		at := strings.TrimPrefix(worst.Name, name+" ")
		fmt.Fprintf(&b, "| %s | %d | %d | %.1f %% | %+.1f %% | %+.1f %%, %s | %.1f %% |\n", name, len(of), simulated, 100*size/n, 100*signed/n, 100**worst.RelativeError, at, 100*off/measured)
	}
	for _, k := range timedKernels {
		row(k.name, slices.DeleteFunc(slices.Clone(points), func(p ValidatePoint) bool { return !strings.HasPrefix(p.Name, k.name+" ") }))
	}
	row("all", points)
	return b.String()
}

// docs/mi300a.md has the table of the stored points.
func TestTimedPage(t *testing.T) {
	const page = "../docs/mi300a.md"
	stored, err := LoadPoints("tables/validate.csv")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), pageBegin)
	_, after, closed := strings.Cut(rest, pageEnd)
	if !ok || !closed {
		t.Fatalf("%s has no lines %s%s", page, pageBegin, pageEnd)
	}
	want := before + pageBegin + timedTable(slices.DeleteFunc(stored, func(p ValidatePoint) bool { return p.Set != "mi300a" })) + pageEnd + after
	if *updatePage {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("the table of %s is not that of tables/validate.csv: go test ./sim -run TimedPage -update", page)
	}
}
