package series

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/twin"
	"bench/experiment/workload"
)

// batching is a row at a rate, as a server with known step times answers it; slow multiplies its times.
func batching(t *testing.T, rate, slow float64) (record.Row, []*record.Record) {
	t.Helper()
	s := experiment.Spec{Name: "A", Point: []experiment.Axis{{Key: "rate", Value: fmt.Sprint(rate)}}}
	s.Rate, s.Input, s.Output, s.Duration = workload.Rate(rate), workload.Fixed(200), workload.Fixed(40), workload.Span(30e9)
	s.SLO.Limits = []experiment.Limit{{Key: "ttft_p95", Metric: "ttft", Stat: "p95", Value: 500, Unit: "ms"}}
	m := twin.Model{Base: slow * 0.01, PerSequence: slow * 0.0003, PerPrefillToken: slow * 20e-6, MaxSequences: 16}
	rng := rand.New(rand.NewPCG(uint64(100*rate), 1))
	var requests []twin.Request
	for at := 0.0; at < 30; at += rng.ExpFloat64() / rate {
		requests = append(requests, twin.Request{Arrival: at, Prompt: 100 + rng.IntN(200), Output: 20 + rng.IntN(40)})
	}
	var records []*record.Record
	us := func(x float64) record.Micros { return record.At(int64(1e6 * x)) }
	for i, r := range m.Run(requests, 0) {
		x := &record.Record{I: i, Phase: record.PhaseWindow, Outcome: "ok", Arrival: us(r.Arrival), First: us(r.First), Last: us(r.Last),
			PromptRequested: r.Prompt, OutputTokens: r.Output}
		gap := (x.Last.Us() - x.First.Us()) / int64(r.Output-1)
		for range r.Output - 1 {
			x.Gaps = x.Gaps.Append(gap)
		}
		records = append(records, x)
	}
	row := record.Row{ID: fmt.Sprintf("A,rate=%g-r1", rate), Spec: s}
	row.Summary.Requests.Planned = len(records)
	return row, records
}

// A row that something slowed stands out from the twin of its neighbours; the highest load may be another server.
func TestDisturbedRow(t *testing.T) {
	for _, tt := range []struct {
		slow float64 // rate of the slowed row
		want string
	}{{0, ""}, {6, "A,rate=6-r1"}, {12, ""}} {
		var rows []*record.Row
		all := map[string][]*record.Record{}
		for _, rate := range []float64{3, 6, 9, 12} {
			slow := 1.0
			if rate == tt.slow {
				slow = 3
			}
			row, records := batching(t, rate, slow)
			rows, all[row.ID] = append(rows, &row), records
		}
		m, err := FitTwin(rows, 0, func(r *record.Row) ([]*record.Record, error) { return all[r.ID], nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range m.disturbed {
			got += d.Row
		}
		if got != tt.want {
			t.Errorf("slow at %v: %q, want %q", tt.slow, got, tt.want)
		}
	}
}

// A server far below its slots shows no limit; its own report does. A row of one of several servers has none of them.
func TestSlots(t *testing.T) {
	row, records := batching(t, 3, 1)
	read := func(*record.Row) ([]*record.Record, error) { return records, nil }
	for _, tt := range []struct {
		variant     string
		slots, want int
	}{{"", 16, 16}, {"", 0, 0}, {"parallel=16", 16, 0}} {
		row.Spec.Variant = tt.variant
		m, err := FitTwin([]*record.Row{&row}, tt.slots, read, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.model.MaxSequences; got != tt.want {
			t.Errorf("%d slots reported, variant %q: the model has %d, want %d", tt.slots, tt.variant, got, tt.want)
		}
	}
}

func TestUntwinned(t *testing.T) {
	none := func(*record.Row) ([]*record.Record, error) { return nil, nil }
	for want, change := range map[string]func(s *experiment.Spec){
		"not streamed":      func(s *experiment.Spec) { s.Stream = new(bool) },
		"arrivals that are": func(s *experiment.Spec) { s.Concurrency = 4 },
		"not modeled: itl_p95": func(s *experiment.Spec) {
			s.SLO.Limits = []experiment.Limit{{Key: "itl_p95", Metric: "itl", Stat: "p95"}}
		},
		"no latency":          func(s *experiment.Spec) { s.SLO.Limits = nil },
		"no row has requests": func(*experiment.Spec) {},
		"cold starts":         func(s *experiment.Spec) { s.Kind = "cold_start" },
	} {
		row, _ := batching(t, 3, 1)
		change(&row.Spec)
		if _, err := FitTwin([]*record.Row{&row}, 0, none, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestTwinText(t *testing.T) {
	best := 10.0
	d := &record.Twin{Residuals: []record.TwinResidual{{Residual: twin.Residual{Load: 9, Log: 0.05, Error: 0.01}}, {Residual: twin.Residual{Load: 1, Log: 1}}}}
	d.Best = &best
	if got := TwinText(d); got != "accepted, residuals up to 5 %" {
		t.Error(got)
	}
	d.Rejected = "residual +31 % of ttft at 40"
	if got := TwinText(d); got != "rejected: residual +31 % of ttft at 40" {
		t.Error(got)
	}
}

// A twin of one load says where to look, and is no answer: what ran there is not all that can run.
func TestTwinOfOneLoad(t *testing.T) {
	row, records := batching(t, 3, 1)
	row.SLO = []record.Verdict{{Metric: "ttft_p95", Limit: 500, Unit: "ms", Value: new(100.0), Verdict: stats.Undecided}}
	k := &experiment.Search{Axis: "rate", Goal: experiment.GoalSLO, Min: 0.1, Max: 100, Open: true, Tolerance: experiment.DefaultTolerance,
		Budget: workload.Span(time.Minute)}
	rows := []*record.Row{&row}
	m, err := FitTwin(rows, 0, func(*record.Row) ([]*record.Record, error) { return records, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ask(k)
	if _, why := m.bracket(k, stats.Bracket{}); why != "the rows have one load alone" {
		t.Errorf("it answers: %q", why)
	}
	for best, want := range map[float64]float64{3.1: 6, 2.9: 6} { // a fifth of the limit at 3/s
		m.answer = twin.Operating{Low: 0.95 * best, Best: best, High: 1.05 * best}
		if next, more := NextProbe(k, rows, m, 0); !more || next.Load != want {
			t.Errorf("a limit at %v: the next probe is at %v (%v), want %v", best, next.Load, more, want)
		}
	}
}

// A server that counts the hits of its prefix cache, but reports none with its responses: each prompt has the mean.
func TestTrialOfCountedHits(t *testing.T) {
	row, records := batching(t, 6, 1)
	row.Server.Metrics = &telemetry.ServerUsage{PrefixHitRate: new(0.5), PrefixUnit: "tokens"}
	cached := func() int {
		trial, ok := TrialOf(&row, records)
		if !ok || trial.Requests[0].Prompt != records[0].PromptRequested {
			t.Fatalf("%+v", trial.Requests)
		}
		return trial.Requests[0].Cached
	}
	if got, want := cached(), records[0].PromptRequested/2; got != want {
		t.Errorf("%d cached, the server counted %d", got, want)
	}
	row.Summary.Tokens.Cached = new(0) // responses report it
	if got := cached(); got != 0 {
		t.Errorf("%d cached, the response reported none", got)
	}
	row.Summary.Tokens.Cached, row.Server.Metrics.PrefixUnit = nil, "blocks"
	if got := cached(); got != 0 {
		t.Errorf("%d cached by a count of blocks", got)
	}
}

// A twin that was fitted to the same requests under other limits is what a new fit gives; one of other requests is not
// taken.
func TestKnownTwin(t *testing.T) {
	all := map[string][]*record.Record{}
	rowsUnder := func(limits ...experiment.Limit) (rows []record.Row) {
		for rate, slow := range map[float64]float64{3: 1, 6: 3, 9: 1, 12: 1} {
			row, records := batching(t, rate, slow)
			row.Spec.SLO.Limits = limits
			for _, l := range limits {
				row.SLO = append(row.SLO, record.Verdict{Metric: l.Key, Limit: l.Value, Unit: "ms", Value: new(l.Value), Verdict: stats.Undecided})
			}
			rows, all[row.ID] = append(rows, row), records
		}
		slices.SortFunc(rows, func(a, b record.Row) int { return cmp.Compare(a.Spec.Rate, b.Spec.Rate) })
		return rows
	}
	limit := func(metric, stat string, ms float64) experiment.Limit {
		return experiment.Limit{Key: metric + "_" + stat, Metric: metric, Stat: stat, Value: ms, Unit: "ms"}
	}
	read := func(r *record.Row) ([]*record.Record, error) { return all[r.ID], nil }
	twins := func(rows []record.Row, known []record.Twin) (text string, taken bool) {
		fitted := map[string]*Twin{}
		out := Twins(rows, 0, read, fitted, known)
		b, err := json.Marshal(out)
		if err != nil || len(out) != 1 || out[0].Best == nil || len(out[0].Curve) == 0 || len(out[0].Disturbed) != 1 {
			t.Fatal(err, string(b))
		}
		return string(b), fitted[rows[0].ID].known != nil
	}
	stored, _ := twins(rowsUnder(limit("ttft", "p95", 35), limit("e2e", "mean", 540)), nil)
	var known []record.Twin
	if err := json.Unmarshal([]byte(stored), &known); err != nil {
		t.Fatal(err)
	}
	rows := rowsUnder(limit("ttft", "p90", 28), limit("tpot", "p99", 20))
	want, _ := twins(rows, nil)
	if got, taken := twins(rows, known); got != want || !taken || got == stored {
		t.Errorf("taken: %v\n got %s\nwant %s", taken, got, want)
	}
	all[rows[2].ID] = all[rows[2].ID][1:]
	want, _ = twins(rows, nil)
	if got, taken := twins(rows, known); got != want || taken {
		t.Errorf("a request fewer, taken: %v\n got %s\nwant %s", taken, got, want)
	}
}
