package study

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/workloads"
)

// defaultMachine is the machine of a study that names none, as of whisker run.
const defaultMachine = "mi355x"

// otherNames are spellings that the command line has for the same thing.
var otherNames = map[string]string{"arch": "machine", "W": "window", "C": "chunk", "w": "window", "c": "chunk"}

// normal gives a key its one spelling: words joined by underscores, machine
// leaves without set.
func normal(key string) string {
	if leaf, ok := strings.CutPrefix(key, "set."); ok {
		return leaf
	}
	if !strings.Contains(key, ".") {
		key = strings.ReplaceAll(key, "-", "_")
	}
	if other, ok := otherNames[key]; ok {
		return other
	}
	return key
}

// runKeys are the keys that belong to a run and to no kernel.
var runKeys = []string{"kernel", "launch", "machine", "mode", "seed", "verify", "cold_llc", "launch_overhead_us", "host_sync", "sample_rounds", "max_cycles"}

// sizeKey sets m, n and k at once, as --size does.
const sizeKey = "size"

// optionKeys are the keys of a kernel's own options.
func optionKeys(kernel string) []string {
	d, ok := workloads.Define(kernel)
	if !ok {
		return nil
	}
	var keys []string
	for _, o := range d.Options() {
		keys = append(keys, strings.ReplaceAll(o.Name, "-", "_"))
	}
	if slices.Contains(keys, "m") && slices.Contains(keys, "n") && slices.Contains(keys, "k") {
		keys = append(keys, sizeKey)
	}
	return keys
}

// checkPoint refuses a point with a key that nothing takes, or a value that its
// key alone rules out. Whether the values fit together is for the run to say.
func checkPoint(s *Study, p Point) error {
	if _, err := s.runOptions(p); err != nil {
		return err
	}
	base, err := s.machine(s.machineRef(p.get("machine", defaultMachine)))
	if err != nil {
		return err
	}
	for _, set := range p.Settings {
		if !isLeaf(set.Key) {
			continue
		}
		if err := base.Set(set.Key + "=" + set.Value); err != nil {
			return err
		}
	}
	return nil
}

// machine loads a machine once; the copy is the caller's.
func (s *Study) machine(ref string) (*configs.Resolved, error) {
	if s.loaded == nil {
		s.loaded = map[string]*configs.Resolved{}
	}
	m, ok := s.loaded[ref]
	if !ok {
		var err error
		if m, err = configs.Load(ref); err != nil {
			return nil, err
		}
		s.loaded[ref] = m
	}
	return m.Clone(), nil
}

// leaves are the paths of all machine leaves.
var leaves = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range configs.Keys() {
		m[k.Path] = true
	}
	return m
}()

func isLeaf(key string) bool { return leaves[key] }

// runOptions turns a point's settings into what Run takes.
func (s *Study) runOptions(p Point) (sim.RunOptions, error) {
	kernel := p.get("kernel", "")
	o := sim.RunOptions{Kernel: kernel, Arch: defaultMachine, Mode: "timing", Threads: 1, Seed: 1, PerInstruction: true}
	own := optionKeys(kernel)
	switch launch := p.get("launch", ""); {
	case launch != "" && kernel != "":
		return o, errors.New("it names a kernel and a launch file: leave one of them out")
	case launch != "":
		o.Kernel = sim.KernelNames()[0] // any passes Check; the launch file names its own
	case own == nil:
		return o, unknownKernel(kernel)
	}
	for _, set := range p.Settings {
		var err error
		switch {
		case set.Key == "machine":
			o.Arch, o.Machine = machineChoice(s.machineRef(set.Value))
		case kernel == "" && set.Key == "seed":
			return o, errors.New("seed: a launch file has its own")
		case isLeaf(set.Key):
			o.Set = append(o.Set, set.Key+"="+set.Value)
		case slices.Contains(runKeys, set.Key):
			err = setRunKey(&o, set)
		case slices.Contains(own, set.Key):
			// options below takes it
		default:
			err = unknownKey(set.Key, kernel, own)
		}
		if err != nil {
			return o, err
		}
	}
	o.Options = s.options(p)
	return o, o.Check()
}

// launch runs the point's launch file.
func (s *Study) launch(p Point, o sim.RunOptions) (*report.Run, error) {
	o.Kernel = ""
	most, err := strconv.ParseInt(p.get("max_cycles", "0"), 10, 64)
	if err != nil {
		return nil, err
	}
	return sim.RunLaunch(sim.LaunchOptions{File: s.relative(p.get("launch", "")), MaxCycles: most, RunOptions: o})
}

// machineChoice tells a built-in machine from a file.
func machineChoice(ref string) (arch, file string) {
	if slices.Contains(configs.Names(), strings.ToLower(ref)) {
		return ref, ""
	}
	return defaultMachine, ref
}

// setRunKey sets what belongs to the run.
func setRunKey(o *sim.RunOptions, set results.Setting) error {
	var err error
	switch set.Key {
	case "mode":
		o.Mode = set.Value
	case "seed":
		o.Seed, err = strconv.ParseUint(set.Value, 10, 64)
	case "verify":
		o.Verify, err = strconv.ParseBool(set.Value)
	case "cold_llc":
		o.ColdLLC, err = strconv.ParseBool(set.Value)
	case "host_sync":
		var waits bool
		waits, err = strconv.ParseBool(set.Value)
		o.HostSync = &waits
	case "sample_rounds":
		o.SampleRounds, err = strconv.Atoi(set.Value)
	case "max_cycles": // of a launch; see launch
		_, err = strconv.ParseInt(set.Value, 10, 64)
	case "launch_overhead_us":
		var us float64
		us, err = strconv.ParseFloat(set.Value, 64)
		o.LaunchOverheadUS = &us
	}
	if err != nil {
		return fmt.Errorf("%s is %q, which is not a value that it takes", set.Key, set.Value)
	}
	return nil
}

var errNoKernel = errors.New("it names no kernel; write kernel: gemm, make kernel an axis, or name a launch file with launch")

func unknownKernel(kernel string) error {
	if kernel == "" {
		return errNoKernel
	}
	var all []string
	for _, d := range workloads.Definitions {
		all = append(all, d.Name)
	}
	return fmt.Errorf("unknown kernel %q; there are %s", kernel, strings.Join(all, ", "))
}

// unknownKey words the refusal of a key that is neither of the run, nor of the
// kernel, nor a leaf of the machine.
func unknownKey(key, kernel string, own []string) error {
	base, err := configs.Load(defaultMachine)
	if err != nil {
		return err
	}
	if strings.Contains(key, ".") {
		// The machine's own refusal names the neighbours.
		return base.Set(key + "=0")
	}
	likely := ""
	if near := nearest(key, append(slices.Clone(runKeys), own...)); near != "" {
		likely = fmt.Sprintf("; did you mean %s?", near)
	}
	of := ""
	if kernel != "" {
		of = fmt.Sprintf("those of %s are %s, ", kernel, strings.Join(own, ", "))
	}
	return fmt.Errorf("unknown key %q%s The keys of a run are %s, %sand any leaf of the machine, such as lds.bytes, is one too", key,
		endSentence(likely), strings.Join(runKeys, ", "), of)
}

func endSentence(s string) string {
	if s == "" {
		return "."
	}
	return s
}

// nearest is the name with the fewest edits to key, when they are few.
func nearest(key string, names []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, n := range names {
		if d := edits(key, n); d < least && d < len(key) {
			best, least = n, d
		}
	}
	return best
}

// edits counts the letters to insert, delete or replace that turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
