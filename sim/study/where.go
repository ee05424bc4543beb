package study

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// rule is a compiled condition.
type rule struct {
	text    string
	program *vm.Program
}

// compile compiles the conditions against the keys of the study, so that a
// misspelt key is refused before anything runs.
func (s *Study) compile() error {
	known := types.Map{}
	var keys []string
	add := func(key string) {
		keys = append(keys, key)
		m := known
		parts := strings.Split(key, ".")
		for _, group := range parts[:len(parts)-1] {
			sub, ok := m[group].(types.Map)
			if !ok {
				sub = types.Map{}
				m[group] = sub
			}
			m = sub
		}
		m[parts[len(parts)-1]] = types.Any
	}
	for _, f := range s.Fixed {
		add(f.Key)
	}
	for _, a := range s.Axes() {
		add(a.Key)
	}
	for _, text := range s.Where {
		program, err := expr.Compile(text, expr.Env(known), expr.AsBool())
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			return fmt.Errorf("where %q: %s; a condition may use this study's keys: %s", text, first, strings.Join(keys, ", "))
		}
		s.rules = append(s.rules, rule{text, program})
	}
	return nil
}

// satisfied evaluates the conditions for a point.
func (s *Study) satisfied(p Point) (bool, error) {
	if len(s.rules) == 0 {
		return true, nil
	}
	env := map[string]any{}
	for _, set := range p.Settings {
		m := env
		parts := strings.Split(set.Key, ".")
		for _, group := range parts[:len(parts)-1] {
			sub, ok := m[group].(map[string]any)
			if !ok {
				sub = map[string]any{}
				m[group] = sub
			}
			m = sub
		}
		m[parts[len(parts)-1]] = typed(set.Value)
	}
	for _, r := range s.rules {
		out, err := expr.Run(r.program, env)
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			return false, usagef("study %s: where %q: %s at %s", s.path, r.text, first, p.Label())
		}
		if ok, _ := out.(bool); !ok {
			return false, nil
		}
	}
	return true, nil
}

// typed reads a value as a condition sees it.
func typed(s string) any {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	if b, err := strconv.ParseBool(s); err == nil {
		return b
	}
	return s
}
