package sim

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads/npy"
	"github.com/whisker-sim/whisker/workloads/reference"
)

// expectation is what the output must be.
type expectation struct {
	name   string
	output string
	rows   reference.Rows
	limit  float64
}

// tolerances are the limits of max |value - ref| / max(|ref|, rms(ref)) by
// element type: some units of the last place of what is stored.
var tolerances = map[string]float64{"bf16": 1e-2, "f16": 2e-3, "f32": 1e-5, "f64": 1e-12}

// expectation prepares the check, or without values only the operation count.
func (p *prepared) expectation(values bool) (*expectation, error) {
	e := p.file.Expect
	x := &expectation{name: "float64 " + e.Reference}
	var err error
	if e.File != "" {
		x.name, x.output = filepath.Base(e.File), e.Output
		err = p.fromFile(x, p.file.resolve(e.File))
	} else {
		err = p.fromReference(x, e, values)
	}
	if err != nil {
		return nil, err
	}
	if e.Tolerance != nil {
		x.limit = *e.Tolerance
		return x, nil
	}
	a, _, err := p.find(x.output)
	if err != nil {
		return nil, err
	}
	x.limit = tolerances[a.Type] // integers must be equal
	return x, nil
}

// fromFile takes a .npy file as a single row.
func (p *prepared) fromFile(x *expectation, path string) error {
	arr, err := npy.Read(path)
	if err != nil {
		return err
	}
	a, r, err := p.find(x.output)
	if err != nil {
		return err
	}
	width := elementBytes[arr.Type]
	n := len(arr.Data) / width
	if n != int(r.Size)/elementBytes[a.Type] {
		return fmt.Errorf("%s has %d elements, and %s has %d", x.name, n, x.output, int(r.Size)/elementBytes[a.Type])
	}
	value := func(b []byte) float64 { return element(b, arr.Type) }
	if a.Type == "bf16" && arr.Type == "u16" {
		value = func(b []byte) float64 { return element(b, "bf16") }
	}
	x.rows = reference.Rows{Count: 1, Cols: n, Row: func(_ int, dst []float64) {
		for i := range dst {
			dst[i] = value(arr.Data[i*width:])
		}
	}}
	return nil
}

// fromReference binds the roles of a reference to arguments. Parameters that are
// not given come from scalar arguments of the same name, but for attention's
// scale: kernels take it in a base of their own.
func (p *prepared) fromReference(x *expectation, e *LaunchExpect, values bool) error {
	op, err := reference.Find(e.Reference)
	if err != nil {
		return err
	}
	bound := func(role string) string {
		if name, ok := e.Bind[role]; ok {
			return name
		}
		return role
	}
	for role := range e.Bind {
		if role != op.Output && !slices.Contains(op.Inputs, role) {
			return fmt.Errorf("%s has no role %q; it has %s", op.Name, role, strings.Join(append(slices.Clone(op.Inputs), op.Output), ", "))
		}
	}
	in := map[string]reference.Tensor{}
	for _, role := range op.Inputs {
		t, err := p.tensor(bound(role), values)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", op.Name, role, err)
		}
		in[role] = t
	}
	x.output = bound(op.Output)
	out, _, err := p.find(x.output)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", op.Name, op.Output, err)
	}
	params := map[string]float64{}
	for _, name := range op.Params {
		for _, a := range p.args {
			if a.Name == name && !a.buffer() && name != "scale" && elementBytes[a.Type] > 0 {
				b, err := a.bytes()
				if err != nil {
					return err
				}
				params[name] = element(b, a.Type)
			}
		}
	}
	for name, v := range e.Params {
		if !slices.Contains(op.Params, name) {
			return fmt.Errorf("%s has no parameter %q", op.Name, name)
		}
		params[name] = v
	}
	x.rows, err = op.Apply(in, out.Shape, params)
	return err
}

// verify compares the output in memory.
func (x *expectation) verify(p *prepared) *report.Verify {
	a, r, err := p.find(x.output)
	if err != nil {
		return &report.Verify{Reference: x.name, MaxRelativeError: math.MaxFloat64, Limit: x.limit}
	}
	width := elementBytes[a.Type]
	buf := make([]byte, x.rows.Cols*width)
	worst, n := x.rows.Compare(func(i int, dst []float64) {
		p.launch.Memory.Read(r.Base+uint64(i)*uint64(len(buf)), buf)
		for j := range dst {
			dst[j] = element(buf[j*width:], a.Type)
		}
	})
	passed := worst <= x.limit
	if math.IsInf(worst, 0) {
		worst = math.MaxFloat64 // JSON has no infinity
	}
	return &report.Verify{Reference: x.name, Values: n, MaxRelativeError: worst, Limit: x.limit, Passed: passed}
}
