package study

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/whisker-sim/whisker/report/results"
)

// maxValues bounds one axis, so that its values fit into memory.
const maxValues = 20_000_000

// parseAxes reads axes in either form: a mapping of keys to values, crossed, or
// a list of such mappings, where the axes of one mapping advance together.
func (s *Study) parseAxes(v any) error {
	switch v := v.(type) {
	case yaml.MapSlice:
		for _, item := range v {
			a, err := s.parseAxis(item)
			if err != nil {
				return err
			}
			s.Groups = append(s.Groups, Group{[]results.Axis{a}})
		}
		return nil
	case []any:
		for _, item := range v {
			m, ok := item.(yaml.MapSlice)
			if !ok || len(m) == 0 {
				return errors.New("axes: an item of the list must be a mapping of a key to values, such as {m: [1024, 2048]}")
			}
			var g Group
			for _, one := range m {
				a, err := s.parseAxis(one)
				if err != nil {
					return err
				}
				g.Axes = append(g.Axes, a)
			}
			if err := g.even(); err != nil {
				return err
			}
			s.Groups = append(s.Groups, g)
		}
		return nil
	}
	return errors.New("axes must be a mapping of keys to lists of values or ranges, such as {m: [1024, 2048]}")
}

// even refuses axes that cannot advance together.
func (g Group) even() error {
	for _, a := range g.Axes[1:] {
		if len(a.Values) != g.Len() {
			return fmt.Errorf("axes %s and %s advance together, but have %d and %d values", g.Axes[0].Key, a.Key, g.Len(), len(a.Values))
		}
	}
	return nil
}

// repeated refuses a step that says the same as an earlier one.
func (g Group) repeated() error {
	seen := make(map[string]bool, g.Len())
	for i := range g.Len() {
		var step, shown []string
		for _, a := range g.Axes {
			step = append(step, strconv.Quote(a.Values[i]))
			shown = append(shown, a.Key+"="+a.Values[i])
		}
		id := strings.Join(step, " ")
		if seen[id] {
			return fmt.Errorf("the axes list %s twice", strings.Join(shown, " "))
		}
		seen[id] = true
	}
	return nil
}

func (s *Study) parseAxis(item yaml.MapItem) (results.Axis, error) {
	a := results.Axis{Key: normal(fmt.Sprint(item.Key))}
	var err error
	switch v := item.Value.(type) {
	case []any:
		a.Values, err = listed(a.Key, v)
	case yaml.MapSlice:
		a.Values, err = s.spread(a.Key, v)
	default:
		return a, fmt.Errorf("axis %s must be a list of values or a range; a single value belongs under fixed", a.Key)
	}
	if err != nil {
		return a, err
	}
	if len(a.Values) == 0 {
		return a, fmt.Errorf("axis %s has no values: give at least one, or leave the axis out", a.Key)
	}
	return a, nil
}

func listed(key string, list []any) ([]string, error) {
	if len(list) > maxValues {
		return nil, fmt.Errorf("axis %s has %d values; %d is the most", key, len(list), maxValues)
	}
	values := make([]string, len(list))
	for i, v := range list {
		var err error
		if values[i], err = text("a value of axis "+key, v); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// spread makes the values of a range: from, to and one of step (added), factor
// (multiplied) and count (that many, evenly).
func (s *Study) spread(key string, m yaml.MapSlice) ([]string, error) {
	given := map[string]float64{}
	for _, item := range m {
		name := fmt.Sprint(item.Key)
		if name == "values" && len(m) == 1 {
			list, ok := item.Value.([]any)
			if !ok {
				return nil, fmt.Errorf("axis %s: values must be a list", key)
			}
			return listed(key, list)
		}
		switch name {
		case "from", "to", "step", "factor", "count":
		default:
			return nil, fmt.Errorf("axis %s: unknown key %q; a range has from, to and one of step, factor and count", key, name)
		}
		v, err := text(name, item.Value)
		if err == nil {
			given[name], err = strconv.ParseFloat(v, 64)
		}
		if err != nil || math.IsNaN(given[name]) || math.IsInf(given[name], 0) {
			return nil, fmt.Errorf("axis %s: %s must be a number", key, name)
		}
	}
	return s.ranged(key, given)
}

func (s *Study) ranged(key string, given map[string]float64) ([]string, error) {
	from, ok1 := given["from"]
	to, ok2 := given["to"]
	if !ok1 || !ok2 || len(given) > 3 {
		return nil, fmt.Errorf("axis %s: a range has from, to and one of step, factor and count", key)
	}
	step, byStep := given["step"]
	factor, byFactor := given["factor"]
	count, byCount := given["count"]
	at := func(i float64) float64 { return from + i*step }
	const slack = 1e-9 // of a step, for what binary fractions lose
	switch {
	case byFactor:
		if factor <= 1 || from <= 0 {
			return nil, fmt.Errorf("axis %s: factor must be more than 1 and from more than 0", key)
		}
		count = math.Floor(math.Log(to/from)/math.Log(factor)+slack) + 1
		at = func(i float64) float64 { return from * math.Pow(factor, i) }
	case byCount:
		if count < 1 || count != math.Trunc(count) {
			return nil, fmt.Errorf("axis %s: count must be a whole number from 1", key)
		}
		step = (to - from) / max(count-1, 1)
	default:
		if !byStep {
			step = 1
		}
		if step <= 0 {
			return nil, fmt.Errorf("axis %s: step must be more than 0", key)
		}
		count = math.Floor((to-from)/step+slack) + 1
	}
	if count > MostPoints && !s.confirmed {
		return nil, tooMany(int64(min(count, math.MaxInt64/2)), "at least ")
	}
	if count > maxValues {
		return nil, fmt.Errorf("axis %s has %.0f values; %d is the most", key, count, maxValues)
	}
	if math.IsNaN(count) || count < 1 {
		return nil, nil
	}
	values := make([]string, int(count))
	for i := range values {
		values[i] = number(at(float64(i)))
	}
	return values, nil
}

// number prints a value of a range to twelve digits, without what binary
// fractions leave behind.
func number(v float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil || v == math.Trunc(v) {
		short = v
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// parseZip joins crossed axes into groups that advance together.
func (s *Study) parseZip(v any) error {
	if v == nil {
		return nil
	}
	lists, ok := v.([]any)
	if ok && len(lists) > 0 {
		if _, nested := lists[0].([]any); !nested {
			lists = []any{lists} // one group, without the outer list
		}
	}
	if !ok {
		return errors.New("zip must be a list of axes that advance together, such as [m, n, k]")
	}
	for _, l := range lists {
		names, ok := l.([]any)
		if !ok || len(names) < 2 {
			return errors.New("zip: each group must list two axes or more, such as [m, n, k]")
		}
		if err := s.zip(names); err != nil {
			return err
		}
	}
	return nil
}

// zip moves the named axes into the place of the first of them.
func (s *Study) zip(names []any) error {
	var joined Group
	place := -1
	for _, n := range names {
		key := normal(fmt.Sprint(n))
		at := -1
		for i, g := range s.Groups {
			if len(g.Axes) == 1 && g.Axes[0].Key == key {
				at = i
			}
		}
		if at < 0 {
			return fmt.Errorf("zip: %s is no axis, or is zipped already", key)
		}
		joined.Axes = append(joined.Axes, s.Groups[at].Axes...)
		if place < 0 {
			place = at
			s.Groups[at] = Group{}
			continue
		}
		s.Groups = append(s.Groups[:at], s.Groups[at+1:]...)
		if at < place {
			place--
		}
	}
	s.Groups[place] = joined
	return joined.even()
}
