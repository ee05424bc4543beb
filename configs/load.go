package configs

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed *.yaml
var builtin embed.FS

// names are the built-in machines, newest part first; the what-if and teaching last.
var names = []string{"mi355x", "mi350x", "mi325x", "mi300x", "mi300a", "b200-like", "teaching"}

// Names lists the built-in machines.
func Names() []string { return append([]string(nil), names...) }

// maxBases bounds a chain of base links.
const maxBases = 16

// Load resolves a built-in machine by name (case does not matter) or a machine
// file by path, and checks it. A path is told from a name by a slash, a
// .yaml or .yml ending, or by existing.
func Load(nameOrPath string) (*Resolved, error) {
	if nameOrPath == "" {
		return nil, errorAt("", 0, "no machine is named; the built-in ones are %s", strings.Join(names, ", "))
	}
	return resolve(origin{ref: nameOrPath})
}

// parseBytes resolves data as if it were read from a file called label in the
// current folder.
func parseBytes(label string, data []byte) (*Resolved, error) {
	f, err := parseFile(label, data)
	if err != nil {
		return nil, err
	}
	chain, err := follow([]*file{f}, []string{label}, f, "")
	if err != nil {
		return nil, err
	}
	return merge(chain)
}

// origin is a reference to a machine file and who makes it.
type origin struct {
	ref    string
	folder string // of the file that names ref as its base
	from   *file  // that file; nil for the user's own reference
}

// fail words a fault in reaching the reference: at the base line when a file
// makes it.
func (o origin) fail(format string, args ...any) *Error {
	if o.from == nil {
		return errorAt("", 0, format, args...)
	}
	return errorAt(o.from.label, o.from.baseLine, "base: "+format, args...)
}

func resolve(o origin) (*Resolved, error) {
	f, id, folder, err := open(o)
	if err != nil {
		return nil, err
	}
	chain, err := follow([]*file{f}, []string{id}, f, folder)
	if err != nil {
		return nil, err
	}
	return merge(chain)
}

// follow appends the bases of f to chain, derived file first.
func follow(chain []*file, ids []string, f *file, folder string) ([]*file, error) {
	for f.base != "" {
		next, id, nextFolder, err := open(origin{ref: f.base, folder: folder, from: f})
		if err != nil {
			return nil, err
		}
		for _, seen := range ids {
			if seen == id {
				return nil, errorAt(f.label, f.baseLine, "base cycle: %s", cycleText(chain, next))
			}
		}
		if len(chain) == maxBases {
			return nil, errorAt(f.label, f.baseLine, "base chain is longer than %d files", maxBases)
		}
		chain, ids = append(chain, next), append(ids, id)
		f, folder = next, nextFolder
	}
	return chain, nil
}

func cycleText(chain []*file, last *file) string {
	labels := make([]string, 0, len(chain)+1)
	for _, f := range chain {
		labels = append(labels, f.label)
	}
	return strings.Join(append(labels, last.label), " -> ")
}

// open finds and parses what o refers to. id tells two files apart; folder is
// where the file's own base paths start.
func open(o origin) (f *file, id, folder string, err error) {
	if name := strings.ToLower(o.ref); contains(names, name) {
		label := name + ".yaml"
		data, err := builtin.ReadFile(label)
		if err != nil {
			panic("configs: built-in machine " + name + " is not embedded: " + err.Error())
		}
		f, err := parseFile(label, data)
		return f, "built-in " + name, "", err
	}
	path := o.ref
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.folder, path)
	}
	data, err := readFile(o, path)
	if err != nil {
		return nil, "", "", err
	}
	if id, err = filepath.Abs(path); err != nil {
		id = path
	}
	if real, err := filepath.EvalSymlinks(id); err == nil {
		id = real
	}
	f, err = parseFile(path, data)
	return f, id, filepath.Dir(path), err
}

func readFile(o origin, path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, notFound(o, path, err)
	}
	defer file.Close()
	if st, err := file.Stat(); err == nil && st.IsDir() {
		return nil, o.fail("%s is a directory, not a machine file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, o.fail("%s cannot be read: %v", path, reason(err))
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil // editors on Windows put a byte order mark in front
}

func notFound(o origin, path string, err error) *Error {
	if !errors.Is(err, fs.ErrNotExist) {
		return o.fail("%s cannot be opened: %v", path, reason(err))
	}
	if strings.ContainsAny(o.ref, `/\`) || strings.HasSuffix(o.ref, ".yaml") || strings.HasSuffix(o.ref, ".yml") {
		return o.fail("there is no machine file %s", path)
	}
	list := strings.Join(names, ", ")
	if near := nearest(o.ref, names); near != "" {
		return o.fail("there is no machine %q; did you mean %s? Built in are %s; a file may be named by its path.", o.ref, near, list)
	}
	return o.fail("there is no machine %q; built in are %s, and a file may be named by its path", o.ref, list)
}

// reason drops the operation and path that the caller already names.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// merge applies the chain from its root to the derived file and checks the result.
func merge(chain []*file) (*Resolved, error) {
	r := apply(chain)
	if err := r.checkComplete(chain[0].base != ""); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// apply takes the values of the chain, which may leave some leaves open.
func apply(chain []*file) *Resolved {
	top := chain[0]
	r := &Resolved{
		label: top.label,
		prov:  make(map[string]provenance, len(schema)),
		machine: Machine{
			Name:  top.name,
			Clock: Clock{SustainedMHz: map[string]float64{}, FittedOn: map[string][]string{}},
		},
	}
	if r.machine.Name == "" {
		r.machine.Name = nameFromFile(top.label)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		for _, a := range chain[i].assigns {
			r.assign(a.leaf, a.val, a.prov)
		}
		if d := chain[i].description; d != "" {
			r.description = d
		}
	}
	return r
}

// nameFromFile is the machine's name when its file gives none: the file's own
// name with anything unprintable in a report replaced.
func nameFromFile(label string) string {
	base := filepath.Base(label)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	base = strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-", r) || (r < 128 && namePattern.MatchString(string(r))) {
			return r
		}
		return '_'
	}, base)
	if !namePattern.MatchString(base) {
		return "machine"
	}
	return base
}

// open lists the leaves without a value.
func (r *Resolved) open() (missing []string) {
	for i := range schema {
		if _, ok := r.prov[schema[i].path]; !ok && !schema[i].optional {
			missing = append(missing, schema[i].path)
		}
	}
	return missing
}

func (r *Resolved) checkComplete(hasBase bool) error {
	missing := r.open()
	if len(missing) == 0 {
		return nil
	}
	shown, more := missing, ""
	if len(shown) > 4 {
		shown, more = shown[:4], ", ..."
	}
	hint := ""
	if !hasBase {
		hint = "; name a base to inherit from, such as base: mi355x"
	}
	return errorAt(r.label, 0, "gives no value for %d leaves (%s%s)%s", len(missing), strings.Join(shown, ", "), more, hint)
}
