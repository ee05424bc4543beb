package report

import (
	"fmt"
	"reflect"
	"strings"
)

// Key documents one JSON key.
type Key struct {
	Path string // dots mean nesting, [] a list
	Type string // integer, number, string, boolean, object, list
	Unit string
	Doc  string
}

// Keys lists every key of Run in the order that JSON writes them.
func Keys() []Key { return keysOf(reflect.TypeFor[Run](), "") }

var (
	countsType = reflect.TypeFor[Counts]()
	treeType   = reflect.TypeFor[Tree]()
)

// countNames gives the documented names of the Counts at a path.
func countNames(path string) []Name {
	switch path {
	case "issued":
		return IssueClasses
	case "stalls":
		return StallReasons
	case "counters":
		return CounterNames
	}
	return nil
}

func keysOf(t reflect.Type, prefix string) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		path := prefix + name
		key := Key{path, typeName(f.Type), f.Tag.Get("unit"), f.Tag.Get("doc")}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		switch {
		case ft == countsType:
			keys = append(keys, key)
			for _, n := range countNames(path) {
				keys = append(keys, Key{path + "." + n.Name, "integer", key.Unit, n.Doc})
			}
		case ft.Kind() == reflect.Struct:
			if key.Doc != "" {
				keys = append(keys, key)
			}
			keys = append(keys, keysOf(ft, path+".")...)
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			keys = append(keys, key)
			keys = append(keys, keysOf(ft.Elem(), path+"[].")...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		if t == countsType {
			return "object"
		}
		return "list"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}

// Markdown writes the keys as the reference page docs/json.md.
func Markdown(keys []Key) string {
	var b strings.Builder
	b.WriteString("# JSON keys of a run\n\n" +
		"Generated from the struct tags of package `report` by `go test ./report -update`. A dot means nesting, `[]` a list;\n" +
		"rates are fractions of 1. Everything but `host` is the same bytes when the same run is repeated.\n" +
		"`--format csv` writes the same figures as rows of `metric,unit,value`; a number in a metric is a list index.\n" +
		"The keys of `options` below are those of the plain GEMM; other kernels, and GEMMs that have more, have the names and values of\n" +
		"their own options in the same object, as `whisker list kernels` shows them.\n\n" +
		"| key | type | unit | meaning |\n|---|---|---|---|\n")
	for _, k := range keys {
		doc := strings.ReplaceAll(k.Doc, "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, k.Type, k.Unit, doc)
	}
	return b.String()
}

// value is one leaf of a run.
type value struct {
	path, unit string
	v          any
}

// valuesOf flattens a struct to its leaves, in the order of the keys.
func valuesOf(v reflect.Value, prefix string) []value {
	var out []value
	if o, ok := v.Interface().(Options); ok && len(o.Other) > 0 {
		for _, s := range o.Other {
			out = append(out, value{prefix + s.Name, "", s.Value})
		}
		return out
	}
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if fv := v.Field(i); name != "-" && (opts != "omitempty" || !fv.IsZero()) {
			out = append(out, leaves(fv, prefix+name, f.Tag.Get("unit"))...)
		}
	}
	return out
}

func leaves(v reflect.Value, path, unit string) []value {
	switch {
	case v.Type() == countsType:
		var out []value
		for _, c := range v.Interface().(Counts) {
			out = append(out, value{path + "." + c.Name, unit, c.Value})
		}
		return out
	case v.Type() == treeType:
		return treeLeaves(v.Interface().(Tree), path)
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return leaves(v.Elem(), path, unit)
	case v.Kind() == reflect.Struct:
		return valuesOf(v, path+".")
	case v.Kind() == reflect.Slice:
		var out []value
		for i := range v.Len() {
			out = append(out, leaves(v.Index(i), fmt.Sprintf("%s.%d", path, i), unit)...)
		}
		return out
	default:
		return []value{{path, unit, v.Interface()}}
	}
}
