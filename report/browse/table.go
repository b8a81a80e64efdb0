package browse

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report/compare"
	"bench/report/page"
)

// perPage is the number of runs in one table: a browser lays them out in a moment.
const perPage = 1000

// tableTemplate has a function visible, which escapes control and bidi characters.
var tableTemplate = sync.OnceValue(func() *template.Template {
	visible := template.FuncMap{"visible": text.Escape}
	return template.Must(template.New("runs").Funcs(visible).Parse(tableHTML))
})

type tableView struct {
	page.Shell
	Dir            string
	Wrong          string // what is wrong with the request; empty: nothing
	Reading        string // how far the runs are read; empty: all are
	Query          Query
	Choices        []choice
	Heads          []headView
	Runs           []runView
	Elsewhere      []runView // selected runs that are not in the table
	Shown          string    // "12 of 1,000 runs"
	Total          int
	Previous, Next string // URLs of other pages; empty: none
	Unread         []compare.Night
}

type choice struct {
	Key, Value string
	Values     []string
}

type headView struct {
	Head, Unit, URL string
	Num             bool
	Sort            string // ascending, descending; empty: by another column
}

type runView struct {
	Dir, URL, Day, Clock, Matrix, Model, Hardware, Server string
	State                                                 string // empty: done
	Answer, Kind, Point, More                             string // More: other workloads
	Output, OutputOf                                      string
	TTFT, TPOT                                            *compare.Percentile
	Trust, TrustKind, TrustText                           string
	Gate, GateKind, GateError, GPUSeconds                 string
	Selected                                              bool
}

func reading(read, left int) string {
	switch {
	case left < 0:
		return "searching the directory for runs"
	case left > 0:
		return fmt.Sprintf("%s of %s read, the latest first", unit.Count(read), unit.Plural(read+left, "run"))
	}
	return ""
}

func newTable(shell page.Shell, dir string, q Query, nights []compare.Night) tableView {
	v := tableView{Shell: shell, Dir: dir, Query: q, Choices: choices(q, nights), Heads: heads(q), Total: len(nights)}
	picked := q.pick(nights)
	v.Shown = fmt.Sprintf("%s of %s", unit.Count(len(picked)), unit.Plural(len(nights), "run"))
	from := min(q.page*perPage, len(picked))
	shown := picked[from:min(from+perPage, len(picked))]
	v.Previous, v.Next = q.otherPage(q.page > 0, -1), q.otherPage(from+len(shown) < len(picked), 1)
	there := map[string]bool{}
	for i := range shown {
		there[shown[i].Dir] = true
		v.Runs = append(v.Runs, newRunView(&shown[i], slices.Contains(q.Runs, shown[i].Dir)))
	}
	for i := range nights {
		n := &nights[i]
		switch {
		case n.Headline == nil:
			v.Unread = append(v.Unread, *n)
		case !there[n.Dir] && slices.Contains(q.Runs, n.Dir):
			v.Elsewhere = append(v.Elsewhere, newRunView(n, true))
		}
	}
	return v
}

func (q Query) otherPage(exists bool, step int) string {
	if !exists {
		return ""
	}
	q.page += step
	return "./?" + q.Encode()
}

// choices have the values of all runs: one filter must not hide the values of another.
func choices(q Query, nights []compare.Night) []choice {
	out := []choice{{Key: "matrix", Value: q.Matrix}, {Key: "model", Value: q.Model},
		{Key: "hardware", Value: q.Hardware}, {Key: "server", Value: q.Server}, {Key: "answer", Value: q.Answer}}
	for i := range out {
		c := &out[i]
		found := map[string]bool{c.Value: true} // also one that no run has any more
		for k := range nights {
			if nights[k].Headline != nil {
				found[columnOf(c.Key).text(&nights[k])] = true
			}
		}
		delete(found, "")
		c.Values = slices.Sorted(maps.Keys(found))
	}
	return out
}

// heads are the columns, each with the URL that sorts by it: a second time the other way.
func heads(q Query) []headView {
	key, down := strings.CutPrefix(q.Sort, "-")
	if q.Sort == "" {
		key, down = "started", true
	}
	var out []headView
	for _, c := range columns {
		h := headView{Head: c.head, Unit: c.unit, Num: c.number != nil && c.key != "trust"}
		to := q
		to.Sort, to.page = c.key, 0
		if c.key == key {
			h.Sort = map[bool]string{true: "descending", false: "ascending"}[down]
			if !down {
				to.Sort = "-" + c.key
			}
		}
		h.URL = "./?" + to.Encode()
		out = append(out, h)
	}
	return out
}

var kinds = map[string]string{"PASS": "pass", "FAIL": "fail", "UNDECIDED": "undecided", unreadable: "undecided"}

func newRunView(n *compare.Night, selected bool) runView {
	h := n.Headline
	v := runView{Dir: n.Dir, URL: "report?" + url.Values{"run": {n.Dir}}.Encode(), Day: n.StartedAt.UTC().Format(day),
		Clock: n.StartedAt.UTC().Format("15:04"), Matrix: n.Group.Matrix, Model: n.Group.Model, Hardware: hardware(n),
		Server: h.Server, Answer: h.Answer, Kind: kinds[h.Verdict], Point: h.Point, TTFT: h.TTFT, TPOT: h.TPOT,
		TrustText: h.Trust, Gate: gate(n), GateKind: kinds[gate(n)], GateError: n.GateError, Selected: selected}
	if h.State != "done" {
		v.State = fmt.Sprintf("%s, %d of %s", h.State, h.Rows, unit.Plural(h.Planned, "row"))
	}
	if h.Workloads > 1 {
		v.More = fmt.Sprintf("+%d", h.Workloads-1)
	}
	if x := output(n); x != nil {
		v.Output = unit.Digits(*x)
		if h.PerGPU == nil {
			v.OutputOf = "all GPUs"
		}
	}
	v.Trust, v.TrustKind = trustCell(h)
	if h.GPUSeconds != nil {
		v.GPUSeconds = unit.Digits(*h.GPUSeconds)
	}
	return v
}

func trustCell(h *compare.Headline) (text, kind string) {
	var parts []string
	if h.Invalid > 0 {
		parts, kind = append(parts, fmt.Sprintf("%d invalid", h.Invalid)), "fail"
	}
	if h.Cautions > 0 {
		parts = append(parts, unit.Plural(h.Cautions, "caution"))
		if kind == "" {
			kind = "undecided"
		}
	}
	if len(parts) == 0 && h.Rows > 0 {
		return "valid", "pass"
	}
	return strings.Join(parts, ", "), kind
}
