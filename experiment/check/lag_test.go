package check

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/stats"
)

// tested is a self-test in which 100 streams were right and 1,000 were not.
func tested() *selftest.Result {
	good := selftest.Measured{
		Step: selftest.Step{Kind: selftest.Burst, Size: 100}, Load: selftest.Load{Streams: 100, EventsPerS: 9600, RequestsPerS: 96},
		Accurate: true, First: &selftest.Error{P99Us: 12}, Gap: &selftest.Error{P99Us: 9}, KernelStamps: 100,
	}
	bad := selftest.Measured{
		Step: selftest.Step{Kind: selftest.Burst, Size: 1000}, Load: selftest.Load{Streams: 1000, EventsPerS: 96_000, RequestsPerS: 960},
		First: &selftest.Error{P99Us: 7000}, Gap: &selftest.Error{P99Us: 1500}, KernelStamps: 100,
	}
	return &selftest.Result{Steps: []selftest.Measured{good, bad}, Calibration: selftest.Calibration{Load: good.Load, FirstInaccurate: "burst 1000"}}
}

func TestWithinSelftest(t *testing.T) {
	streams := func(n int) func(*evidence) { return func(e *evidence) { e.Summary.Concurrency.Max = n } }
	for _, c := range []struct {
		name    string
		change  func(*evidence)
		problem string
	}{
		{"below", streams(100), ""},
		{"above", streams(101), "the load, 101 streams, 200 events/s, 100 requests/s, exceeds"},
		{"no self-test", func(e *evidence) { streams(5000)(e); e.Selftest = nil }, ""},
		{"nothing measured", func(e *evidence) { streams(5000)(e); e.Selftest = &selftest.Result{} }, ""},
		{"other stamps", func(e *evidence) { streams(5000)(e); e.Clock.Stamps = "user" }, ""},
		{"some other stamps", func(e *evidence) { streams(5000)(e); e.Clock.Stamps = "mixed" },
			"at the nearest step, burst 1000, the error was p99 7.00 ms of the first token and 1.50 ms of the gaps"},
	} {
		e := flawless()
		e.Clock.Stamps = "kernel"
		e.Summary = record.Summary{Concurrency: record.Concurrency{Max: 1}, TokensPerEvent: 1, Throughput: record.Throughput{RequestsPerS: 96, OutputTokensPerS: 200}}
		e.Summary.DurationS, e.Summary.Requests.Sent = 1, 100
		e.Selftest = tested()
		e.Selftest.Calibration.RequestsPerS = 110 // with 9,600 events/s, which the row's 200 leave nearly untouched
		c.change(e)
		f := withinSelftest(e)
		if f.outcome != good && f.outcome != bad || (f.problem == "") != (c.problem == "") || !strings.Contains(f.problem, c.problem) {
			t.Errorf("%s: %+v, want %q", c.name, f, c.problem)
		}
		if c.problem != "" && !strings.Contains(f.hint, "bench selftest --save --streams 10,100,") {
			t.Errorf("%s: hint %s", c.name, f.hint)
		}
	}
}

// The row's own lag comes first, whatever the self-test says.
func TestOwnLagComesFirst(t *testing.T) {
	e := flawless()
	e.Selftest = tested()
	e.Selftest.Calibration.Load = selftest.Load{Streams: 1e6, EventsPerS: 1e9, RequestsPerS: 1e9}
	for _, r := range e.inWindow() {
		r.Ready = r.Ready.Add(-5000)
		r.Arrival = r.Ready
	}
	e.checked()
	if i := slices.IndexFunc(e.Findings, func(d record.Finding) bool { return d.Code == "client_bound" }); i < 0 || !strings.Contains(e.Findings[i].Text, "client lag p50") {
		t.Errorf("%+v", e.Findings)
	}
}

func TestClientLoad(t *testing.T) {
	for _, c := range []struct {
		name string
		s    record.Summary
		want selftest.Load
	}{
		{"streamed", record.Summary{Concurrency: record.Concurrency{Max: 7}, TokensPerEvent: 2, DurationS: 10, Requests: record.Requests{Sent: 50},
			Throughput: record.Throughput{RequestsPerS: 4, OutputTokensPerS: 1000}}, selftest.Load{Streams: 7, EventsPerS: 500, RequestsPerS: 5}},
		{"whole", record.Summary{Concurrency: record.Concurrency{Max: 7}, DurationS: 10, Requests: record.Requests{Sent: 30},
			Throughput: record.Throughput{RequestsPerS: 4, OutputTokensPerS: 1000}, E2E: &stats.Summary{}}, selftest.Load{Streams: 7, EventsPerS: 4, RequestsPerS: 4}},
		{"nothing", record.Summary{}, selftest.Load{}},
	} {
		if got := ClientLoad(&c.s); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
