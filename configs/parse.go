package configs

import (
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// The classes of a value's provenance; see the package documentation.
const (
	Published  = "published"
	Measured   = "measured"
	Derived    = "derived"
	Calibrated = "calibrated"
	Assumed    = "assumed"
)

// Classes lists the classes from the firmest to the weakest.
var Classes = []string{Published, Measured, Derived, Calibrated, Assumed}

// provenance is where a value comes from.
type provenance struct {
	class, source string
	fittedOn      []string
}

// assignment is one leaf as a file gives it.
type assignment struct {
	leaf *leafSpec
	line int
	val  value
	prov provenance
}

// file is one parsed machine file, its base not yet followed.
type file struct {
	label       string // as errors name it
	name        string
	base        string
	baseLine    int
	description string
	assigns     []assignment
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parseFile reads one machine file. label is how errors name it.
func parseFile(label string, data []byte) (f *file, err error) {
	if err := checkRaw(label, data); err != nil {
		return nil, err
	}
	// The YAML parser panics on some malformed inputs; to the user that is one
	// more syntax error.
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, errorAt(label, 0, "is not valid YAML")
		}
	}()
	tree, perr := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if perr != nil {
		return nil, syntaxError(label, perr)
	}
	var body ast.Node
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, errorAt(label, lineOf(doc.Body), "holds several YAML documents; a machine file is one")
		}
		body = doc.Body
	}
	if body == nil || body.Type() == ast.NullType {
		return nil, errorAt(label, 0, "is empty; a machine file needs at least a base, such as base: mi355x")
	}
	f = &file{label: label}
	if err := f.group("", body); err != nil {
		return nil, err
	}
	return f, nil
}

// entry is a key of a mapping with its value.
type entry struct {
	key  string
	line int
	node ast.Node
}

// entries returns the entries of a mapping, refusing duplicate keys. what
// names the mapping in errors.
func (f *file) entries(what string, n ast.Node) ([]entry, error) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil, errorAt(f.label, lineOf(n), "%s is empty; give it keys or leave it out", what)
	default:
		return nil, errorAt(f.label, lineOf(n), "%s wants keys and values, got %s", what, describe(n))
	}
	out := make([]entry, 0, len(values))
	seen := make(map[string]int, len(values))
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			return nil, errorAt(f.label, lineOf(v.Key), "%s has a key that is %s; keys are plain words", what, describe(v.Key))
		}
		line := lineOf(v.Key)
		if first, dup := seen[key.Value]; dup {
			return nil, errorAt(f.label, line, "duplicate key %q in %s; it is first given on line %d", clip(key.Value), what, first)
		}
		seen[key.Value] = line
		out = append(out, entry{key.Value, line, v.Value})
	}
	return out, nil
}

// group reads the mapping at path ("" is the whole file).
func (f *file) group(path string, n ast.Node) error {
	what := path
	if path == "" {
		what = "the file"
	}
	list, err := f.entries(what, n)
	if err != nil {
		return err
	}
	for _, e := range list {
		if path == "" {
			if handled, err := f.header(e); err != nil {
				return err
			} else if handled {
				continue
			}
		}
		full := joinPath(path, e.key)
		if spec := schemaIndex[full]; spec != nil {
			if err := f.leaf(spec, e); err != nil {
				return err
			}
		} else if isGroup(full) {
			if err := f.group(full, e.node); err != nil {
				return err
			}
		} else {
			return errorAt(f.label, e.line, "%s", unknownKey(path, e.key, inFile))
		}
	}
	return nil
}

// header reads the keys that describe the file itself.
func (f *file) header(e entry) (handled bool, err error) {
	var dst *string
	switch e.key {
	case "name":
		dst = &f.name
	case "base":
		dst, f.baseLine = &f.base, e.line
	case "description":
		dst = &f.description
	default:
		return false, nil
	}
	text, err := f.text(e.key, e)
	if err != nil {
		return true, err
	}
	if e.key == "name" && !namePattern.MatchString(text) {
		return true, errorAt(f.label, e.line, "name %q wants letters, digits, dot, dash and underscore only, 64 at most", clip(text))
	}
	*dst = text
	return true, nil
}

// text reads a string of one printable line; folded lines are joined.
func (f *file) text(what string, e entry) (string, error) {
	var s string
	switch n := e.node.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = n.Value.Value
	default:
		return "", errorAt(f.label, e.line, "%s wants text, got %s", what, describe(e.node))
	}
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "", errorAt(f.label, e.line, "%s is empty", what)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", errorAt(f.label, e.line, "%s holds a character that cannot be printed", what)
	}
	return s, nil
}

// leaf reads one leaf in its long or short form.
func (f *file) leaf(spec *leafSpec, e entry) error {
	a := assignment{leaf: spec, line: e.line}
	switch e.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return f.longForm(a, e)
	}
	a.prov = provenance{class: Assumed, source: "set in " + filepath.Base(f.label)}
	return f.finish(a, e)
}

// longForm reads {value: ..., class: ..., source: ..., fitted_on: [...]}.
func (f *file) longForm(a assignment, e entry) error {
	list, err := f.entries(a.leaf.path, e.node)
	if err != nil {
		return err
	}
	var val *entry
	for i, part := range list {
		what := a.leaf.path + "." + part.key
		switch part.key {
		case "value":
			val = &list[i]
		case "class":
			a.prov.class, err = f.text(what, part)
			if err == nil && !contains(Classes, a.prov.class) {
				err = errorAt(f.label, part.line, "%s is %q; the classes are %s", what, clip(a.prov.class), strings.Join(Classes, ", "))
			}
		case "source":
			a.prov.source, err = f.text(what, part)
		case "fitted_on":
			a.prov.fittedOn, err = f.textList(what, part)
		default:
			err = errorAt(f.label, part.line, "unknown key %q in %s; a leaf has value, class, source and fitted_on", clip(part.key), a.leaf.path)
		}
		if err != nil {
			return err
		}
	}
	if val == nil {
		return errorAt(f.label, e.line, "%s has no value", a.leaf.path)
	}
	if err := f.checkProvenance(a); err != nil {
		return err
	}
	return f.finish(a, *val)
}

func (f *file) checkProvenance(a assignment) error {
	switch path := a.leaf.path; {
	case a.prov.class == "":
		return errorAt(f.label, a.line, "%s has no class; the classes are %s", path, strings.Join(Classes, ", "))
	case a.prov.source == "":
		return errorAt(f.label, a.line, "%s has no source", path)
	case a.prov.class == Calibrated && len(a.prov.fittedOn) == 0:
		return errorAt(f.label, a.line, "%s is calibrated; fitted_on must name the points it was fitted on", path)
	case a.prov.class != Calibrated && len(a.prov.fittedOn) > 0:
		return errorAt(f.label, a.line, "%s has fitted_on but is %s; only calibrated values are fitted", path, a.prov.class)
	}
	return nil
}

// finish reads the value itself and keeps the assignment.
func (f *file) finish(a assignment, e entry) error {
	var isText bool
	switch e.node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
	case *ast.StringNode:
		isText = true
	default:
		return errorAt(f.label, e.line, "%s wants %s, got %s", a.leaf.path, a.leaf.rangeText(), describe(e.node))
	}
	text := e.node.GetToken().Value
	val, err := a.leaf.parse(text)
	if err != nil {
		return errorAt(f.label, e.line, "%s", err)
	}
	if isText && a.leaf.kind != kindString {
		return errorAt(f.label, e.line, "%s is quoted; write %s without quotes", a.leaf.path, text)
	}
	a.val = val
	f.assigns = append(f.assigns, a)
	return nil
}

// textList reads a list of strings.
func (f *file) textList(what string, e entry) ([]string, error) {
	seq, ok := e.node.(*ast.SequenceNode)
	if !ok {
		return nil, errorAt(f.label, e.line, "%s wants a list of points, got %s", what, describe(e.node))
	}
	var out []string
	for _, n := range seq.Values {
		s, err := f.text(what, entry{line: e.line, node: n})
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
