package sweep

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/sweep/strict"
)

// expander makes the points of one row.
type expander struct {
	*reader
	index         int
	row, defaults map[string]any
	contract      map[string]any
	axes          []axis
}

// axis is a key of the row, or of a table in it, whose value is a list.
type axis struct {
	path   string
	values []any
}

// notAxes are row keys whose value is a list anyway.
var notAxes = []string{"mix", "contract", "name", "expect", "repeats"}

// laterKeys are row keys of the design that this version does not have.
var laterKeys = map[string]string{
	"until": "write requests or duration", "max_duration": "write duration",
	"workload": "remove it: rows are synthetic", "kind": "remove it: rows are of kind load",
	"isolate": "run each class as a row of its own", "session": "remove it: conversations come later",
	"trace": "remove it: traces come later", "tile": "remove it: tiling comes later",
}

func (x *expander) at() string { return fmt.Sprintf("row[%d]", x.index) }

// place is where a path of a point stands in the file: in the row, in the defaults, or in the
// matrix's contract; an axis value is the element of its list.
func (x *expander) place(path string, choice []int) string {
	for i, a := range x.axes {
		if path == a.path || strings.HasPrefix(path, a.path+".") || strings.HasPrefix(path, a.path+"[") {
			if x.has(x.row, a.path) {
				return fmt.Sprintf("%s.%s[%d]", x.at(), a.path, choice[i])
			}
			return fmt.Sprintf("defaults.%s[%d]", a.path, choice[i])
		}
	}
	top, _, _ := strings.Cut(path, ".")
	top, _, _ = strings.Cut(top, "[")
	switch {
	case path == "" || x.has(x.row, path):
		return strict.Join(x.at(), path)
	case top == "contract" && x.has(map[string]any{"contract": x.contract}, path):
		return path
	case x.has(x.defaults, top) && !x.has(x.row, top):
		return strict.Join("defaults", path)
	}
	return strict.Join(x.at(), path)
}

// has says whether a table holds a path of table keys.
func (x *expander) has(t map[string]any, path string) bool {
	key, rest, more := strings.Cut(path, ".")
	v, ok := t[key]
	if !ok || !more {
		return ok
	}
	inner, isTable := v.(map[string]any)
	return isTable && x.has(inner, rest)
}

func (x *expander) expand() []experiment.Spec {
	merged := x.merge()
	for _, key := range slices.Sorted(maps.Keys(laterKeys)) {
		if _, ok := merged[key]; ok {
			x.bad(x.place(key, nil), key+" is not in this version", laterKeys[key])
			delete(merged, key)
		}
	}
	x.findAxes(merged)
	var points []experiment.Spec
	x.product(nil, func(choice []int) {
		points = append(points, x.point(merged, choice))
	})
	return points
}

// merge lays the row over the defaults, and its contract over the matrix's, key by key.
func (x *expander) merge() map[string]any {
	merged := maps.Clone(x.defaults)
	if merged == nil {
		merged = map[string]any{}
	}
	maps.Copy(merged, x.row)
	own, isTable := merged["contract"].(map[string]any)
	if _, there := merged["contract"]; there && !isTable {
		return merged // the decoder will say so
	}
	contract := maps.Clone(x.contract)
	if contract == nil {
		contract = map[string]any{}
	}
	for k, v := range own {
		each, both := v.(map[string]any)
		base, ok := contract[k].(map[string]any)
		if k == "each" && both && ok {
			base = maps.Clone(base)
			maps.Copy(base, each)
			v = base
		}
		contract[k] = v
	}
	merged["contract"] = contract
	return merged
}

// findAxes lists the keys with list values in the order of the file: the row's, then the defaults'.
func (x *expander) findAxes(merged map[string]any) {
	keys := slices.Clone(x.doc.Keys(x.at()))
	for _, k := range x.doc.Keys("defaults") {
		if _, own := x.row[k]; !own {
			keys = append(keys, k)
		}
	}
	for _, key := range keys {
		if slices.Contains(notAxes, key) {
			continue
		}
		switch v := merged[key].(type) {
		case []any:
			x.addAxis(key, v)
		case []map[string]any:
			x.addAxis(key, anys(v))
		case map[string]any:
			table := x.at() + "." + key
			if _, own := x.row[key]; !own {
				table = "defaults." + key
			}
			for _, k := range x.doc.Keys(table) {
				if list, ok := v[k].([]any); ok {
					x.addAxis(key+"."+k, list)
				}
			}
		}
	}
}

func anys(in []map[string]any) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

func (x *expander) addAxis(path string, values []any) {
	x.axes = append(x.axes, axis{path, values})
	choice := make([]int, len(x.axes))
	where := strings.TrimSuffix(x.place(path, choice), "[0]")
	if len(values) == 0 {
		x.bad(where, "the list is empty: the row would have no point", "write at least one value, or a single value without brackets")
	}
	if len(values) > 1000 {
		x.bad(where, fmt.Sprintf("%d values make too many points", len(values)), "write at most 1000")
	}
	for i := range values {
		for j := range i {
			if reflect.DeepEqual(values[i], values[j]) {
				x.bad(fmt.Sprintf("%s[%d]", where, i), fmt.Sprintf("%s is in the list twice", valueName(values[i])), "repeats = 2 runs a point twice")
			}
		}
	}
}

// product calls f for every choice of one value an axis, the last axis fastest.
func (x *expander) product(choice []int, f func([]int)) {
	if len(choice) == len(x.axes) {
		f(choice)
		return
	}
	n := min(len(x.axes[len(choice)].values), 1000)
	for i := range n {
		x.product(append(slices.Clone(choice), i), f)
	}
}

// point decodes and checks one choice.
func (x *expander) point(merged map[string]any, choice []int) experiment.Spec {
	values := maps.Clone(merged)
	var point []experiment.Axis
	for i, a := range x.axes {
		v := a.values[choice[i]]
		if key, inner, nested := strings.Cut(a.path, "."); nested {
			table := maps.Clone(values[key].(map[string]any))
			table[inner] = v
			values[key] = table
		} else {
			values[a.path] = v
		}
		point = append(point, experiment.Axis{Key: a.path, Value: valueName(v)})
	}
	var spec experiment.Spec
	before := len(x.problems)
	bad := func(path, text, hint string) { x.bad(x.place(path, choice), text, hint) }
	strict.Decode(values, &spec, bad)
	if len(x.problems) == before { // what could not be read can't be judged either
		spec.Check(bad)
	}
	spec.Point = point
	if spec.Seed == 0 {
		spec.Seed = x.m.Seed
	}
	return spec
}

// valueName is an axis value as it stands in names: 8, 0.5, warm, lognormal-300-2000.
func valueName(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case map[string]any:
		parts := []string{}
		if dist, ok := x["dist"].(string); ok {
			parts = append(parts, dist)
		}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if k != "dist" {
				parts = append(parts, k+valueName(x[k]))
			}
		}
		return strings.Join(parts, "-")
	}
	return fmt.Sprint(v)
}
