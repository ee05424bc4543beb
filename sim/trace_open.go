package sim

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/workloads"
)

// openedTrace is a trace file that is open for reading.
type openedTrace struct {
	*trace.Reader
	file *os.File
	path string
	aged string // what its machine lacks and where that was taken from; empty: nothing
	same string // hash of its machine with that, empty: the one it carries
}

// recordedOn reports whether a machine is the one that launch i was recorded on.
func (t *openedTrace) recordedOn(i int, machine *configs.Resolved) bool {
	h := machine.Hash()
	return h == t.Launch(i).Machine.Hash || h == t.same
}

// openTrace opens a trace; what is wrong with it is said in one sentence.
func openTrace(path string, allowTruncated bool) (*openedTrace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &UsageError{err}
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = errors.New("it is a folder")
	}
	var r *trace.Reader
	if err == nil {
		r, err = trace.NewReader(f, st.Size(), trace.Options{AllowTruncated: allowTruncated})
	}
	if err != nil {
		f.Close()
		if errors.Is(err, trace.ErrTruncated) && !allowTruncated {
			err = fmt.Errorf("%w; --allow-truncated takes it up to its last whole chunk", err)
		}
		return nil, usagef("%s: %w", path, err)
	}
	return &openedTrace{Reader: r, file: f, path: path}, nil
}

func (t *openedTrace) Close() error { return t.file.Close() }

// traceFault marks errors of a trace's content as the user's.
func traceFault(err error) error {
	for _, e := range []error{trace.ErrFormat, trace.ErrTruncated, trace.ErrChecksum, trace.ErrVersion} {
		if errors.Is(err, e) {
			return &UsageError{err}
		}
	}
	return err
}

// built rebuilds a launch.
func (t *openedTrace) built(i int) (*workloads.Built, error) {
	l := t.Launch(i)
	k, err := kernelOf(l, t.Program(i))
	if err != nil {
		return nil, err
	}
	n := 1
	for _, d := range l.Workgroups {
		if d < 1 || d > maxWorkgroups || n*d > maxWorkgroups {
			return nil, fmt.Errorf("its grid is %v", l.Workgroups)
		}
		n *= d
	}
	if g := t.Workgroups(i); len(g) > 0 && g[len(g)-1] >= n {
		return nil, fmt.Errorf("it has workgroup %d of %d", g[len(g)-1], n)
	}
	arg, err := hex.DecodeString(l.Kernarg)
	if err != nil {
		return nil, fmt.Errorf("its kernel arguments: %w", err)
	}
	mem := isa.NewMemory()
	for _, r := range l.Regions {
		if r.Bytes > maxBufferBytes {
			return nil, fmt.Errorf("region %s has %d bytes", r.Name, r.Bytes)
		}
		if isa.Placed(r.Base) {
			if err := mem.Place(r.Name, r.Base, r.Bytes); err != nil {
				return nil, fmt.Errorf("region %s: %w", r.Name, err)
			}
			continue
		}
		if base := mem.Alloc(r.Name, r.Bytes); base != r.Base {
			return nil, fmt.Errorf("region %s lies at %#x, where this version of Whisker puts %#x", r.Name, r.Base, base)
		}
	}
	b := &workloads.Built{LoopKTiles: 1, Dropped: -1, LDSUsed: k.LDSBytes}
	b.Launch = &isa.Launch{Kernel: k, Workgroups: l.Workgroups, Kernarg: arg, Memory: mem}
	return b, nil
}

// kernelOf decodes the program of a launch.
func kernelOf(l *trace.Launch, p trace.Program) (*isa.Kernel, error) {
	cpu, err := cpuOf(l.CPU)
	if err != nil {
		return nil, err
	}
	k := &isa.Kernel{Name: l.Kernel, CPU: cpu, Entry: l.Entry, VGPRs: l.VGPRs, AGPRs: l.AGPRs, SGPRs: l.SGPRs,
		LDSBytes: l.LDS, ScratchBytes: l.Scratch, Workgroup: l.Workgroup, Insts: make([]isa.Inst, len(p))}
	for i := range p {
		in, err := isa.Decode(cpu, p[i].Code)
		if err == nil && int(in.Size) != len(p[i].Code) {
			err = fmt.Errorf("%d bytes are too many", len(p[i].Code)-int(in.Size))
		}
		if err != nil {
			return nil, fmt.Errorf("instruction %d at pc %#x: %w", i, p[i].PC, err)
		}
		in.PC, in.Target = p[i].PC, p[i].Target
		k.Insts[i] = in
	}
	switch n := k.WorkgroupSize(); {
	case len(p) == 0:
		return nil, errors.New("its program is empty")
	case k.Entry < 0 || k.Entry >= len(p):
		return nil, fmt.Errorf("it begins at instruction %d of %d", k.Entry, len(p))
	case min(l.Workgroup[0], l.Workgroup[1], l.Workgroup[2]) < 1 || max(l.Workgroup[0], l.Workgroup[1], l.Workgroup[2]) > 1024 || n > 1024:
		return nil, fmt.Errorf("its workgroup is %v", l.Workgroup)
	case min(k.VGPRs, k.AGPRs, k.SGPRs, k.LDSBytes, k.ScratchBytes) < 0 || max(k.VGPRs, k.AGPRs) > 256 || k.SGPRs > isa.NumSGPRs || max(k.LDSBytes, k.ScratchBytes) > 1<<30:
		return nil, fmt.Errorf("it has %d VGPRs, %d AGPRs, %d SGPRs and %d bytes of LDS", k.VGPRs, k.AGPRs, k.SGPRs, k.LDSBytes)
	}
	return k, nil
}

// matches compares the launches of a kernel, or all of them where it is empty, with
// the kernels of the same names of a code object; an empty path matches anything.
func (t *openedTrace) matches(object, kernel string) error {
	if object == "" && kernel != "" {
		return usagef("--kernel %s names a kernel of a code object: give --code-object too", kernel)
	}
	if object == "" {
		return nil
	}
	f, err := openObject(object)
	if err != nil {
		return err
	}
	var names []string
	compared := false
	for i := range t.Launches() {
		l := t.Launch(i)
		if !slices.Contains(names, l.Kernel) {
			names = append(names, l.Kernel)
		}
		if kernel != "" && l.Kernel != kernel {
			continue
		}
		compared = true
		if l.CPU != f.CPU.String() {
			return usagef("%s was recorded on %s, and %s is code for %s", t.path, l.CPU, object, f.CPU)
		}
		k, _, err := f.Kernel(l.Kernel)
		if err != nil {
			return &UsageError{err}
		}
		p, err := programOf(k)
		if err != nil {
			return err
		}
		if l.Program != p.Hash() {
			return usagef("%s was recorded from other code than kernel %s of %s: %s", t.path, l.Kernel, object, firstDifference(t.Program(i), p))
		}
	}
	if !compared {
		return usagef("%s has no launch of kernel %s; it has %s", t.path, kernel, strings.Join(names, ", "))
	}
	return nil
}

// firstDifference says where two programs part.
func firstDifference(a, b trace.Program) string {
	for i := range min(len(a), len(b)) {
		if a[i].PC != b[i].PC || string(a[i].Code) != string(b[i].Code) {
			return fmt.Sprintf("they differ first at pc %#x", min(a[i].PC, b[i].PC))
		}
	}
	return fmt.Sprintf("it has %d instructions, and the kernel %d", len(a), len(b))
}
