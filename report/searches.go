package report

import (
	"fmt"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// searchFacts are what the rows found that looked for a load: the answer is an interval.
func (r *Run) searchFacts() []fact {
	var out []fact
	for i := range r.Manifest.Searches {
		f := &r.Manifest.Searches[i]
		x := fact{Head: searchName(f), Lead: answer(f), Table: "searches", Lines: []string{f.Text}}
		if f.Verdict() != "" {
			x.Kind = verdictCell(f.Verdict(), 0).kind
		}
		out = append(out, x)
	}
	return out
}

func searchName(f *record.Found) string {
	s := series.Series{Name: f.Name, Others: f.Others}
	return strings.TrimSpace("Search of " + s.Label() + " " + f.Variant)
}

var sought = map[string]string{
	"slo": "highest %s that meets the SLO", "saturation": "highest %s that the server keeps up with", "knee": "knee of the %s",
}

var searchStates = map[string]string{"above": "even the highest load is one", "below": "not even the lowest load is one", "none": "nothing found",
	"budget": "ended by its budget", "searching": "cut: resume the run"}

// answer is the interval that the search ended with, in the axis's unit.
func answer(f *record.Found) string {
	low, high := searched(f, f.Low), searched(f, f.High)
	switch {
	case f.Low != nil && f.High != nil && *f.Low == *f.High:
		return low
	case f.Low != nil && f.High != nil:
		return low + " to " + high
	case f.Low != nil:
		return low + " or above"
	case f.High != nil:
		return "below " + high
	}
	return or(searchStates[f.State], f.State)
}

// searched is a load of a search with its unit; empty where there is none.
func searched(f *record.Found, load *float64) string {
	switch {
	case load == nil:
		return ""
	case f.Search.Axis == "rate":
		return strconv.FormatFloat(short(*load), 'g', -1, 64) + "/s"
	}
	return plural(int(*load), "slot", "slots")
}

// searchesTable is what each search asked for, what it found, and what that rests on; its probes are points like others.
func (r *Run) searchesTable() table {
	t := table{id: "searches", caption: "Searches", note: "The answer is an interval. Each probe is a point of its own, and in the tables and curves as such.",
		columns: []column{{head: "row"}, {head: "looks for"}, {head: "in"}, {head: "answer", num: true}, {head: "runs that agree", num: true},
			{head: "not decided", num: true}, {head: "state"}, {head: "probes", num: true}, {head: "took", num: true}, {head: "in a sentence"}}}
	for i := range r.Manifest.Searches {
		f := &r.Manifest.Searches[i]
		var open []string
		for _, x := range f.Open {
			open = append(open, searched(f, &x))
		}
		t.rows = append(t.rows, []cell{text(strings.TrimPrefix(searchName(f), "Search of ")), text(fmt.Sprintf(or(sought[f.Search.For], f.Search.For+" of the %s"), f.Search.Axis)),
			text(fmt.Sprintf("%s to %s, within %s", searched(f, &f.Search.Min), searched(f, &f.Search.Max), exactly(float64(f.Search.Tolerance), "share"))),
			text(answer(f)), text(fmt.Sprintf("%d and %d", f.LowRuns, f.HighRuns)), text(or(strings.Join(open, ", "), "–")),
			text(strings.TrimSuffix(f.State+": "+searchStates[f.State], ": ")), count(f.Probes), text(unit.Format(f.TookS*1000, "ms")), text(f.Text)})
	}
	return t
}
