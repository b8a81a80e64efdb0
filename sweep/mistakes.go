package sweep

import (
	"fmt"
	"strings"

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
