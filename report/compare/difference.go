package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Difference is a setting or fact, other than a figure, that differs between the sides.
type Difference struct {
	What    string `json:"what"`
	Base    string `json:"base"`
	New     string `json:"new"`
	Key     string `json:"key,omitempty"` // its name for --allow; empty: reported, never refused
	Allowed bool   `json:"allowed,omitempty"`
	// on the figures, of one that is never refused; empty: as far as known none
	Effect string `json:"effect,omitempty"`
}

func (d Difference) refuses() bool { return d.Key != "" && !d.Allowed }

// Refusable are the keys of differences that make figures incomparable unless Options.Allow names them.
var Refusable = []string{"model", "api", "simulated", "hardware", "gpus", "precision", "vantage", "client",
	"workload", "prompt_form", "sampling", "definitions"}

const notSpecified = "not specified"

// facts are the properties that a comparison checks: those that can be refused come first.
func (r *Run) facts() []Fact {
	m, t, c := r.Manifest, r.Manifest.Target, r.Manifest.Client
	gpus := ""
	if t.GPUs > 0 {
		gpus = fmt.Sprint(t.GPUs)
	}
	simulated := "" // another tool does not report it
	switch {
	case m.Predicted != nil:
		simulated = "predicted, not measured"
	case t.Simulated:
		simulated = "simulated"
	case t.Endpoint != "":
		simulated = "a real server"
	}
	model := t.Model
	if c.Tool != "" { // without a name it could be any
		model = cmp.Or(model, notReported)
	}
	load, client := "", machine(c) // other tools report neither
	if c.Host != "" {
		load = record.LoadWorkers(r.Rows)
	}
	if load != "" && record.ByWorkers(r.Rows) {
		client = "leader: " + client
	}
	out := []Fact{
		{"model", model, "model"}, {"api", t.API, "api"}, {"server", simulated, "simulated"},
		{"hardware", t.Hardware, "hardware"}, {"GPUs", gpus, "gpus"}, {"precision", t.Precision, "precision"},
		{"vantage", t.Vantage.Place, "vantage"}, {"client", cmp.Or(c.Tool, "bench"), "client"},
		{engine, record.Engines(r.Rows), ""}, {"simulator", t.Simulator, ""}, {"connections", t.Connections, ""},
		{"endpoint", t.Endpoint, ""}, {"server command", serverCommand(m.Servers), ""},
		{serverVersion, compact(t.Version), ""}, {buildInfo, strings.Join(t.BuildInfo, "; "), ""},
		{"extra body", compact(t.ExtraBody), ""}, {"proxy", t.Proxy, ""}, {"prompts sized by", t.Tokenizer, ""},
		{"client version", strings.TrimSpace(c.Version + " " + c.Commit), ""}, {"go version", c.Go, ""},
		{"load workers", load, ""}, {"client machine", client, ""},
		{"client kernel", strings.TrimSpace(c.OS + " " + c.Kernel), ""},
		{"seed", fmt.Sprint(m.Seed), ""},
	}
	for _, key := range slices.Sorted(maps.Keys(m.Facts)) {
		out = append(out, Fact{"fact: " + key, m.Facts[key], ""})
	}
	return out
}

const (
	engine        = "engine"
	serverVersion = "server version"
	buildInfo     = "build info" // of many lines: a difference shows what differs
)

var reported = []string{engine, serverVersion, buildInfo}

// effects are those of facts that belong to a server, and can't be made equal.
var effects = map[string]string{"connections": "ttft and e2e contain the set-up of the connections that requests open"}

func serverCommand(starts []record.ServerStart) (command string) {
	for i := range starts {
		text := strings.Join(starts[i].Command, " ")
		if i > 0 && text != command {
			return ""
		}
		command = text
	}
	return command
}

func machine(c record.ClientInfo) string {
	if c.Cores == 0 {
		return c.Host
	}
	return fmt.Sprintf("%s, %s, %d cores", c.Host, c.CPU, c.Cores)
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" || string(b) == "{}" {
		return ""
	}
	return string(b)
}

type factTable struct {
	order  []string
	keys   map[string]string
	values map[string][]string // distinct values
}

func factsOf(runs []Run) factTable {
	g := factTable{keys: map[string]string{}, values: map[string][]string{}}
	for i := range runs {
		for _, f := range runs[i].facts() {
			if _, known := g.keys[f.What]; !known {
				g.order = append(g.order, f.What)
			}
			g.keys[f.What] = f.key
			if value := cmp.Or(f.Value, notSpecified); !slices.Contains(g.values[f.What], value) {
				g.values[f.What] = append(g.values[f.What], value)
			}
		}
	}
	return g
}

func (g factTable) value(what string) string {
	return cmp.Or(strings.Join(g.values[what], " | "), notSpecified)
}

// sideDifferences: a fact that one side does not state is reported and not refused, unless it is notReported.
func sideDifferences(base, changed Side, allow []string) []Difference {
	a, b := factsOf(base.Runs), factsOf(changed.Runs)
	out := []Difference{}
	for _, what := range union(a.order, b.order) {
		was, is := a.value(what), b.value(what)
		open := was == notReported || is == notReported
		if was == is && len(a.values[what]) < 2 && !open {
			continue
		}
		if what == buildInfo {
			if was, is = foldBuildInfo(a.values[what], b.values[what]); was == is {
				continue
			}
		}
		if slices.Contains(reported, what) {
			was = strings.ReplaceAll(was, notSpecified, notReported)
			is = strings.ReplaceAll(is, notSpecified, notReported)
		}
		d := Difference{What: what, Base: was, New: is, Key: cmp.Or(a.keys[what], b.keys[what]), Effect: effects[what]}
		if !open && (was == notSpecified || is == notSpecified) {
			d.Key = ""
		}
		d.Allowed = slices.Contains(allow, d.Key)
		out = append(out, d)
	}
	if len(base.Runs) == 0 || len(changed.Runs) == 0 {
		return out
	}
	was, is := &base.Runs[len(base.Runs)-1].Manifest.Target, &changed.Runs[len(changed.Runs)-1].Manifest.Target
	for _, c := range is.SurroundingChanges(was) {
		out = append(out, Difference{What: c.Fact, Base: c.Was, New: c.Is})
	}
	return out
}

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
		for _, d := range specDifferences(&first.Spec, &s.row.Spec) {
			if first.Observed && s.row.Observed {
				d.Key = "" // of live traffic nothing asks for a rate
			}
			add(d)
		}
		for _, d := range trafficDifferences(p.base[0], s) {
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

// trafficDifferences are what specs lack, of two recordings and of files of other tools. Without its load such a file
// could have any.
func trafficDifferences(base, changed sample) (out []Difference) {
	imported := base.imported() && changed.imported()
	if was, is := base.load(), changed.load(); was == notReported || is == notReported {
		out = append(out, Difference{What: "load", Base: was, New: is, Key: "workload"})
	}
	if !imported && !(base.row.Observed && changed.row.Observed) {
		return out
	}
	add := func(key, what, effect string, was, is *stats.Summary) {
		if was != nil && is != nil && math.Abs(is.Mean/was.Mean-1) > alikeTraffic {
			out = append(out, Difference{What: what, Base: unit.Digits(was.Mean), New: unit.Digits(is.Mean), Key: key,
				Effect: effect})
		}
	}
	a, b := base.row.Lengths, changed.row.Lengths
	key := map[bool]string{true: "workload"}[imported]
	add(key, "prompt tokens, mean", "longer prompts take longer to prefill", a.PromptTokens, b.PromptTokens)
	add(key, "output tokens, mean", "longer answers take longer, at the same TPOT", a.OutputTokens, b.OutputTokens)
	return out
}

// alikeTraffic is the largest relative difference of mean lengths that is not reported.
const alikeTraffic = 0.05

// imported reports whether another tool measured the sample: its spec is only the load.
func (s *sample) imported() bool { return s.run.Manifest.Client.Tool != "" }

func (s *sample) load() string {
	if spec := &s.row.Spec; s.imported() && spec.Closed() && spec.Concurrency == 0 {
		return notReported
	}
	return s.row.Spec.Label()
}

// WorkloadDifferences are those of what two rows send at a load.
func WorkloadDifferences(a, b *experiment.Spec) []Difference {
	return slices.DeleteFunc(specDifferences(a, b), func(d Difference) bool {
		return d.Key != "workload" || d.What == "rate" || d.What == "concurrency"
	})
}

func specDifferences(a, b *experiment.Spec) (out []Difference) {
	if reflect.DeepEqual(sent(a), sent(b)) { // nearly always: flattening takes a hundred times as long
		return nil
	}
	was, is := flatten(a), flatten(b)
	for _, key := range union(sortedKeys(was), sortedKeys(is)) {
		if was[key] == is[key] {
			continue
		}
		d := Difference{What: key, Base: cmp.Or(was[key], "none"), New: cmp.Or(is[key], "none"), Key: "workload"}
		if sizesOnly(key) {
			d.Key = ""
		}
		out = append(out, d)
	}
	return out
}

// sampling leaves out the model, which has a line of its own, and what does not change the answer.
func sampling(r *record.Row) string {
	body := maps.Clone(r.Sampling)
	delete(body, "model")
	delete(body, "return_token_ids")
	return compact(body)
}

var sizeKeys = sync.OnceValue(func() []string { return experiment.KeysCompared("size", "json") })

func sizesOnly(key string) bool {
	head, _, _ := strings.Cut(key, ".")
	return slices.Contains(sizeKeys(), head)
}

// sent is a spec without its name, its server and what is only expected of it.
func sent(s *experiment.Spec) experiment.Spec {
	spec := experiment.Measured(s)
	spec.Name, spec.Point, spec.Variant, spec.Repeat, spec.SLO = "", nil, "", 0, experiment.SLO{}
	return spec
}

func flatten(s *experiment.Spec) map[string]string {
	facts := experiment.Facts(sent(s), false)
	delete(facts, "repeat") // of none it has 0
	return facts
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
