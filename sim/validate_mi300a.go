package sim

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// timedKernel is a benchmark that was timed on an MI300A over a range of sizes.
type timedKernel struct {
	name  string
	size  string   // how sizes are written: # is a side or length, @ what comes with it
	short []string // sizes of the short form
	// chose says what some of its sizes were looked at for; its points are calibrated.
	chose string
	// insts are the wave instructions of all launches, near enough to choose sizes by.
	insts func(n, m float64) float64
	// launches are those of one measurement, in order.
	launches func(n, m int) []LaunchFile
}

// mostTimedInsts is the rule for what is simulated: sizes with more wave instructions
// than this take up to a minute each, and those below it nine minutes of a core in all.
const mostTimedInsts = 25e6

// Launches of a line of work-items and of a plane of them.
func lineOf(kernel string, n int, args ...LaunchArg) LaunchFile {
	return LaunchFile{Kernel: kernel, Grid: []int{(n + 255) / 256}, Workgroup: []int{256}, Args: args}
}

func planeOf(kernel string, grid, wg [2]int, lds int, args ...LaunchArg) LaunchFile {
	return LaunchFile{Kernel: kernel, Grid: grid[:], Workgroup: wg[:], DynamicLDS: lds, Args: args}
}

// Arguments.
func floats(n int) LaunchArg  { return LaunchArg{Type: "f32", Shape: []int{n}} }
func words(n int) LaunchArg   { return LaunchArg{Type: "u32", Shape: []int{n}} }
func count32(n int) LaunchArg { return scalar("u32", strconv.Itoa(n)) }
func float(x float64) LaunchArg {
	return scalar("f32", strconv.FormatFloat(x, 'g', -1, 64))
}
func pairOf(n int) LaunchArg { // a pair of equal numbers
	return scalar("u64", strconv.FormatUint(uint64(n)<<32|uint64(n), 10))
}
func scalar(kind, v string) LaunchArg { return LaunchArg{Type: kind, Value: &v} }

// null is a pointer that no work-item follows.
var null = scalar("pointer", "0")

// timedKernels are the benchmarks whose work does not depend on data and which are one
// or a few launches. Not here are bfs, spmv, pagerank and kmeans (data), fastwalshtransform,
// bitonicsort, floydwarshall and nw (dozens of launches a measurement), memcopy (DMA
// engines and the host), conv2d and fft.
var timedKernels = []timedKernel{
	{
		name: "vectoradd", size: "#", short: []string{"65536", "4194304"},
		insts: func(n, _ float64) float64 { return waves(n) * 32 },
		launches: func(n, _ int) []LaunchFile {
			return []LaunchFile{lineOf("vectoradd", n, floats(n), floats(n), floats(n), count32(n), count32(1))}
		},
	},
	{
		name: "relu", size: "#", short: []string{"65536", "4194304"},
		insts: func(n, _ float64) float64 { return waves(n) * 23 },
		launches: func(n, _ int) []LaunchFile {
			return []LaunchFile{lineOf("relu", n, count32(n), floats(n), floats(n))}
		},
	},
	{
		name: "fir", size: "#_taps@", short: []string{"4096_taps16", "65536_taps32"},
		insts: func(n, m float64) float64 { return waves(n) * (27 + 16*m) },
		launches: func(n, m int) []LaunchFile {
			return []LaunchFile{lineOf("fir", n, floats(n), floats(m), floats(n), floats(m), count32(m))}
		},
	},
	{
		name: "atax", chose: "tcp.set_hash_bits", size: "#x#", short: []string{"64x64", "256x256"},
		insts: func(n, _ float64) float64 { return 20 * n * waves(n) },
		launches: func(n, _ int) []LaunchFile {
			clear := lineOf("fill", n, words(n), count32(0), count32(n))
			return []LaunchFile{
				clear, clear,
				lineOf("atax_rows", n, floats(n*n), floats(n), floats(n), count32(n), count32(n)),
				lineOf("atax_columns", n, floats(n*n), floats(n), floats(n), count32(n), count32(n)),
			}
		},
	},
	{
		name: "bicg", chose: "tcp.set_hash_bits", size: "#x#", short: []string{"64x64", "256x256"},
		insts: func(n, _ float64) float64 { return 20 * n * waves(n) },
		launches: func(n, _ int) []LaunchFile {
			return []LaunchFile{
				lineOf("bicg_rows", n, floats(n*n), floats(n), floats(n), count32(n), count32(n)),
				lineOf("bicg_columns", n, floats(n*n), floats(n), floats(n), count32(n), count32(n)),
			}
		},
	},
	{
		name: "matrixtranspose", size: "#x#", short: []string{"256x256", "1024x1024"},
		insts: func(n, _ float64) float64 { return waves(n*n/16) * 114 },
		launches: func(n, _ int) []LaunchFile {
			wide, groups := n/4, n/64
			return []LaunchFile{planeOf("matrixtranspose", [2]int{groups, groups}, [2]int{16, 16}, 16*16*16*4,
				floats(n*n), floats(n*n), null, count32(wide), count32(wide), count32(groups), count32(0), count32(0))}
		},
	},
	{
		name: "matrixmultiplication", size: "#x#x#", short: []string{"64x64x64", "256x256x256"},
		insts: func(n, _ float64) float64 { return waves(n*n/16) * n / 4 * 90 },
		launches: func(n, _ int) []LaunchFile {
			groups := n / 32
			return []LaunchFile{planeOf("matrixmultiplication", [2]int{groups, groups}, [2]int{8, 8}, 0,
				floats(n*n), floats(n*n), floats(n*n), count32(n), floats(groups*groups*8*8*4*4))}
		},
	},
	{
		name: "nbody", size: "#_particles", short: []string{"256_particles", "1024_particles"},
		insts: func(n, _ float64) float64 { return waves(n) * n * 55 },
		launches: func(n, _ int) []LaunchFile {
			const step, softening = 0.005, 50
			return []LaunchFile{lineOf("nbody", n, floats(4*n), floats(4*n), count32(n), float(step), float(softening), floats(4*n), floats(4*n), floats(4*n))}
		},
	},
	{
		name: "simpleconvolution", size: "#x#_mask@", short: []string{"256x256_mask3", "512x512_mask5"},
		insts: func(n, m float64) float64 { return waves(n*n) * (50 + 14*m*m) },
		launches: func(n, m int) []LaunchFile {
			wide := n + m - 1
			l := LaunchFile{Kernel: "simpleconvolution", Grid: []int{(n*n + 63) / 64}, Workgroup: []int{64}}
			l.Args = []LaunchArg{words(wide * wide), floats(m * m), words(n * n), count32(n), count32(n), count32(m), count32(m), count32(wide)}
			return []LaunchFile{l}
		},
	},
	{
		name: "im2col", size: "N1_C1_#x#_k@x@", short: []string{"N1_C1_64x64_k3x3", "N1_C1_256x256_k5x5"},
		insts: func(n, m float64) float64 { return waves((n-m+1)*(n-m+1)) * (110 + 90*m*m) },
		launches: func(n, m int) []LaunchFile {
			field := (n - m + 1) * (n - m + 1)
			return []LaunchFile{lineOf("im2col", field, floats(n*n), floats(m*m*field), pairOf(n), pairOf(m), pairOf(1), pairOf(0), pairOf(1), count32(1), count32(1))}
		},
	},
	{
		name: "stencil2d", size: "#x#", short: []string{"256x256", "1024x1024"},
		insts: func(n, _ float64) float64 { return waves(n*n/16) * 500 },
		launches: func(n, _ int) []LaunchFile {
			const align = 16
			padded := (n + 2 + align - 1) / align * align
			return []LaunchFile{planeOf("stencil2d", [2]int{n / 16, n / 64}, [2]int{1, 64}, 0,
				floats((n+2)*padded), floats((n+2)*padded), count32(align), float(0.25), float(0.15), float(0.05))}
		},
	},
}

// waves is how many waves so many work-items are.
func waves(items float64) float64 { return math.Ceil(items / 64) }

// numbers reads a size: a side or length, and what comes with it (0: nothing).
func (k *timedKernel) numbers(size string) (n, m int, err error) {
	format := strings.NewReplacer("#", "%d", "@", "%d").Replace(k.size)
	var v [4]int
	count, _ := fmt.Sscanf(size, format, []any{&v[0], &v[1], &v[2], &v[3]}[:strings.Count(format, "%d")]...)
	n = v[0]
	if strings.Contains(k.size, "@") {
		m = v[max(count, 1)-1]
	}
	if n < 1 || strings.Contains(k.size, "@") && m < 1 || strings.NewReplacer("#", strconv.Itoa(n), "@", strconv.Itoa(m)).Replace(k.size) != size {
		return 0, 0, fmt.Errorf("%s has no size %q; they are written as %s", k.name, size, k.size)
	}
	return n, m, nil
}

// timedJobs are the points of tables/mi300a.csv: the mean of 51 launches, each between two
// events, after one that is not counted.
func timedJobs() ([]*validationJob, error) {
	rows, err := readTable("mi300a.csv")
	if err != nil {
		return nil, err
	}
	var jobs []*validationJob
	for _, r := range rows {
		i := slices.IndexFunc(timedKernels, func(k timedKernel) bool { return k.name == r["kernel"] })
		if i < 0 {
			return nil, fmt.Errorf("tables/mi300a.csv: there is no kernel %q", r["kernel"])
		}
		j, err := timedKernels[i].job(r["size"], r["avg_us"], r["min_us"])
		if err != nil {
			return nil, fmt.Errorf("tables/mi300a.csv: %w", err)
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func (k *timedKernel) job(size, mean, least string) (*validationJob, error) {
	n, m, err := k.numbers(size)
	if err != nil {
		return nil, err
	}
	us, err := strconv.ParseFloat(mean, 64)
	if err != nil {
		return nil, err
	}
	p := ValidatePoint{Name: k.name + " " + size, Unit: "us", Measured: us, Kind: KindPredicted}
	if k.chose != "" {
		p.Kind = KindCalibrated
	}
	if k.insts(float64(n), float64(m)) > mostTimedInsts {
		p.Note = fmt.Sprintf("more than %.0f M wave instructions", mostTimedInsts/1e6)
		return &validationJob{points: []ValidatePoint{p}}, nil
	}
	p.Note = "fastest launch " + least + " us"
	if k.chose != "" {
		p.Note += "; " + k.chose + " was chosen by sizes of this kernel"
	}
	return &validationJob{short: slices.Contains(k.short, size), points: []ValidatePoint{p}, run: func(v *validation, points []ValidatePoint) error {
		runs, err := v.timed(k.launches(n, m))
		if err != nil {
			return err
		}
		points[0].put(inAll(runs), HowWhole)
		for _, r := range runs {
			if r.Power != nil && r.Power.Limited {
				points[0].Note += fmt.Sprintf("; power budget: %.0f MHz", r.ClockMHz)
			}
		}
		return nil
	}}, nil
}

// inAll is what launches take one after the other, each with its launch overhead.
func inAll(runs []*report.Run) (us float64) {
	for _, r := range runs {
		us += r.TimeUS
	}
	return us
}

// timed runs launches. Each finds the LLC as an earlier run of it leaves it, as the
// benchmarks' first, uncounted measurement does.
func (v *validation) timed(launches []LaunchFile) (runs []*report.Run, err error) {
	dir, err := os.MkdirTemp("", "whisker-mi300a-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	object := filepath.Join(dir, "mi300a.co")
	code, err := suite.MI300A()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(object, code, 0o600); err != nil {
		return nil, err
	}
	for i := range launches {
		l := &launches[i]
		l.path, l.CodeObject = "mi300a: "+l.Kernel, object
		r, err := l.run(LaunchOptions{RunOptions: RunOptions{Arch: "mi300a", Set: v.Set, Mode: "timing", Threads: 1}})
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}
