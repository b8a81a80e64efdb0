package peers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/text"
)

// args are the flags of a command, or the keys of a configuration, in their order.
type args struct {
	flags    []*given
	problems []string
}

type given struct {
	name   string // without dashes at its begin, with - for _: request-rate; of a configuration with dots: load.type
	values []string
	short  bool // one dash: a value can be joined to its letter
	used   bool
}

var number = text.Lazy(`^-[0-9.]`)

// parse reads --name value…, --name=value and -n value. A redirection and arguments behind -- belong to no flag.
func parse(words []string) *args {
	a := &args{}
	for _, word := range words {
		last := len(a.flags) - 1
		switch {
		case word == "--":
			a.add("--")
		case last >= 0 && a.flags[last].name == "--":
			a.flags[last].values = append(a.flags[last].values, word)
		case strings.HasPrefix(word, "-") && !number().MatchString(word) && len(word) > 1:
			name, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
			a.add(name)
			flag := a.flags[last+1]
			if flag.short = !strings.HasPrefix(word, "--"); joined {
				flag.values = []string{value}
			}
		case strings.HasPrefix(word, ">") || strings.HasPrefix(word, "2>"):
			return a
		case last >= 0:
			a.flags[last].values = append(a.flags[last].values, word)
		}
	}
	return a
}

func (a *args) add(name string, values ...string) {
	a.flags = append(a.flags, &given{name: plain(name), values: values})
}

func plain(name string) string { return strings.ReplaceAll(name, "_", "-") }

// flatten adds the leaves of a tree, each under the path of its keys. A list of scalars is one value with commas.
func (a *args) flatten(at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			a.flatten(strings.TrimPrefix(at+"."+key, "."), v[key])
		}
	case []any:
		var scalars []string
		for i, item := range v {
			switch item.(type) {
			case map[string]any, []any:
				a.flatten(at+"."+strconv.Itoa(i), item)
			default:
				scalars = append(scalars, scalar(item))
			}
		}
		if len(scalars) > 0 {
			a.add(at, strings.Join(scalars, ","))
		}
	default:
		a.add(at, scalar(v))
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// find returns all flags with one of the names, and marks them as used.
func (a *args) find(names ...string) (found []*given) {
	for _, g := range a.flags {
		if slices.Contains(names, g.name) {
			g.used = true
			found = append(found, g)
		}
	}
	return found
}

func (a *args) has(names ...string) bool { return len(a.find(names...)) > 0 }

// hasUnder reports whether there is a key, or one below it.
func (a *args) hasUnder(key string) bool {
	return slices.ContainsFunc(a.flags, func(g *given) bool {
		return g.name == key || strings.HasPrefix(g.name, key+".")
	})
}

// text is the value of the last of the flags; empty: none is given. Several words are one text: placeholders of pages
// such as <your data path> have blanks.
func (a *args) text(names ...string) string {
	found := a.find(names...)
	if len(found) == 0 {
		return ""
	}
	return strings.Join(found[len(found)-1].values, " ")
}

// on is the state of a switch: --name, --no-name, --name false.
func (a *args) on(fallback bool, names ...string) bool {
	for _, name := range names {
		if a.has("no-" + name) {
			return false
		}
		if a.has(name) {
			value := strings.ToLower(a.text(name))
			return value != "false" && value != "0"
		}
	}
	return fallback
}

// words are the values of each of the flags as they are written.
func (a *args) words(names ...string) (values []string) {
	for _, g := range a.find(names...) {
		values = append(values, g.values...)
	}
	return values
}

// all are the values of each of the flags, without commas between them.
func (a *args) all(names ...string) (values []string) {
	for _, v := range a.words(names...) {
		values = append(values, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return values
}

func (a *args) number(fallback float64, names ...string) float64 {
	text := strings.Trim(a.text(names...), `"' `)
	if text == "" {
		return fallback
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.Abs(x) > 1e15 && !math.IsInf(x, 0) {
		a.bad(names[0], text)
		return fallback
	}
	return x
}

func (a *args) whole(fallback int, names ...string) int {
	x := a.number(float64(fallback), names...)
	if x != math.Trunc(x) || math.IsInf(x, 0) {
		a.bad(names[0], scalar(x))
		return fallback
	}
	return int(x)
}

// numbers are comma-separated numbers; "inf" is +Inf.
func (a *args) numbers(names ...string) (list []float64) {
	for _, text := range a.all(names...) {
		x, err := strconv.ParseFloat(strings.Trim(text, `[]"'`), 64)
		if err != nil || !(x > 0) {
			a.bad(names[0], text)
			continue
		}
		list = append(list, x)
	}
	return list
}

func (a *args) bad(name, text string) {
	problem := fmt.Sprintf("--%s: %q is not a valid number", name, text)
	switch {
	case isSecret(name, text):
		problem = "--" + name + ": not a valid number"
	case strings.ContainsAny(text, "$<"):
		problem = fmt.Sprintf("--%s: %s stands for a number\nhint: replace it by its value", name, text)
	}
	if !slices.Contains(a.problems, problem) {
		a.problems = append(a.problems, problem)
	}
}

// sub reads the values of flags such as --data prompt_tokens=256,output_tokens=128, or their JSON.
func (a *args) sub(names ...string) *args {
	all := &args{}
	for _, one := range a.each(names...) {
		all.flags = append(all.flags, one.flags...)
	}
	return all
}

// each does what sub does, for each of the flags apart. An item without = continues a list: streams=1,2,4.
func (a *args) each(names ...string) (list []*args) {
	for _, g := range a.find(names...) {
		in := &args{}
		list = append(list, in)
		text := strings.Join(g.values, " ")
		if tree, ok := parseJSON(text); ok {
			in.flatten("", tree)
			continue
		} else if strings.HasPrefix(text, "{") {
			a.notJSON(g.name)
			continue
		}
		for item := range strings.SplitSeq(text, ",") {
			name, value, pair := strings.Cut(item, "=")
			if n := len(in.flags); !pair && n > 0 {
				in.flags[n-1].values[0] += "," + item
			} else if pair {
				in.add(strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
	}
	return list
}

// under are the values of the keys below a path, as of JSON; gap separates the words of a key: headers have dashes.
func (a *args) under(path, gap string) map[string]any {
	fields := map[string]any{}
	for _, g := range a.flags {
		name, found := strings.CutPrefix(g.name, path+".")
		if !found || len(g.values) == 0 {
			continue
		}
		g.used = true
		fields[strings.ReplaceAll(name, "-", gap)] = typed(g.values[0])
	}
	return fields
}

// typed is a text as JSON reads it, else the text itself.
func typed(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil || decoder.More() {
		return text
	}
	return v
}

func parseJSON(text string) (tree map[string]any, ok bool) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return tree, decoder.Decode(&tree) == nil
}

// object is a flag whose value is JSON: {"top_p": 0.9}; nil: not given.
func (a *args) object(names ...string) map[string]any {
	text := a.text(names...)
	if text == "" {
		return nil
	}
	tree, ok := parseJSON(text)
	if !ok {
		a.notJSON(names[0])
	}
	return tree
}

func (a *args) notJSON(name string) {
	a.problems = append(a.problems, fmt.Sprintf("--%s: the value is not JSON\nhint: --%[1]s '{\"top_p\": 0.9}'", name))
}

// ignore marks flags that do not change the load. A name that ends in a dot stands for all keys below it.
func (a *args) ignore(names string) {
	for name := range strings.FieldsSeq(names) {
		for _, g := range a.flags {
			g.used = g.used || g.name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(g.name, name)
		}
	}
}

// unused are the names of flags that no one read. Their values can be secrets: what they mean is not known.
func (a *args) unused(lead string) (out []string) {
	for _, g := range a.flags {
		name := strings.TrimPrefix(g.name, "--")
		switch {
		case g.used:
			continue
		case g.short && len(name) > 1:
			name = name[:1] + " …"
		case len(g.values) > 0:
			name = strings.ToValidUTF8(name[:min(len(name), 80)], "") + " …"
		}
		out = append(out, lead+name)
	}
	return out
}

const hiddenAddress = "user, password and query of an address are not in the matrix: they may be secret"

var (
	userInfo = text.Lazy(`(://)(?:[^\s"'/]*|[^\s"'?,]*)@`)
	query    = text.Lazy(`(://[^\s"'?,]*)\?[^\s"',}]*`)
)

// hideAddresses takes user, password and query off every address in the values, of servers and of files.
func (a *args) hideAddresses() (found bool) {
	for _, g := range a.flags {
		for i, text := range g.values {
			g.values[i] = query().ReplaceAllString(userInfo().ReplaceAllString(text, "$1"), "$1")
			found = found || g.values[i] != text
		}
	}
	return found
}

// isSecret reports whether a flag's value must not be shown. In doubt it must not.
func isSecret(name, value string) bool { return text.IsSecret(name, value) }

// holdsSecret does what isSecret does, for a value of JSON with all that is in it.
func holdsSecret(name string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if holdsSecret(key, inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return holdsSecret(name, inner) })
	case string:
		return isSecret(name, v)
	}
	return isSecret(name, "")
}
