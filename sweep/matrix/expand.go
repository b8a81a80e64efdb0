package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bench/experiment"
	"bench/sweep/strict"
)

type expander struct {
	*reader
	index         int
	row, defaults map[string]any
	slo           map[string]any
	axes          []axis
	search        *experiment.Search // nil = none: the load is stated
	mistakes      mistakes
}

const (
	maxValues = 1000  // of one list
	maxPoints = 10000 // of a matrix with all repeats: weeks of measuring
)

// axis is a key of the row, or of a table in it, with a list of values.
type axis struct {
	path   string
	values []any
}

// listKeys are keys of a row, or of a table in it, that take a list as one value.
var listKeys = sync.OnceValue(func() []string {
	return append(experiment.KeysCompared("none", "toml"), "mix", "slo", "name", "repeats", "kind", "pairs",
		"arrival.steps", "adapters.names", "adapters.weights", "prompts.category", "input.buckets", "input.values",
		"output.buckets", "output.values")
})

func (x *expander) at() string { return fmt.Sprintf("row[%d]", x.index) }

func (x *expander) expand() []experiment.Spec {
	merged := x.merge()
	x.extractSearch(merged)
	x.findAxes(merged)
	if !x.withinLimits(merged) {
		return nil
	}
	var points []experiment.Spec
	x.product(nil, func(choice []int) {
		p := x.point(merged, choice)
		points = append(append(points, p), p.IsolatedPoints()...)
	})
	x.report()
	return points
}

func (x *expander) withinLimits(merged map[string]any) bool {
	n, times := int64(1), int64(1)
	if repeats, ok := merged["repeats"].(int64); ok && repeats > 0 {
		times = min(repeats, maxPoints+1)
	}
	for _, a := range x.axes {
		n = min(n*int64(len(a.values)), maxPoints+1)
	}
	before := x.count
	x.count += n * times
	if x.count > maxPoints && before <= maxPoints {
		x.bad(x.at(), fmt.Sprintf("with this row the matrix has more than %d points (repeats included)", maxPoints),
			"write fewer values or repeats, or split the matrix")
	}
	return x.count <= maxPoints
}

// A cold start has no SLO but its own: the others are about load.
func (x *expander) merge() map[string]any {
	merged := map[string]any{}
	maps.Copy(merged, x.defaults)
	maps.Copy(merged, x.row)
	slo, layers := maps.Clone(x.slo), []map[string]any{x.defaults, x.row}
	if merged["kind"] == "cold_start" {
		slo, layers = map[string]any{}, layers[1:]
	}
	for _, layer := range layers {
		v, there := layer["slo"]
		own, isTable := v.(map[string]any)
		if there && !isTable {
			merged["slo"] = v // the decoder reports it
			return merged
		}
		slo = mergeSLO(slo, own)
	}
	merged["slo"] = slo
	return merged
}

// mergeSLO overrides the limits of an SLO, also those in its table each.
func mergeSLO(slo, own map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, slo)
	for k, v := range own {
		each, isTable := v.(map[string]any)
		if base, ok := out[k].(map[string]any); ok && isTable && k == "each" {
			v = mergeSLO(base, each)
		}
		out[k] = v
	}
	return out
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
		if slices.Contains(listKeys(), key) {
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
				if list, ok := v[k].([]any); ok && !slices.Contains(listKeys(), key+"."+k) {
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
	where := x.place(path)
	switch {
	case len(values) == 0:
		x.bad(where, "the list is empty: the row would have no point",
			"write at least one value, or a single value without brackets")
	case len(values) > maxValues:
		x.bad(where, fmt.Sprintf("%d values are too many points", len(values)),
			fmt.Sprintf("write at most %d", maxValues))
		values = values[:1]
	}
	x.axes = append(x.axes, axis{path, values})
	seen := map[string]bool{}
	for i, v := range values {
		name := valueName(v)
		if seen[name] {
			x.bad(fmt.Sprintf("%s[%d]", where, i), name+" is in the list twice",
				"remove one; repeats = 2 runs a point twice")
		}
		seen[name] = true
	}
}

// product calls f for every choice of one value per axis. The last axis varies fastest.
func (x *expander) product(choice []int, f func([]int)) {
	if len(choice) == len(x.axes) {
		f(choice)
		return
	}
	for i := range x.axes[len(choice)].values {
		x.product(append(slices.Clone(choice), i), f)
	}
}

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
	readable := true
	found := x.collect(choice)
	unreadable := func(path, text, hint string) {
		readable = false
		found(path, text, hint)
	}
	strict.Decode(values, &spec, unreadable)
	checkZeros(values, unreadable)
	spec.Look(&x.files, unreadable)
	if readable && spec.Trace != nil {
		spec.Trace.Look(&x.files, unreadable)
	}
	if spec.Closed() {
		spec.Rate = spec.OwnRate()
	}
	spec.Point = point
	spec.Resolve(x.m.Target)
	if readable { // else the checks would report the same mistake again
		spec.ApplyPresets(found)
		stated := spec.Duration
		if x.search != nil && stated == 0 && spec.Requests == 0 {
			spec.Duration = defaultWindow
		}
		spec.Check(found)
		x.toProbe(&spec, stated, found)
	}
	if spec.Seed == 0 {
		spec.Seed = x.m.Seed
	}
	return spec
}

// kindKeys name the kind of a table. In names of points it comes first.
var kindKeys = []string{"dist", "process"}

// valueName is an axis value as text in names: 8, 0.5, warm, lognormal-p50_300-p95_2000.
func valueName(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case map[string]any:
		parts := []string{}
		for _, k := range kindKeys {
			if kind, ok := x[k].(string); ok {
				parts = append(parts, kind)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if !slices.Contains(kindKeys, k) {
				parts = append(parts, k+"_"+valueName(x[k]))
			}
		}
		return strings.Join(parts, "-")
	case []map[string]any:
		return valueName(anys(x))
	case []any:
		parts := []string{}
		for _, v := range x {
			parts = append(parts, valueName(v))
		}
		return strings.Join(parts, "+")
	}
	return fmt.Sprint(v)
}
