package sweep

import (
	"fmt"
	"strings"

	"bench/sweep/strict"
)

// finding is a mistake of one point, or of many with the same cause.
type checkResult struct {
	path, text, hint string
	axis             int // the axis that path leads into, or -1
}

// findings collects the mistakes of a row's points: one at an axis is a mistake of a value or, if every value has it, of the key.
type findings struct {
	order  []checkResult
	values map[checkResult]map[int]bool // the values of its axis that have it, by index
}

func (f *findings) add(m checkResult, value int) {
	if f.values == nil {
		f.values = map[checkResult]map[int]bool{}
	}
	if f.values[m] == nil {
		f.order = append(f.order, m)
		f.values[m] = map[int]bool{}
	}
	f.values[m][value] = true
}

// found notes what is wrong with the point of a choice.
func (x *expander) found(choice []int) func(path, text, hint string) {
	return func(path, text, hint string) {
		for i, a := range x.axes {
			if within(path, a.path) {
				x.findings.add(checkResult{path, text, hint, i}, choice[i])
				return
			}
		}
		x.findings.add(checkResult{path, text, hint, -1}, 0)
	}
}

// report tells the problems that were found, each at its place in the file.
func (x *expander) report() {
	for _, m := range x.findings.order {
		if m.axis < 0 {
			x.bad(x.place(m.path), m.text, m.hint)
			continue
		}
		a, with := x.axes[m.axis], x.findings.values[m]
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

// within says whether a path is that of outer, or of something in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// place is where a path of a point stands in the file: in the row, in the defaults or in the
// matrix's SLO. A key that stands nowhere is missing from the table that ought to have it.
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
