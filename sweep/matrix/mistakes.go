package matrix

import (
	"fmt"
	"strings"
	"time"

	"bench/sweep/strict"
)

type mistake struct {
	path, text, hint string
	axis             int // index of the axis that contains path; -1 = none
}

// mistakes are those of all points of a row. A mistake at an axis is one of a value or, if every value has
// it, of the key.
type mistakes struct {
	order  []mistake
	values map[mistake]map[int]bool // indices of the axis values that have it
}

func (f *mistakes) add(m mistake, value int) {
	if f.values == nil {
		f.values = map[mistake]map[int]bool{}
	}
	if f.values[m] == nil {
		f.order = append(f.order, m)
		f.values[m] = map[int]bool{}
	}
	f.values[m][value] = true
}

func (x *expander) collect(choice []int) func(path, text, hint string) {
	return func(path, text, hint string) {
		for i, a := range x.axes {
			if within(path, a.path) {
				x.mistakes.add(mistake{path, text, hint, i}, choice[i])
				return
			}
		}
		x.mistakes.add(mistake{path, text, hint, -1}, 0)
	}
}

func (x *expander) report() {
	for _, m := range x.mistakes.order {
		if m.axis < 0 {
			x.bad(x.place(m.path), m.text, m.hint)
			continue
		}
		a, with := x.axes[m.axis], x.mistakes.values[m]
		if len(a.values) > 1 && len(with) == len(a.values) {
			x.bad(x.place(a.path), m.text, m.hint)
			continue
		}
		for i := range a.values {
			if with[i] {
				x.bad(fmt.Sprintf("%s[%d]", x.place(a.path), i)+strings.TrimPrefix(m.path, a.path), m.text, m.hint)
			}
		}
	}
}

func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// place is the path in the file of a path in a point: in the row, in the defaults or in the matrix's SLO. The
// path of a missing key is in the table that needs it.
func (x *expander) place(path string) string {
	own, theirs := strict.Join(x.at(), path), strict.Join("defaults", path)
	if path == "" || x.stands(own) {
		return own
	}
	if x.stands(theirs) {
		return theirs
	}
	if within(path, "slo") && x.stands(path) {
		return path
	}
	top, _, _ := strings.Cut(path, ".")
	top, _, _ = strings.Cut(top, "[")
	if _, here := x.row[top]; !here && x.defaults[top] != nil {
		return theirs
	}
	return own
}

func (x *expander) stands(path string) bool {
	_, _, _, ok := x.doc.Place(path)
	return ok
}

// Keys whose zero would mean the default: a stated zero never silently becomes the default.
var (
	zeroRowKeys   = []string{"concurrency", "repeats", "burstiness", "prefix.groups", "trace.speed", "settle", "grace"}
	zeroTableKeys = []string{"budget", "target.gpus", "target.timeout", "server.start_timeout", "server.stop_timeout"}
)

func checkZero(table map[string]any, key string, bad func(path, text, hint string)) {
	if !zeroAt(table, key) {
		return
	}
	hint := "write a value above 0, or leave it out for the default"
	if key == "settle" || key == "grace" { // without them a row waits
		hint = "write " + key + ` = "1ms", or leave it out for the default`
	}
	bad(key, key+" is 0", hint)
}

func checkZeros(values map[string]any, bad func(path, text, hint string)) {
	for _, key := range zeroRowKeys {
		checkZero(values, key, bad)
	}
	classes, _ := values["mix"].([]map[string]any)
	for i, class := range classes {
		checkZero(class, "prefix.groups", func(key, text, hint string) {
			bad(fmt.Sprintf("mix[%d].%s", i, key), text, hint)
		})
	}
	if values["kind"] == "cold_start" && zeroAt(values, "idle") {
		bad("idle", "idle is 0, but a cold start needs an idle server", `write idle = "10s", or leave it out`)
	}
}

func (r *reader) checkTimes() {
	for _, key := range zeroTableKeys {
		checkZero(r.doc.Root, key, r.bad)
	}
}

// zeroAt reports whether a table states zero for a key, or for a key in a table in it: a number, or a quoted
// duration.
func zeroAt(table map[string]any, path string) bool {
	key, inner, nested := strings.Cut(path, ".")
	if nested {
		sub, _ := table[key].(map[string]any)
		return zeroAt(sub, inner)
	}
	switch v := table[key].(type) {
	case int64:
		return v == 0
	case float64:
		return v == 0
	case string:
		d, err := time.ParseDuration(v)
		return err == nil && d == 0
	}
	return false
}
