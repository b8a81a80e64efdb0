package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/sweep/matrix"
)

// climbing has a load that no server can keep: every request fails the limit, whatever the machine does.
const climbing = `name = "climbing"
[slo]
ttft_p50 = "1us"
[defaults]
input = 16
output = 4
requests = 40
%s
[[row]]
name = "a"
concurrency = [4, 1, 2]
input = [16, 32]
[[row]]
name = "b"
rate = [100, 200, "inf"]
repeats = 2
`

// planStates are the states of the plan: "a,concurrency=4,input=16-r1 done".
func planStates(m *record.Manifest) (out []string) {
	for _, p := range m.Plan {
		text := p.ID + " " + p.State
		if p.Skip != "" {
			text += " " + p.Skip + ": " + p.Reason
		}
		out = append(out, text)
	}
	return out
}

// Loads above a certain FAIL of the same series do not run, nor on resume, until the row asks for all of them.
func TestSkipBeyondFail(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	var skipped []string
	o := Options{Out: t.TempDir(), Event: func(e Event) {
		if e.Skipped != nil {
			skipped = append(skipped, fmt.Sprintf("%d/%d %s", e.Skipped.Index, e.Skipped.Total, e.Skipped.ID))
		}
	}}
	result := complete(t, base, fmt.Sprintf(climbing, ""), o)
	want := []string{
		"a,concurrency=4,input=16-r1 done", "a,concurrency=4,input=32-r1 done", // 4 is first in the list
		"a,concurrency=1,input=16-r1 done", "a,concurrency=1,input=32-r1 done",
		"a,concurrency=2,input=16-r1 skipped beyond: beyond the FAIL at concurrency 1",
		"a,concurrency=2,input=32-r1 skipped beyond: beyond the FAIL at concurrency 1",
		"b,rate=100-r1 done", "b,rate=200-r1 skipped beyond: beyond the FAIL at rate 100/s", "b,rate=inf-r1 done",
		"b,rate=100-r2 done", "b,rate=200-r2 skipped beyond: beyond the FAIL at rate 100/s", "b,rate=inf-r2 done",
	}
	check := func(r *Result, want []string) {
		t.Helper()
		got := planStates(&r.Manifest)
		slices.Sort(got)
		if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	check(result, want)
	if len(skipped) != 4 || result.Manifest.State != "done" {
		t.Errorf("%q in a run that is %s", skipped, result.Manifest.State)
	}
	o = Options{Resume: result.Dir}
	check(complete(t, base, fmt.Sprintf(climbing, ""), o), want)
	for i, w := range want {
		id, _, _ := strings.Cut(w, " ")
		want[i] = id + " done"
	}
	check(complete(t, base, fmt.Sprintf(climbing, `run = "all"`), o), want)
}

// A repeat that does not miss the SLO takes the certainty back: what was skipped is planned again.
func TestSkippedIsPlannedAgain(t *testing.T) {
	r := &run{ran: loadsRan{}, agenda: agenda{specs: map[string]*experiment.Spec{}}, Options: Options{Event: func(Event) {}}}
	r.dir.path = t.TempDir()
	r.manifest.Attempts, r.watch.since = make([]record.Attempt, 1), time.Now()
	m := mustParse(t, fmt.Sprintf(climbing, ""))
	plan := map[string]record.Planned{}
	for i := range m.Points {
		s := &m.Points[i]
		p := record.Planned{ID: matrix.ID(s), Name: s.Name, State: "planned"}
		r.specs[p.ID], plan[p.ID] = s, p
		if s.Name == "b" && s.Rate < 1000 {
			r.manifest.Plan, r.todo = append(r.manifest.Plan, p), append(r.todo, p)
		}
	}
	finish := func(id string, verdict stats.Verdict) {
		row := &record.Row{ID: id, Spec: *r.specs[id], SLO: []record.Verdict{{Metric: "ttft_p50", Verdict: verdict}}}
		row.Summary.Requests.Completed = 1
		r.noteRan(row)
		r.next++
	}
	finish("b,rate=100-r1", "FAIL")
	s := r.specs["b,rate=200-r1"]
	if err := r.skip(RowEvent{ID: "b,rate=200-r1", Spec: s, Reason: r.ran.beyond(s)}); err != nil {
		t.Fatal(err)
	}
	r.next++
	finish("b,rate=100-r2", "UNDECIDED")
	var left []string
	for _, p := range r.todo[r.next:] {
		left = append(left, p.ID)
	}
	if want := []string{"b,rate=200-r1", "b,rate=200-r2"}; !slices.Equal(left, want) || r.ran.beyond(s) != "" || planStates(&r.manifest)[1] != "b,rate=200-r1 planned" {
		t.Errorf("left %q, %q", left, planStates(&r.manifest))
	}
}
