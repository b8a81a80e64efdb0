package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// mocked reaches a simulated server on a loopback listener.
func mocked(t *testing.T, c mock.Config, target experiment.Target, apis ...string) *Server {
	t.Helper()
	m, err := mock.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s, err := Reach(t.Context(), target, "http://"+l.Addr().String()+"/v1", "", apis, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// measure runs a point and gives its row and its stored records.
func measure(t *testing.T, s *Server, spec experiment.Spec) (*record.Row, []*record.Record) {
	t.Helper()
	var file bytes.Buffer
	w, err := record.NewRecordWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	p := &Progress{}
	row, err := s.Run(t.Context(), RunConfig{Spec: &spec, ID: spec.Name, Salt: t.Name(), Each: w.Write, Progress: p})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	records := fixture.Decode(t, file.Bytes())
	if n := p.Done.Load(); int(n) != len(records) {
		t.Errorf("%d requests done, %d records", n, len(records))
	}
	return row, records
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// holdTime holds the parts of a row's time to the records: they sum to the total, and the row drains until its last
// request has ended.
func holdTime(t *testing.T, row *record.Row, records []*record.Record) {
	t.Helper()
	const rounding = 2e-6
	last, parts := int64(0), 0.0
	for _, r := range records {
		last = max(last, r.End.Us())
	}
	for _, p := range row.Time.Parts() {
		parts += p.Seconds
	}
	start, end := float64(row.Window.StartUs)/1e6, float64(row.Window.EndUs)/1e6
	load := row.Time.WarmupS + row.Time.WindowS + row.Time.DrainS
	if math.Abs(parts-row.Time.TotalS) > rounding || load < float64(last)/1e6-rounding || row.Time.PrepareS <= 0 ||
		math.Abs(row.Time.WarmupS-min(start, load)) > rounding || math.Abs(row.Time.WindowS-(min(end, load)-min(start, load))) > rounding {
		t.Errorf("time %+v; window %v to %v s, last request until %v µs", *row.Time, start, end, last)
	}
}

// holdToRecords makes everything derived again from the stored records: it must be the same.
func holdToRecords(t *testing.T, row *record.Row, records []*record.Record, target experiment.Target) {
	t.Helper()
	slo := row.Spec.SLO
	again := record.Summarize(records, row.Window, record.ModeOf(&row.Spec), slo.PerRequest(), target.GPUs)
	if len(row.Spec.Mix) > 0 {
		again.Goodput = row.Summary.Goodput // each request is held to the limits of its class: tested by itself
	}
	if got, want := text(t, again), text(t, row.Summary); got != want {
		t.Errorf("from the records\n%s\nin the row\n%s", got, want)
	}
	if got, want := text(t, record.LengthsOf(records)), text(t, row.Lengths); got != want {
		t.Errorf("lengths from the records\n%s\nin the row\n%s", got, want)
	}
	holdTime(t, row, records)
	judged := verdict.Measured{Row: &record.Row{Spec: row.Spec, Window: row.Window}, Records: records}
	judged.Conclude(target, record.RooflineSource{})
	if got, want := text(t, judged.SLO), text(t, row.SLO); got != want {
		t.Errorf("verdicts from the records\n%s\nin the row\n%s", got, want)
	}
	var back record.Row
	if err := json.Unmarshal([]byte(text(t, row)), &back); err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, back), text(t, row); got != want {
		t.Errorf("the row read back\n%s\nas it was\n%s", got, want)
	}
	for _, r := range records {
		var sum int64
		for g := range r.Gaps.All() {
			sum += g
		}
		if !r.First.IsZero() && sum != r.Last.Us()-r.First.Us() {
			t.Errorf("request %d: gaps sum to %d µs of %d", r.I, sum, r.Last.Us()-r.First.Us())
		}
	}
}

// point is a small row: 12 requests of 64 → 6 tokens after 4 of warm-up, forced.
func point() experiment.Spec {
	return experiment.Spec{
		Name: "row", Repeat: 1,
		Workload: workload.Workload{Input: workload.Fixed(64), Output: workload.Fixed(6), Seed: 7},
		Load:     workload.Load{Warmup: workload.Extent{Requests: 4}, Requests: 12, Grace: workload.Span(20 * time.Second)},
	}
}

// lengthsAsText: the prompts are text of the lengths that the row asks for.
func lengthsAsText(t *testing.T, row *record.Row, _ []*record.Record) {
	if row.PromptForm != "text" || row.Lengths.PromptOff > 0 {
		t.Errorf("prompts as %s, %d of a wrong length", row.PromptForm, row.Lengths.PromptOff)
	}
}

func TestRun(t *testing.T) {
	usd := 2.0
	tgt := experiment.Target{GPUs: 2, GPUHourUSD: &usd}
	s := mocked(t, mock.Config{}, tgt, target.APIs...)
	limits := fixture.SLO(t, "ttft_p50 = \"30s\"\ne2e_p99 = \"30s\"\nerror_rate = 0\nmin_output_tokens_per_s = 0.001\nusd_per_million_output_tokens = 1e9")
	class := func(name string, in int, slo map[string]any) workload.Class {
		return workload.Class{Name: name, Weight: 1, Input: workload.Fixed(in), Output: workload.Fixed(4), SLO: slo}
	}
	for _, c := range []struct {
		name   string
		change func(*experiment.Spec)
		check  func(*testing.T, *record.Row, []*record.Record)
	}{
		{"closed", func(s *experiment.Spec) { s.Concurrency = 3 }, func(t *testing.T, row *record.Row, _ []*record.Record) {
			if c := row.Summary.Concurrency; c.Max != 3 || row.Summary.CapWait.Max != 0 {
				t.Errorf("concurrency %+v, cap wait %+v", c, row.Summary.CapWait)
			}
		}},
		{"open", func(s *experiment.Spec) { s.Rate = 100 }, func(t *testing.T, row *record.Row, records []*record.Record) {
			for _, r := range records {
				if r.OK() && (r.Sent.Us() < r.Ready.Us() || r.Ready.Us() < r.Arrival.Us() || r.First.Us() < r.Sent.Us()) {
					t.Errorf("times out of order: %+v", r)
				}
			}
		}},
		{"capped", func(s *experiment.Spec) { s.Rate, s.Concurrency = 150, 2 }, func(t *testing.T, row *record.Row, _ []*record.Record) {
			if row.Summary.Concurrency.Max > 2 || row.Summary.CapWait.Max <= 0 {
				t.Errorf("concurrency %+v, cap wait %+v", row.Summary.Concurrency, row.Summary.CapWait)
			}
		}},
		{"all at once", func(s *experiment.Spec) { s.Rate, s.Warmup = workload.Rate(math.Inf(1)), workload.Extent{} }, func(t *testing.T, row *record.Row, records []*record.Record) {
			for _, r := range records {
				if r.Arrival.Us() != 0 {
					t.Errorf("a request at %d µs", r.Arrival.Us())
				}
			}
		}},
		{"chat", func(s *experiment.Spec) { s.Concurrency, s.API = 2, "chat" }, lengthsAsText},
		{"responses", func(s *experiment.Spec) { s.Concurrency, s.API = 2, target.Responses }, lengthsAsText},
		{"messages", func(s *experiment.Spec) { s.Concurrency, s.API = 2, target.Messages }, lengthsAsText},
		{"not streamed", func(s *experiment.Spec) {
			s.Concurrency, s.Stream = 2, new(false)
			s.SLO = fixture.SLO(t, `e2e_p50 = "30s"`)
		}, func(t *testing.T, row *record.Row, records []*record.Record) {
			if s := row.Summary; s.TTFT != nil || s.ITL != nil || s.TPOT != nil || s.E2E == nil || s.Throughput.OutputTokensPerS == 0 {
				t.Errorf("%+v", s)
			}
			if !records[0].First.IsZero() || records[0].Last.IsZero() {
				t.Errorf("%+v", records[0])
			}
		}},
		{"mix", func(s *experiment.Spec) {
			s.Input, s.Output, s.Concurrency, s.Requests = workload.Length{}, workload.Length{}, 3, 30
			s.Mix = []workload.Class{class("chat", 40, map[string]any{"ttft_p50": "1ns"}), class("rag", 100, nil)}
		}, func(t *testing.T, row *record.Row, records []*record.Record) {
			checkClasses(t, row, records)
		}},
		{"warm prefix", func(s *experiment.Spec) {
			s.Input, s.Concurrency = workload.Fixed(128), 2
			s.Prefix = &workload.Prefix{Tokens: 96, Groups: 2, State: workload.Warm}
		}, func(t *testing.T, row *record.Row, records []*record.Record) {
			if n := row.Summary.Tokens.Cached; n == nil || *n != 12*96 || !slices.Contains(row.Checks.Passed, "prefix_cache") {
				t.Errorf("cached %v: %+v", text(t, n), row.Checks)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := point()
			spec.SLO = limits
			c.change(&spec)
			var m fixture.Mistakes
			if spec.Check(m.Add); len(m) > 0 {
				t.Fatalf("the point itself: %q", m)
			}
			row, records := measure(t, s, spec)
			q := row.Summary.Requests
			if q.Planned != spec.Requests || q.Completed != q.Planned || row.AllFailed() || row.Lengths.OutputOff > 0 {
				t.Fatalf("%+v, %d lengths off", q, row.Lengths.OutputOff)
			}
			if q.Warmup != spec.Warmup.Requests || row.Summary.DurationS <= 0 || row.EndedAt.Before(row.StartedAt) {
				t.Errorf("%d of warm-up, window of %v s", q.Warmup, row.Summary.DurationS)
			}
			if c.name != "mix" && slices.ContainsFunc(row.SLO, func(v record.Verdict) bool { return v.Verdict == "FAIL" }) {
				t.Errorf("SLO %+v", row.SLO)
			}
			if row.NoRoofline == "" || row.Roofline != nil {
				t.Errorf("bound %+v, %q", row.Roofline, row.NoRoofline)
			}
			holdToRecords(t, row, records, tgt)
			c.check(t, row, records)
		})
	}
}

// checkClasses holds the classes of a mix to the records of each.
func checkClasses(t *testing.T, row *record.Row, records []*record.Record) {
	t.Helper()
	n := 0
	for name, got := range row.Classes {
		own := slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool { return r.Class != name })
		want := record.Summarize(own, row.Window, record.ModeOf(&row.Spec), row.Spec.ClassSLO(workload.Class{Name: name}).PerRequest(), 2)
		if name == "chat" { // its own limit replaces that of the row
			if got.Goodput.RequestsPerS != 0 || got.Goodput.Limits[0] != "ttft ≤ 0.000001 ms" {
				t.Errorf("chat's goodput: %+v", got.Goodput)
			}
			got.Goodput, want.Goodput = nil, nil
		}
		if text(t, got) != text(t, want) {
			t.Errorf("class %s\n%s\nfrom the records\n%s", name, text(t, got), text(t, want))
		}
		n += got.Requests.Planned
	}
	if n != row.Summary.Requests.Planned || len(row.Classes) != 2 {
		t.Errorf("%d requests in %d classes", n, len(row.Classes))
	}
	var lines []string
	for _, v := range row.SLO {
		if v.Class != "" {
			lines = append(lines, v.Class+" "+v.Metric)
			if v.Metric == "ttft_p50" && v.Verdict == "PASS" {
				t.Errorf("%+v", v)
			}
		}
	}
	slices.Sort(lines)
	if got := strings.Join(lines, ", "); got != "chat e2e_p99, chat error_rate, chat ttft_p50" {
		t.Errorf("verdicts of classes: %s", got)
	}
}

func TestRunGivesTheSamePlanForTheSameSalt(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond}, experiment.Target{}, target.Completions)
	asked := func(repeat int) string {
		spec := point()
		spec.Input, spec.Concurrency, spec.Repeat = workload.Length{Dist: "uniform", Min: 10, Max: 90}, 1, repeat
		_, records := measure(t, s, spec)
		var out []string
		for _, r := range records[:10] {
			out = append(out, fmt.Sprint(r.I, r.PromptRequested))
		}
		return strings.Join(out, ", ")
	}
	first := asked(1)
	if again := asked(1); again != first {
		t.Errorf("%s\n%s", first, again)
	}
	if other := asked(2); other == first {
		t.Error("another repeat has the same lengths")
	}
}

func TestRunIsInterrupted(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond}, experiment.Target{}, target.Completions)
	for name, change := range map[string]func(*experiment.Spec){
		"closed": func(s *experiment.Spec) { s.Concurrency = 2 },
		"open":   func(s *experiment.Spec) { s.Rate = 200 },
	} {
		spec := point()
		spec.Requests = 1_000_000
		change(&spec)
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		row, err := s.Run(ctx, RunConfig{Spec: &spec, Each: func(*record.Record) error {
			if n++; n == 5 {
				cancel()
			}
			return nil
		}})
		cancel()
		if row != nil || !errors.Is(err, context.Canceled) || !Interrupted(err) || n < 5 {
			t.Errorf("%s: row %v, error %v, %d records", name, row, err, n)
		}
	}
	spec := point()
	spec.Concurrency = 1
	spec.Prefix = &workload.Prefix{Tokens: 32, State: workload.Warm}
	if row, err := s.Run(dead(), RunConfig{Spec: &spec, Each: func(*record.Record) error { return nil }}); row != nil || !Interrupted(err) {
		t.Errorf("interrupted before the start: %v, %v", row, err)
	}
	if Interrupted(fixture.ErrFull) || Interrupted(nil) {
		t.Error("a full disk is taken for an interruption")
	}
}

func TestRunEndsWithTheErrorOfEach(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond}, experiment.Target{}, target.Completions)
	spec := point()
	spec.Concurrency = 2
	if row, err := s.Run(t.Context(), RunConfig{Spec: &spec, Each: func(*record.Record) error { return fixture.ErrFull }}); row != nil || !errors.Is(err, fixture.ErrFull) || Interrupted(err) {
		t.Errorf("row %v, error %v", row, err)
	}
}

func TestRequestIDsAreUUIDs(t *testing.T) {
	if got := requestID("0123456789abcdef", 255); got != "01234567-89ab-4000-8000-0000000000ff" {
		t.Error(got)
	}
	if a, b := requestID("", 1), requestID("", 2); a == b || len(a) != 36 {
		t.Error(a, b)
	}
}

func TestConnections(t *testing.T) {
	for _, c := range []struct {
		change func(*experiment.Spec)
		want   int
	}{
		{func(s *experiment.Spec) { s.Concurrency = 8 }, 8},
		{func(s *experiment.Spec) { s.Concurrency = 5000 }, 5000},
		{func(s *experiment.Spec) { s.Rate = 10 }, 28},
		{func(s *experiment.Spec) { s.Rate = 1e4 }, 2500},
		{func(s *experiment.Spec) { s.Rate = workload.Rate(math.Inf(1)) }, 16},
	} {
		spec := point()
		c.change(&spec)
		if got := spec.ConnectionsToOpen(); got != c.want {
			t.Errorf("%d connections, want %d", got, c.want)
		}
	}
}

func TestClockOfARow(t *testing.T) {
	for _, c := range []struct {
		kernel, user int
		want         string
	}{{10, 0, "kernel"}, {0, 10, "user"}, {9, 1, "mixed"}, {0, 0, "user"}} {
		l := &connectionLog{kernel: c.kernel, user: c.user}
		l.ReadLagSum, l.ReadLagMax = 20*time.Millisecond, 5*time.Millisecond
		if clock := l.clock(); clock.Stamps != c.want || clock.ReadLagMaxMs != 5 || c.kernel == 10 && clock.ReadLagMeanMs != 2 {
			t.Errorf("%+v", clock)
		}
	}
}

// TestAllFailed: what a server that hangs leaves in a closed loop is no request in the window, since
// no slot became free, and no token.
func TestAllFailed(t *testing.T) {
	for _, c := range []struct {
		planned, completed int
		tokensPerS         float64
		want               bool
	}{{10, 0, 0, true}, {10, 0, 5, true}, {10, 1, 5, false}, {0, 0, 0, true}, {0, 0, 5, false}} {
		r := record.Row{Summary: record.Summary{Requests: record.Requests{Planned: c.planned, Completed: c.completed}, Throughput: record.Throughput{OutputTokensPerS: c.tokensPerS}}}
		if r.AllFailed() != c.want {
			t.Errorf("%+v", c)
		}
	}
}
