package server

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Table is the [server] table: how the thing under test is started, and with which knobs. In the command, the hooks, the
// environment and the directory {name} stands for the value of the knob of that name.
type Table struct {
	Command []string          `toml:"command"` // the program and its arguments; empty: bench starts nothing
	Env     map[string]string `toml:"env"`     // added to bench's own environment
	Dir     string            `toml:"dir"`     // working directory; empty: bench's

	Ready        string        `toml:"ready"`         // path below the endpoint that is asked until it answers; empty: "/models"
	StartTimeout time.Duration `toml:"start_timeout"` // from the command to the answer; 0: 10 minutes
	StopTimeout  time.Duration `toml:"stop_timeout"`  // from being asked to end to being killed; 0: 30 seconds
	// Proxied says that the endpoint's port is held by a process that is not the command's own, such as docker's proxy. Else
	// that is taken for another server, and refused.
	Proxied bool `toml:"proxied"`

	Before []string `toml:"before"` // command that is run before each start, e.g. one that sets clocks
	After  []string `toml:"after"`  // and one behind each end

	Knobs Knobs `toml:"knobs"`
}

// Times in force for a server under test where none are given: loading a model takes minutes.
const (
	tableStartTimeout = 10 * time.Minute
	tableStopTimeout  = 30 * time.Second
)

// Knobs are the settings of a server that vary. One is turned at a time: the first variant has the first value of each, every
// other differs from it in one. With Product they are all combined.
type Knobs struct {
	Product bool
	Values  map[string][]string
}

// Variant is a choice of one value for each knob.
type Variant []Setting

// Setting is a knob with its value.
type Setting struct{ Knob, Value string }

// String is the variant as people read it: "max_num_seqs=32 dtype=fp8".
func (v Variant) String() string {
	parts := make([]string, len(v))
	for i, s := range v {
		parts[i] = s.Knob + "=" + s.Value
	}
	return strings.Join(parts, " ")
}

// Differ counts the knobs in which two variants differ; they have the same ones.
func (v Variant) Differ(w Variant) int {
	n := 0
	for i := range v {
		if v[i] != w[i] {
			n++
		}
	}
	return n
}

// Runs says that bench starts the server itself.
func (t *Table) Runs() bool { return len(t.Command) > 0 }

var (
	placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	knobName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// taken are names that mean something else where a knob's name stands: the keys of a row that its points are named by.
var reservedNames = []string{"rate", "concurrency", "input", "output", "prefix", "repeat", "endpoint"}

// DecodeTOML reads [server.knobs]: product, and for each knob a value or a list of them.
func (k *Knobs) DecodeTOML(v any, bad func(key, problem, hint string)) {
	table, ok := v.(map[string]any)
	if !ok {
		bad("", "knobs is a table", "write [server.knobs] and below it max_num_seqs = [32, 64]")
		return
	}
	k.Values = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if name == "product" {
			if k.Product, ok = table[name].(bool); !ok {
				bad(name, "product is true or false", "write product = true to combine all values of all knobs; a knob needs another name")
			}
			continue
		}
		if !knobName.MatchString(name) || slices.Contains(reservedNames, name) {
			bad(name, strconv.Quote(name)+" can't be the name of a knob", "use letters, digits and underscores, and no key of a row")
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
		bad(name, "the list is empty: there would be nothing to start", "write at least one value")
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
			bad(at, "a knob's value is a text, a number or true or false", "write "+name+" = [32, 64]")
		case slices.Contains(out, text):
			bad(at, text+" is in the list twice", "remove one; repeats = 2 runs a point twice")
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

// Check reports what is wrong in the table; endpoint says that [target] has one that is no simulation.
func (t *Table) Check(endpoint bool, bad func(key, problem, hint string)) {
	if !t.Runs() {
		bad("command", "the table has no command", `write command = ["vllm", "serve", "MODEL", "--port", "8000"]`)
		return
	}
	if !endpoint {
		bad("", "[server] starts a server, and [target] does not say where it answers", `write endpoint = "http://127.0.0.1:8000" in [target]`)
	}
	if t.Command[0] == "" {
		bad("command", "the program has no name", `write command = ["vllm", "serve", "MODEL"]`)
	}
	if t.Ready != "" && !strings.HasPrefix(t.Ready, "/") {
		bad("ready", strconv.Quote(t.Ready)+" is no path", `write ready = "/models": it is below the endpoint's base, which ends in /v1`)
	}
	t.checkPlaceholders(bad)
}

// checkPlaceholders finds places without a knob, and knobs without a place.
func (t *Table) checkPlaceholders(bad func(key, problem, hint string)) {
	used := map[string]bool{}
	look := func(key, text string) {
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
			if _, known := t.Knobs.Values[m[1]]; !known {
				bad(key, m[0]+" is the place of a knob that is not there", "write "+m[1]+" = [1, 2] in [server.knobs]")
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
	look("dir", t.Dir)
	for _, name := range slices.Sorted(maps.Keys(t.Knobs.Values)) {
		if !used[name] {
			bad("knobs."+name, name+" is used nowhere: all its values would start the same server", "write {"+name+"} in command, e.g. \"--max-num-seqs\", \"{"+name+"}\"")
		}
	}
}

// mostVariants is what a weekend of starts allows.
const maxVariants = 1000

// Variants are the servers to start, the knobs in the order of names; the first is the baseline. ok is false where there are
// too many.
func (t *Table) Variants(names []string) (out []Variant, ok bool) {
	base := make(Variant, 0, len(names))
	all := 1
	for _, name := range names {
		values := t.Knobs.Values[name]
		base = append(base, Setting{name, values[0]})
		if all *= len(values); all > maxVariants {
			return nil, false
		}
	}
	if t.Knobs.Product {
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

// product combines the values of the knobs from the i-th on, the last fastest.
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

// Config is how the server of a variant is started; who calls adds where it answers, its log and its guard.
func (t *Table) Config(v Variant) Config {
	fill := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(place string) string {
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
		Command: words(t.Command), Dir: fill(t.Dir), Before: words(t.Before), After: words(t.After),
		Health: t.Ready, Start: t.StartTimeout, Grace: t.StopTimeout, Own: !t.Proxied,
	}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		c.Env = append(c.Env, name+"="+fill(t.Env[name]))
	}
	if c.Health == "" {
		c.Health = "/models"
	}
	if c.Start == 0 {
		c.Start = tableStartTimeout
	}
	if c.Grace == 0 {
		c.Grace = tableStopTimeout
	}
	return c
}
