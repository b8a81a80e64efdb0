package series

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// openRow is a row of 100 requests in 10 s and 2 s beyond, with one limit; it needs so many requests if that is
// undecided.
func openRow(name string, concurrency, need int, v stats.Verdict) record.Row {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := record.Row{PromptForm: "token_ids", StartedAt: at, EndedAt: at.Add(12 * time.Second), Window: record.Window{EndUs: 10e6},
		Spec: experiment.Spec{Name: name, Point: []experiment.Axis{{Key: "concurrency", Value: strconv.Itoa(concurrency)}}, Repeat: 1,
			Workload: workload.Workload{Input: workload.Fixed(16), Output: workload.Fixed(4)}, Load: workload.Load{Concurrency: concurrency, Requests: 100}},
		SLO: []record.Verdict{{Metric: "ttft_p95", Limit: 100, Value: new(150.0), Unit: "ms", Verdict: v, Need: need, Observed: 100}}}
	r.Summary.DurationS = 10
	r.Summary.Requests.Planned, r.Summary.Requests.Completed = 100, 100
	return r
}

// The open points next to the operating point come first, then those between PASS and FAIL, then the others; a verdict
// that takes four times as long waits for them.
func TestOpenPoints(t *testing.T) {
	rows := []record.Row{
		openRow("a", 1, 10, stats.Undecided), // below a PASS
		openRow("a", 2, 0, stats.Pass),
		openRow("a", 4, 40, stats.Undecided),
		openRow("a", 8, 10, stats.Undecided),
		openRow("a", 16, 20, stats.Undecided),
		openRow("a", 32, 0, stats.Fail),
		openRow("a", 64, 10, stats.Undecided), // above a FAIL
		openRow("b", 1, 700, stats.Undecided), // the only load
		openRow("c", 1, 0, stats.Undecided),   // more requests do not help
	}
	var got []string
	for _, o := range OpenPoints(rows) {
		text := o.Spec.Label() + " " + o.Time.String()
		if o.Longer != nil {
			text += " " + strconv.Itoa(o.Longer.Requests) + " in " + o.LongerTime.String()
		}
		got = append(got, text)
	}
	want := []string{
		"a concurrency=16 14s 150 in 17s",
		"a concurrency=4 16s 175 in 19.5s",
		"a concurrency=8 13s 138 in 15.8s",
		"a concurrency=1 13s 138 in 15.8s",
		"a concurrency=64 13s 138 in 15.8s",
		"b concurrency=1 1m22s 400 in 42s", // four times as long at most: the need is a guess
		"c concurrency=1 0s",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A longer repeat decides what a shorter one left undecided, and its figures are the point's.
func TestLongerRepeat(t *testing.T) {
	short, long := openRow("a", 1, 30, stats.Undecided), openRow("a", 1, 0, stats.Pass)
	long.Spec.Repeat, long.Spec.Added, long.Spec.Requests = 2, 1, 200
	long.Summary.Requests.Completed, long.Summary.Throughput.OutputTokensPerS = 200, 7
	p := FromRows([]record.Row{short, long})[0].Points[0]
	if p.SLO != stats.Pass || p.Need != 0 || p.Completed() != 200 || p.OutputTokensPerS.Median != 7 {
		t.Errorf("%s needs %d, n=%d, %v", p.SLO, p.Need, p.Completed(), p.OutputTokensPerS)
	}
	long.SLO[0].Verdict, long.SLO[0].Need = stats.Undecided, 50
	o := OpenPoints([]record.Row{short, long})
	if len(o) != 1 || o[0].Need != 50 || o[0].Longer.Repeat != 3 || o[0].Longer.Added != 2 {
		t.Errorf("%+v", o)
	}
	long.Spec.Added = 0 // a repeat of the matrix, as long as the first
	long.SLO[0].Verdict, long.SLO[0].Need = stats.Pass, 0
	if p := FromRows([]record.Row{short, long})[0].Points[0]; p.SLO != stats.Undecided {
		t.Errorf("a repeat as long as the first hides it: %s", p.SLO)
	}
}

// A longer row is not always the same load.
func TestNoLongerRepeat(t *testing.T) {
	for name, change := range map[string]func(*experiment.Spec){
		"all at once": func(s *experiment.Spec) { s.Rate, s.Concurrency = workload.Rate(math.Inf(1)), 0 },
		"ramp":        func(s *experiment.Spec) { s.Rate, s.Arrival.Process = 4, "ramp" },
		"max_duration": func(s *experiment.Spec) {
			s.Duration, s.MaxDuration = workload.Span(10*time.Second), workload.Span(11*time.Second)
		},
	} {
		r := openRow("a", 1, 100, stats.Undecided)
		change(&r.Spec)
		if o := OpenPoints([]record.Row{r}); len(o) != 1 || o[0].Longer != nil || o[0].Need != 100 {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
