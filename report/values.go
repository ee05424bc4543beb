package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Value is one numeric figure of a run in long form.
type Value struct {
	Component string // l2, lds, stalls, ...; "run" for a figure of the whole run
	Metric    string // hit_rate; dots mean nesting
	Unit      string
	Value     float64
}

// Path is the figure's key in the run's JSON.
func (v Value) Path() string {
	if v.Component == "run" {
		return v.Metric
	}
	return v.Component + "." + v.Metric
}

// leftOut are the parts of a run that are no figures of it: identity, settings,
// and what differs between repetitions.
var leftOut = map[string]bool{"machine": true, "instructions": true, "host": true, "seed": true, "options": true}

// Values lists the numeric figures of a run in the order of its JSON keys.
// Settings, the instruction table, histograms and the host's own times are left
// out; clusters and kernels go by their names, of several with one name the second
// as name#2, and so on: a path names one figure.
func Values(r *Run) []Value {
	clusters, parts := make([]string, len(r.Clusters)), make([]string, len(r.Parts))
	for i := range clusters {
		clusters[i] = r.Clusters[i].Name
	}
	for i := range parts {
		parts[i] = r.Parts[i].Name
	}
	numberRepeated(clusters)
	numberRepeated(parts)
	var out []Value
	for _, v := range valuesOf(reflect.ValueOf(*r), "") {
		component, metric, nested := strings.Cut(v.path, ".")
		if leftOut[component] || strings.Contains(v.path, ".buckets.") {
			continue
		}
		number, ok := numeric(v.v)
		if !ok {
			continue
		}
		if !nested {
			component, metric = "run", v.path
		}
		switch component {
		case "clusters":
			metric = named(metric, clusters)
		case "kernels":
			metric = named(metric, parts)
		}
		out = append(out, Value{component, metric, unitOf(r, v), number})
	}
	return out
}

// unitOf is the figure's unit; a latency carries its own.
func unitOf(r *Run, v value) string {
	for _, l := range []struct {
		path string
		unit string
	}{
		{"lds", r.LDS.Latency.Unit}, {"tcp", r.TCP.Latency.Unit}, {"l2", r.L2.Latency.Unit}, {"llc", r.LLC.Latency.Unit}, {"hbm", r.HBM.Latency.Unit},
	} {
		if rest, ok := strings.CutPrefix(v.path, l.path+".latency."); ok && rest != "count" {
			return l.unit
		}
	}
	return v.unit
}

// named puts a list entry's name for its index.
func named(metric string, names []string) string {
	index, rest, _ := strings.Cut(metric, ".")
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(names) {
		return metric
	}
	return names[i] + "." + rest
}

// numberRepeated appends #2, #3 and so on to names that came before.
func numberRepeated(names []string) {
	taken := map[string]bool{}
	for _, n := range names {
		taken[n] = true
	}
	seen := map[string]int{}
	for i, n := range names {
		if seen[n]++; seen[n] == 1 {
			continue
		}
		k := seen[n]
		for taken[fmt.Sprintf("%s#%d", n, k)] { // a name of the kernel's own that looks like one of these
			k++
		}
		names[i] = fmt.Sprintf("%s#%d", n, k)
		taken[names[i]], seen[n] = true, k
	}
}

// numeric reads any leaf that has an order: numbers and truth values.
func numeric(v any) (float64, bool) {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil
	}
	rv := reflect.ValueOf(v)
	switch {
	case !rv.IsValid():
		return 0, false
	case rv.Kind() == reflect.Bool:
		if rv.Bool() {
			return 1, true
		}
		return 0, true
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.CanFloat():
		return rv.Float(), true
	}
	return 0, false
}

// Figure is a run's figure by its JSON key, such as cycles or l2.hit_rate.
func Figure(r *Run, path string) (Value, error) {
	values := Values(r)
	for _, v := range values {
		if v.Path() == path {
			return v, nil
		}
	}
	var near []string
	for _, v := range values {
		if p := v.Path(); strings.Contains(p, path) || strings.HasSuffix(path, "."+v.Metric) || strings.HasPrefix(p, strings.SplitN(path, ".", 2)[0]+".") {
			near = append(near, p)
		}
	}
	if len(near) == 0 {
		near = []string{"cycles", "time_us", "tflops", "matrix_utilization", "l2.hit_rate", "stalls.barrier"}
	}
	return Value{}, fmt.Errorf("a run has no figure %q; it has %s, and others that docs/json.md lists", path, strings.Join(near[:min(len(near), 8)], ", "))
}
