package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
)

// Resolved is a machine with every base followed, and where each value comes
// from.
type Resolved struct {
	label       string // file that errors name
	description string
	machine     Machine
	prov        map[string]provenance // by leaf path
}

// Leaf is one value of a machine with its provenance.
type Leaf struct {
	Path     string // lds.bytes
	Value    string // as a machine file writes it
	Unit     string // B, cycles, ns, ...; "" for counts, switches and words
	Class    string // published, measured, derived, calibrated, assumed
	Source   string
	FittedOn []string // the points of a calibrated value
}

// Difference is a leaf that two machines have different values for.
type Difference struct {
	Leaf string // path
	Unit string
	A, B string // values; "" where a machine leaves an optional leaf out
}

// Machine returns the values. The pointer stays valid across Set.
func (r *Resolved) Machine() *Machine { return &r.machine }

// Description is the sentence that the machine file describes itself with.
func (r *Resolved) Description() string { return r.description }

// Clone returns a copy that can be changed on its own, for sweeps.
func (r *Resolved) Clone() *Resolved {
	c := *r
	c.prov = maps.Clone(r.prov)
	c.machine.Clock.SustainedMHz = maps.Clone(r.machine.Clock.SustainedMHz)
	c.machine.Clock.FittedOn = maps.Clone(r.machine.Clock.FittedOn)
	return &c
}

func (r *Resolved) assign(spec *leafSpec, v value, p provenance) {
	spec.store(&r.machine, v)
	r.prov[spec.path] = p
	if spec.dataType == "" {
		return
	}
	if len(p.fittedOn) > 0 {
		r.machine.Clock.FittedOn[spec.dataType] = p.fittedOn
	} else {
		delete(r.machine.Clock.FittedOn, spec.dataType)
	}
}

// commandLine is the provenance of a value that Set gave.
var commandLine = provenance{class: Assumed, source: CommandLineSource}

// CommandLineSource is the source of a leaf that Resolved.Set has set.
const CommandLineSource = "set on the command line"

// Set changes one leaf by an assignment such as lds.bytes=262144. It checks
// the value against the leaf's own range only, so that leaves which must agree
// can be set one after the other; Validate checks them together. A refused
// assignment changes nothing.
func (r *Resolved) Set(assign string) error {
	path, text, ok := strings.Cut(assign, "=")
	path, text = strings.TrimSpace(path), strings.TrimSpace(text)
	if !ok || path == "" {
		return errorAt("", 0, "%q is not an assignment; write KEY=VALUE, such as lds.bytes=262144", clip(assign))
	}
	spec, err := findLeaf(path)
	if err != nil {
		return err
	}
	v, perr := spec.parse(text)
	if perr != nil {
		return errorAt("", 0, "%s", perr)
	}
	r.assign(spec, v, commandLine)
	return nil
}

// SetAll makes the assignments in order and then checks the machine as a
// whole. After an error the machine is as it was.
func (r *Resolved) SetAll(assigns []string) error {
	c := r.Clone()
	for _, a := range assigns {
		if err := c.Set(a); err != nil {
			return err
		}
	}
	if err := c.Validate(); err != nil {
		return err
	}
	*r = *c
	return nil
}

// findLeaf looks a path up and words the refusal of one that is no leaf.
func findLeaf(path string) (*leafSpec, error) {
	if spec := schemaIndex[path]; spec != nil {
		return spec, nil
	}
	if contains(fileKeys, path) {
		return nil, errorAt("", 0, "%s describes a machine file and cannot be set on the command line", path)
	}
	if isGroup(path) {
		return nil, errorAt("", 0, "%s is a group; its keys are %s", path, strings.Join(childrenOf(path), ", "))
	}
	group, rest := "", path
	for {
		key, after, more := strings.Cut(rest, ".")
		full := joinPath(group, key)
		if more && schemaIndex[full] != nil {
			return nil, errorAt("", 0, "%s is a value and has no keys of its own", full)
		}
		if !more || !isGroup(full) {
			return nil, errorAt("", 0, "%s", unknownKey(group, rest, inAssignment))
		}
		group, rest = full, after
	}
}

// Leaves returns every value in file order.
func (r *Resolved) Leaves() []Leaf {
	leaves := make([]Leaf, 0, len(schema))
	for i := range schema {
		s := &schema[i]
		text, ok := s.text(&r.machine)
		if !ok {
			continue
		}
		p := r.prov[s.path]
		leaves = append(leaves, Leaf{
			Path: s.path, Value: text, Unit: s.unit,
			Class: p.class, Source: p.source, FittedOn: p.fittedOn,
		})
	}
	return leaves
}

// Hash identifies the values: 16 hexadecimal digits, the same for two machines
// exactly when every leaf is the same. Names and sources do not enter.
func (r *Resolved) Hash() string {
	h := sha256.New()
	for _, l := range r.Leaves() {
		fmt.Fprintf(h, "%s=%s\n", l.Path, l.Value)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// YAML prints the machine as one complete machine file, without a base. It
// loads again to the same values and sources.
func (r *Resolved) YAML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\n", quote(r.machine.Name))
	if r.description != "" {
		fmt.Fprintf(&b, "description: %s\n", quote(r.description))
	}
	var open []string // groups that the last line was in
	for _, l := range r.Leaves() {
		keys := strings.Split(l.Path, ".")
		groups := keys[:len(keys)-1]
		same := 0
		for same < len(groups) && same < len(open) && groups[same] == open[same] {
			same++
		}
		for i := same; i < len(groups); i++ {
			fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), groups[i])
		}
		open = groups
		fmt.Fprintf(&b, "%s%s: {value: %s, class: %s, source: %s", strings.Repeat("  ", len(groups)), keys[len(keys)-1],
			l.Value, l.Class, quote(l.Source))
		if len(l.FittedOn) > 0 {
			points := make([]string, len(l.FittedOn))
			for i, p := range l.FittedOn {
				points[i] = quote(p)
			}
			fmt.Fprintf(&b, ", fitted_on: [%s]", strings.Join(points, ", "))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// quote writes a printable string in YAML's double quotes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Diff lists the leaves with different values, in file order.
func Diff(a, b *Resolved) []Difference {
	var diffs []Difference
	for i := range schema {
		s := &schema[i]
		va, oka := s.text(&a.machine)
		vb, okb := s.text(&b.machine)
		if !oka {
			va = ""
		}
		if !okb {
			vb = ""
		}
		if va != vb {
			diffs = append(diffs, Difference{Leaf: s.path, Unit: s.unit, A: va, B: vb})
		}
	}
	return diffs
}
