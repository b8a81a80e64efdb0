package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
)

// Difference is one thing besides the figures that is not the same on both sides.
type Difference struct {
	What    string `json:"what"`
	Base    string `json:"base"`
	New     string `json:"new"`
	Key     string `json:"key,omitempty"` // what --allow calls it; empty: it is told and never refused
	Allowed bool   `json:"allowed,omitempty"`
}

func (d Difference) refuses() bool { return d.Key != "" && !d.Allowed }

// Refusable are the keys of differences that make figures incomparable, unless they are meant.
var Refusable = []string{"model", "api", "simulated", "hardware", "gpus", "precision", "vantage", "connections",
	"workload", "prompt_form", "sampling", "definitions"}

const notStated = "not stated"

// fact is one thing that a run says of itself and of its target.
type fact struct {
	what, value string
	key         string // as in Difference
}

// facts is what has to be known of a run to compare it. What is refused comes first.
func (r *Run) facts() []fact {
	m, t, c := r.Manifest, r.Manifest.Target, r.Manifest.Client
	gpus := ""
	if t.GPUs > 0 {
		gpus = fmt.Sprint(t.GPUs)
	}
	simulated := "" // another tool does not say
	switch {
	case t.Simulated:
		simulated = "simulated: " + t.Simulator
	case t.Endpoint != "":
		simulated = "a real server"
	}
	out := []fact{
		{"model", t.Model, "model"}, {"api", t.API, "api"}, {"server", simulated, "simulated"},
		{"hardware", t.Hardware, "hardware"}, {"GPUs", gpus, "gpus"}, {"precision", t.Precision, "precision"},
		{"vantage", t.Vantage.Place, "vantage"}, {"connections", t.Connections, "connections"},
		{"endpoint", t.Endpoint, ""}, {"server version", compact(t.Version), ""}, {"build info", strings.Join(t.BuildInfo, "; "), ""},
		{"extra body", compact(t.ExtraBody), ""}, {"proxy", t.Proxy, ""}, {"prompts sized by", t.Tokenizer, ""},
		{"client version", strings.TrimSpace(c.Version + " " + c.Commit), ""}, {"go version", c.Go, ""},
		{"client machine", machine(c), ""}, {"client kernel", strings.TrimSpace(c.OS + " " + c.Kernel), ""},
		{"seed", fmt.Sprint(m.Seed), ""},
	}
	for _, key := range slices.Sorted(maps.Keys(m.Facts)) {
		out = append(out, fact{"fact: " + key, m.Facts[key], ""})
	}
	return out
}

func machine(c record.ClientInfo) string {
	if c.Cores == 0 {
		return c.Host
	}
	return fmt.Sprintf("%s, %s, %d cores", c.Host, c.CPU, c.Cores)
}

// compact is a value as JSON; empty for nothing.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" || string(b) == "{}" {
		return ""
	}
	return string(b)
}

// gathered is what several runs say of each thing, in the order in which it was first said.
type gathered struct {
	order  []string
	keys   map[string]string
	values map[string][]string
}

func gather(runs []Run) gathered {
	g := gathered{keys: map[string]string{}, values: map[string][]string{}}
	for i := range runs {
		for _, f := range runs[i].facts() {
			if _, known := g.keys[f.what]; !known {
				g.order = append(g.order, f.what)
			}
			g.keys[f.what] = f.key
			if value := or(f.value, notStated); !slices.Contains(g.values[f.what], value) {
				g.values[f.what] = append(g.values[f.what], value)
			}
		}
	}
	return g
}

// said is what the runs say of a thing; all of it where they differ among themselves.
func (g gathered) said(what string) string {
	return or(strings.Join(g.values[what], " | "), notStated)
}

// sideDifferences sets what both sides say of themselves beside each other. What one of them does not say can't be held against
// the other: it is told, and not refused.
func sideDifferences(base, changed Side, allow []string) []Difference {
	a, b := gather(base.Runs), gather(changed.Runs)
	out := []Difference{}
	for _, what := range union(a.order, b.order) {
		was, is := a.said(what), b.said(what)
		if was == is && len(a.values[what]) < 2 {
			continue
		}
		d := Difference{What: what, Base: was, New: is, Key: or(a.keys[what], b.keys[what])}
		if was == notStated || is == notStated {
			d.Key = ""
		}
		d.Allowed = slices.Contains(allow, d.Key)
		out = append(out, d)
	}
	return out
}

// differences is what the rows of a point say of themselves that is not the same: what was sent, and how.
func (p pair) differences(allow []string) []Difference {
	out := []Difference{}
	first := p.base[0].row
	add := func(d Difference) {
		d.Allowed = slices.Contains(allow, d.Key)
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	for _, s := range append(slices.Clone(p.base[1:]), p.changed...) {
		was, is := flatten(&first.Spec), flatten(&s.row.Spec)
		for _, key := range union(sortedKeys(was), sortedKeys(is)) {
			if was[key] == is[key] {
				continue
			}
			d := Difference{What: key, Base: or(was[key], "none"), New: or(is[key], "none"), Key: "workload"}
			if measure(key) {
				d.Key = ""
			}
			add(d)
		}
		for _, x := range []struct{ what, key, was, is string }{
			{"prompt form", "prompt_form", first.PromptForm, s.row.PromptForm},
			{"sampling", "sampling", sampling(first), sampling(s.row)},
			{"sampling of classes", "sampling", compact(first.ClassSampling), compact(s.row.ClassSampling)},
			{"token times", "", first.Clock.Stamps, s.row.Clock.Stamps},
		} {
			if x.was != x.is && x.was != "" && x.is != "" {
				add(Difference{What: x.what, Base: x.was, New: x.is, Key: x.key})
			}
		}
	}
	return out
}

// sampling is the constant part of a row's bodies, without the model, which has a line of its own.
func sampling(r *record.Row) string {
	body := maps.Clone(r.Sampling)
	delete(body, "model")
	return compact(body)
}

// measure says of a key of a spec that it only says how much is measured, or draws the same workload anew.
func measure(key string) bool {
	head, _, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"duration_s", "requests", "warmup", "grace_s", "seed"}, head)
}

// flatten gives a spec's leaves by their path, without its name, its server and what is only expected of it.
func flatten(s *experiment.Spec) map[string]string {
	spec := *s
	spec.Name, spec.Point, spec.Variant, spec.Repeat, spec.Expect, spec.SLO = "", nil, "", 0, "", experiment.SLO{}
	b, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it came from JSON
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		panic(err)
	}
	for _, key := range []string{"name", "point", "repeat", "expect", "slo"} {
		delete(tree, key)
	}
	out := map[string]string{}
	leaves("", tree, out)
	return out
}

// leaves puts what is not empty under its path.
func leaves(path string, v any, out map[string]string) {
	join := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	switch x := v.(type) {
	case map[string]any:
		for key, inner := range x {
			leaves(join(key), inner, out)
		}
	case []any:
		for i, inner := range x {
			leaves(join(fmt.Sprint(i)), inner, out)
		}
	case nil:
	default:
		if s := fmt.Sprint(x); s != "" {
			out[path] = s
		}
	}
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
