package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/text"
)

// Table is the [server] table: how to start the server under test, and with which knobs. In the command, the
// hooks and the environment, {name} is replaced by the value of the knob name.
type Table struct {
	Command []string          `toml:"command"` // program and arguments; empty: bench starts no server
	Env     map[string]string `toml:"env"`     // added to the environment of bench, which lacks Config.Withhold

	// path below the endpoint, polled until it returns 200; empty: "/models"
	Ready        string        `toml:"ready"`
	StartTimeout time.Duration `toml:"start_timeout"` // timeout until the server is ready; 0: 10 minutes
	StopTimeout  time.Duration `toml:"stop_timeout"`  // time between SIGTERM and SIGKILL; 0: 30 seconds
	// Proxied allows a process outside the command, such as docker's proxy, to listen at the endpoint.
	// Without it, such a process is an error.
	Proxied bool `toml:"proxied"`

	Before []string `toml:"before"` // command to run before each start, e.g. to set GPU clocks
	After  []string `toml:"after"`  // command to run after each end

	Knobs Knobs `toml:"knobs"`
}

// Default times of a server under test: loading a model takes minutes.
const (
	tableStartTimeout = 10 * time.Minute
	tableStopTimeout  = 30 * time.Second
)

// Knobs are the varied settings of a server. The first variant has the first value of each knob.
type Knobs struct{ Values map[string][]string }

type Variant []Setting

type Setting struct{ Knob, Value string }

func (v Variant) String() string {
	parts := make([]string, len(v))
	for i, s := range v {
		parts[i] = s.Knob + "=" + s.Value
	}
	return strings.Join(parts, " ")
}

// Differ counts the knobs with different values. Both variants must have the same knobs.
func (v Variant) Differ(w Variant) int {
	n := 0
	for i := range v {
		if v[i] != w[i] {
			n++
		}
	}
	return n
}

func (t *Table) Runs() bool { return len(t.Command) > 0 }

var (
	placeholder = text.Lazy(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	knobName    = text.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

var reservedNames = []string{"rate", "concurrency", "input", "output", "prefix", "repeat", "endpoint", "confirm"}

func (k *Knobs) DecodeTOML(v any, bad func(key, problem, hint string)) {
	table, ok := v.(map[string]any)
	if !ok {
		bad("", "knobs is a table", "write [server.knobs] and below it max_num_seqs = [32, 64]")
		return
	}
	k.Values = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if _, product := table[name].(bool); product && name == "product" {
			bad(name, "product went", `write [tune] and below it order = "all": the combinations are raced`)
			continue
		}
		if !knobName().MatchString(name) || slices.Contains(reservedNames, name) {
			bad(name, strconv.Quote(name)+" can't be the name of a knob",
				"use letters, digits and underscores, and no key of a row")
			continue
		}
		k.Values[name] = knobValues(name, table[name], bad)
	}
}

func knobValues(name string, v any, bad func(key, problem, hint string)) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		bad(name, "the list is empty", "write at least one value")
	}
	var out []string
	for i, x := range list {
		text, ok := knobValue(x)
		at := name
		if len(list) > 1 {
			at = fmt.Sprintf("%s[%d]", name, i)
		}
		switch {
		case !ok:
			bad(at, "a knob's value must be a string, a number or a boolean", "write "+name+" = [32, 64]")
		case slices.Contains(out, text):
			bad(at, text+" is listed twice", "remove one; repeats = 2 runs a point twice")
		default:
			out = append(out, text)
		}
	}
	return out
}

func knobValue(v any) (text string, ok bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	case int64, bool:
		return fmt.Sprint(x), true
	}
	return "", false
}

// Check reports all mistakes in the table. endpoint: [target] has an endpoint that is not the mock.
func (t *Table) Check(endpoint bool, bad func(key, problem, hint string)) {
	if !t.Runs() {
		bad("command", "the table has no command", `write command = ["vllm", "serve", "MODEL", "--port", "8000"]`)
		return
	}
	if !endpoint {
		bad("", "[server] needs an endpoint in [target]", `write endpoint = "http://127.0.0.1:8000" in [target]`)
	}
	if t.Command[0] == "" {
		bad("command", "the program name is empty", `write command = ["vllm", "serve", "MODEL"]`)
	}
	if t.Ready != "" && !strings.HasPrefix(t.Ready, "/") {
		bad("ready", strconv.Quote(t.Ready)+" is not a path",
			`write ready = "/models": it is below the endpoint's base, which ends in /v1`)
	}
	t.checkPlaceholders(bad)
}

func (t *Table) checkPlaceholders(bad func(key, problem, hint string)) {
	used := map[string]bool{}
	look := func(key, text string) {
		for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
			if _, known := t.Knobs.Values[m[1]]; !known {
				bad(key, m[0]+" is a placeholder without a knob", "write "+m[1]+" = [1, 2] in [server.knobs]")
			}
		}
	}
	for _, list := range []struct {
		key   string
		words []string
	}{{"command", t.Command}, {"before", t.Before}, {"after", t.After}} {
		for i, w := range list.words {
			look(fmt.Sprintf("%s[%d]", list.key, i), w)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		look("env."+name, t.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(t.Knobs.Values)) {
		if !used[name] {
			bad("knobs."+name, name+" is not used: all its values would start the same server", "write {"+name+
				"} in command, e.g. \"--max-num-seqs\", \"{"+name+"}\"")
		}
	}
}

const maxVariants = 1000

// Variants are the servers to start, knobs by names, the baseline first: each other one differs in one knob, or all are
// combined, the last knob fastest. ok: at most maxVariants.
func (t *Table) Variants(names []string, combined bool) (out []Variant, ok bool) {
	base := make(Variant, 0, len(names))
	all := 1
	for _, name := range names {
		values := t.Knobs.Values[name]
		base = append(base, Setting{name, values[0]})
		if all *= len(values); all > maxVariants {
			return nil, false
		}
	}
	if combined {
		return t.product(base, 0), true
	}
	out = []Variant{base}
	for i, name := range names {
		for _, value := range t.Knobs.Values[name][1:] {
			v := slices.Clone(base)
			v[i].Value = value
			out = append(out, v)
		}
	}
	return out, true
}

func (t *Table) product(v Variant, i int) []Variant {
	if i == len(v) {
		return []Variant{slices.Clone(v)}
	}
	var out []Variant
	for _, value := range t.Knobs.Values[v[i].Knob] {
		next := slices.Clone(v)
		next[i].Value = value
		out = append(out, t.product(next, i+1)...)
	}
	return out
}

// Config is the Config of a variant. The caller adds URL, Log and Guard.
func (t *Table) Config(v Variant) Config {
	fill := func(text string) string {
		return placeholder().ReplaceAllStringFunc(text, func(place string) string {
			for _, s := range v {
				if place == "{"+s.Knob+"}" {
					return s.Value
				}
			}
			return place
		})
	}
	words := func(in []string) []string {
		var out []string
		for _, w := range in {
			out = append(out, fill(w))
		}
		return out
	}
	c := Config{
		Command: words(t.Command), Before: words(t.Before), After: words(t.After),
		Health: cmp.Or(t.Ready, "/models"), Start: cmp.Or(t.StartTimeout, tableStartTimeout),
		Grace: cmp.Or(t.StopTimeout, tableStopTimeout), Own: !t.Proxied,
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		c.Env = append(c.Env, name+"="+fill(t.Env[name]))
	}
	return c
}
