package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

// Study is a study file as it was understood.
type Study struct {
	Name   string
	Fixed  []results.Setting // in the file's order, the kernel first
	Groups []Group           // crossed with each other, the last one innermost
	Where  []string          // what every point must satisfy

	path      string
	folder    string // that machine files are relative to
	confirmed bool   // any number of points is wanted
	rules     []rule
	loaded    map[string]*configs.Resolved // machines by reference
	print     string                       // fingerprint, once asked for
}

// Group is axes that advance together; most groups have one.
type Group struct {
	Axes []results.Axis
}

// Len is how many steps the group has.
func (g Group) Len() int { return len(g.Axes[0].Values) }

// maxStudyBytes bounds a study file.
const maxStudyBytes = 16 << 20

// usagef makes an error of the study's author.
func usagef(format string, args ...any) error {
	return &sim.UsageError{Err: fmt.Errorf(format, args...)}
}

// MostPoints is the most points that a study may have without being confirmed.
const MostPoints = 10_000

// tooMany is the refusal of a large study.
func tooMany(points int64, least string) error {
	return fmt.Errorf("it has %s%d points; more than %d run only with --yes", least, points, MostPoints)
}

// Read reads a study file and checks every key and value in it. A study of more
// than MostPoints is refused unless it is confirmed.
func Read(path string, confirmed bool) (*Study, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("study %s cannot be opened: %v", path, errors.Unwrap(err))
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, usagef("%s is a folder, not a study file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxStudyBytes+1))
	if err != nil {
		return nil, usagef("study %s cannot be read: %v", path, err)
	}
	if len(data) > maxStudyBytes {
		return nil, usagef("study %s is larger than %d bytes", path, maxStudyBytes)
	}
	return Parse(path, bytes.TrimPrefix(data, []byte("\ufeff")), confirmed)
}

// Parse reads a study from the text of the file that is called path.
func Parse(path string, data []byte, confirmed bool) (*Study, error) {
	s := &Study{path: path, folder: filepath.Dir(path), confirmed: confirmed}
	err := s.parse(data)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, usagef("study %s: %w", path, err)
	}
	return s, nil
}

// studyKeys are the keys of a study file.
const studyKeys = "name, description, kernel, fixed, axes, zip and where"

func (s *Study) parse(data []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("is no YAML") // the parser gives up on some malformed text
		}
	}()
	if err := codeobj.CheckYAML(data); err != nil {
		return err
	}
	var top any
	if err := yaml.UnmarshalWithOptions(data, &top, yaml.UseOrderedMap()); err != nil {
		return yamlError(err)
	}
	m, ok := top.(yaml.MapSlice)
	if !ok {
		return fmt.Errorf("it must be a mapping with the keys %s", studyKeys)
	}
	s.Name = strings.TrimSuffix(filepath.Base(s.path), filepath.Ext(s.path))
	var zip any
	for _, item := range m {
		switch key := fmt.Sprint(item.Key); key {
		case "name":
			s.Name, err = text("name", item.Value)
		case "description":
			_, err = text("description", item.Value)
		case "kernel":
			var k string
			if k, err = text("kernel", item.Value); err == nil {
				s.Fixed = append([]results.Setting{{Key: "kernel", Value: k}}, s.Fixed...)
			}
		case "fixed":
			err = s.parseFixed(item.Value)
		case "axes":
			err = s.parseAxes(item.Value)
		case "zip":
			zip = item.Value
		case "where":
			err = s.parseWhere(item.Value)
		default:
			err = fmt.Errorf("unknown key %q; the keys are %s", key, studyKeys)
		}
		if err != nil {
			return err
		}
	}
	return s.parseZip(zip)
}

// yamlError keeps the first line of a YAML error, with its place in front.
func yamlError(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	if at, what, ok := strings.Cut(first, "] "); ok && strings.HasPrefix(at, "[") {
		line, _, _ := strings.Cut(at[1:], ":")
		return fmt.Errorf("line %s: %s", line, what)
	}
	return errors.New(first)
}

// text prints a scalar as the command line would take it.
func text(what string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", fmt.Errorf("%s must be one value, such as a number or a word", what)
}

func (s *Study) parseFixed(v any) error {
	m, ok := v.(yaml.MapSlice)
	if !ok {
		return errors.New("fixed must be a mapping of keys to values, such as {m: 2048}")
	}
	for _, item := range m {
		key := normal(fmt.Sprint(item.Key))
		value, err := text("fixed."+key, item.Value)
		if err != nil {
			return err
		}
		s.Fixed = append(s.Fixed, results.Setting{Key: key, Value: value})
	}
	return nil
}

func (s *Study) parseWhere(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		rule, ok := item.(string)
		if !ok {
			return errors.New(`where must be a condition or a list of them, such as "m >= n"`)
		}
		s.Where = append(s.Where, rule)
	}
	return nil
}

// Axes lists the axes in order.
func (s *Study) Axes() []results.Axis {
	var axes []results.Axis
	for _, g := range s.Groups {
		axes = append(axes, g.Axes...)
	}
	return axes
}

// check refuses unknown keys, keys given twice, and values that no point could
// be run with.
func (s *Study) check() error {
	seen := map[string]bool{}
	for _, f := range s.Fixed {
		if seen[f.Key] {
			return fmt.Errorf("%s is given twice", f.Key)
		}
		seen[f.Key] = true
	}
	for _, a := range s.Axes() {
		if seen[a.Key] {
			return fmt.Errorf("%s is given twice: as an axis, and fixed or as another axis", a.Key)
		}
		seen[a.Key] = true
	}
	for _, g := range s.Groups {
		if err := g.repeated(); err != nil {
			return err
		}
	}
	if !seen["kernel"] && !seen["launch"] {
		return errNoKernel
	}
	if err := s.compile(); err != nil {
		return err
	}
	if err := s.checkCount(); err != nil {
		return err
	}
	return s.checkValues()
}

// checkCount refuses a large study that is not confirmed. Conditions are
// evaluated only where that takes no time to speak of.
func (s *Study) checkCount() error {
	n, least := s.Combinations(), ""
	if n > MostPoints && !s.confirmed && len(s.rules) > 0 {
		least = "up to "
		if n <= 100*MostPoints {
			var err error
			if n, err = s.Count(); err != nil {
				return err
			}
			least = ""
		}
	}
	if n > MostPoints && !s.confirmed {
		return tooMany(n, least)
	}
	return nil
}

// Count counts the points that satisfy the conditions.
func (s *Study) Count() (int64, error) {
	if len(s.rules) == 0 {
		return s.Combinations(), nil
	}
	var n int64
	for _, err := range s.Points() {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// maxChecked is how many values of an axis are tried before anything runs; a
// bad value beyond makes its points fail.
const maxChecked = 10_000

// checkValues tries every value of every axis once, with the first values of
// the other axes.
func (s *Study) checkValues() error {
	first := make([]int, len(s.Groups))
	if err := checkPoint(s, s.at(0, first)); err != nil {
		return err
	}
	for g := range s.Groups {
		for i := 1; i < min(s.Groups[g].Len(), maxChecked); i++ {
			steps := make([]int, len(s.Groups))
			steps[g] = i
			if err := checkPoint(s, s.at(0, steps)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fingerprint identifies the study and the machines that it names: a results
// file is continued only with the same one.
func (s *Study) Fingerprint() (string, error) {
	if s.print != "" {
		return s.print, nil
	}
	h := sha256.New()
	io.WriteString(h, s.Text())
	for _, ref := range s.machines() {
		m, err := s.machine(ref)
		if err != nil {
			return "", &sim.UsageError{Err: err}
		}
		fmt.Fprintf(h, "\n%s", m.Hash())
	}
	for _, file := range s.values("launch") {
		if err := hashLaunch(h, s.relative(file)); err != nil {
			return "", &sim.UsageError{Err: err}
		}
	}
	s.print = hex.EncodeToString(h.Sum(nil)[:8])
	return s.print, nil
}

// Text is the study as JSON, as it was understood.
func (s *Study) Text() string {
	type settings struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	out := struct {
		Fixed []settings       `json:"fixed"`
		Axes  [][]results.Axis `json:"axes"`
		Where []string         `json:"where,omitempty"`
	}{Where: s.Where}
	for _, f := range s.Fixed {
		out.Fixed = append(out.Fixed, settings{f.Key, f.Value})
	}
	for _, g := range s.Groups {
		out.Axes = append(out.Axes, g.Axes)
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

// machines lists the machines that the study names, each once, as Load takes
// them.
func (s *Study) machines() []string {
	var refs []string
	for _, v := range s.values("machine") {
		refs = append(refs, s.machineRef(v))
	}
	if len(refs) == 0 {
		refs = append(refs, defaultMachine)
	}
	return refs
}

// values lists the values of a key, each once.
func (s *Study) values(key string) []string {
	var all []string
	for _, f := range s.Fixed {
		if f.Key == key {
			all = append(all, f.Value)
		}
	}
	for _, a := range s.Axes() {
		for _, v := range a.Values {
			if a.Key == key && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	return all
}

// machineRef makes a machine file's path relative to the study's folder.
func (s *Study) machineRef(v string) string {
	if strings.ContainsAny(v, `/\`) || strings.HasSuffix(v, ".yaml") || strings.HasSuffix(v, ".yml") {
		return s.relative(v)
	}
	return v
}

// relative makes a path relative to the study's folder.
func (s *Study) relative(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.folder, path)
}

// hashLaunch hashes a launch file with the files that it names.
func hashLaunch(h io.Writer, path string) error {
	l, err := sim.ReadLaunch(path)
	if err != nil {
		return err
	}
	files := []string{path}
	add := func(name string) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		files = append(files, name)
	}
	add(l.CodeObject)
	for _, a := range l.Args {
		if a.File != "" {
			add(a.File)
		}
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("launch %s: %w", path, err)
		}
		fmt.Fprintf(h, "\n%x", sha256.Sum256(data))
	}
	return nil
}
