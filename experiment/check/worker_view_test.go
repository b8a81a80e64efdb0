package check

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// shared is the flawless row sent by four load workers, each with a machine of its own.
func shared() *evidence {
	e := flawless()
	for _, r := range e.records {
		r.Worker = new(((r.I % 4) + 4) % 4)
	}
	for i, r := range e.inWindow() {
		r.I, r.Worker = i, new(i%4)
	}
	for k := range 4 {
		w := record.Worker{Worker: k, Host: "host-" + string(rune('a'+k)), Sent: 25, Clock: e.Clock, Connections: e.Connections}
		u := *e.Client
		w.Client = &u
		sockets := *e.Connections.Sockets
		w.Connections.Sockets = &sockets
		e.Workers = append(e.Workers, w)
	}
	e.Client, e.Connections = nil, record.Connections{}
	return e
}

func (e *evidence) found(code string) *record.Finding {
	if i := slices.IndexFunc(e.Findings, func(f record.Finding) bool { return f.Code == code }); i >= 0 {
		return &e.Findings[i]
	}
	return nil
}

// Each check of the client finds what is wrong with one worker, names it, and touches its requests only.
func TestChecksOfOneWorker(t *testing.T) {
	lag := func(e *evidence, k int, us int64) {
		for _, r := range e.inWindow() {
			if *r.Worker == k {
				r.Ready = r.Ready.Add(-us)
				r.Arrival = r.Ready
			}
		}
	}
	for _, c := range []struct {
		code   string
		change func(*evidence)
		text   string
	}{
		{"client_bound", func(e *evidence) { lag(e, 2, 9000) }, "worker 2 (host-c): client lag p50 9 ms"},
		{"client_bound", func(e *evidence) { lag(e, 2, 9000); lag(e, 1, 4000) }, "worker 2 (host-c): client lag p50 9 ms is part of ttft and e2e; also worker 1"},
		{"client_cpu", func(e *evidence) { e.Workers[1].Client.CPUMean = new(1.9) }, "worker 1 (host-b): the client used 1.9 of its 2 cores"},
		{"client_cpu", func(e *evidence) { e.Workers[3].Client.Steal, e.Workers[3].Client.StealMaxMs = new(0.1), new(4.0) }, "worker 3 (host-d): CPU steal 10 %"},
		{"client_paused", func(e *evidence) {
			e.Workers[1].Client.Pauses = []telemetry.Pause{{FromUs: 200_000, ToUs: 900_000, LateUs: 650_000}}
		}, "worker 1 (host-b): client paused for about 0.7 s"},
		{"network", func(e *evidence) { e.Workers[0].Connections.Sockets.OutOfOrder = 7 }, "worker 0 (host-a): 7 of 5000 TCP segments"},
		{"stamps", func(e *evidence) { e.Workers[2].Clock.UserStamps, e.Workers[2].Clock.ReadLagMaxMs = 3, 4 }, "worker 2 (host-c): 3 of 203 arrivals"},
		{"connections", func(e *evidence) {
			e.inWindow()[3].ConnectUs, e.inWindow()[7].ConnectUs = new(int64(4000)), new(int64(4000))
		}, "2 of 100 requests opened a connection: 4 ms at p50, part of ttft and e2e"},
	} {
		e := shared()
		c.change(e)
		var effects []Effect
		code := ""
		only(c.code, func(of string) { effects, code = e.checked().run(), of })
		f := e.found(code)
		if f == nil || !strings.HasPrefix(f.Text, c.text) {
			t.Errorf("%s: %+v, want %s", c.code, f, c.text)
			continue
		}
		for _, x := range f.Effects {
			if x.Unit == record.UnitRequests && (x.Bound == nil || *x.Bound > 25) || x.Bound == nil && metric.IsLatency(x.Metric) {
				t.Errorf("%s: %+v", c.code, x)
			}
		}
		if c.code == "connections" {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(f.Text, "worker "), " ")
		for _, x := range effects {
			for _, r := range e.inWindow() {
				if x.Code == code && x.Own != nil && x.Own(r) != 0 && !strings.Contains(f.Text, "also") && number != string(rune('0'+*r.Worker)) {
					t.Fatalf("%s: %s of worker %d moves by %v", c.code, x.Metric, *r.Worker, x.Own(r))
				}
			}
		}
	}
}

// A row whose workers are all well passes what it would alone; one without samples of a worker is not checked.
func TestChecksOfAllWorkers(t *testing.T) {
	codes := []string{"client_bound", "client_machine", "workers"}
	e := shared()
	e.checked()
	for _, code := range codes {
		if !slices.Contains(e.Checks.Passed, code) {
			t.Errorf("%s did not pass: %+v", code, e.Findings)
		}
	}
	if w := e.Workers[1]; w.LagP99 == nil || w.TTFTP50 == nil || math.Abs(*w.TTFTP50-5) > 0.01 {
		t.Errorf("%+v", w)
	}
	e = shared()
	e.Workers[2].Client = nil
	only("client_cpu", func(code string) {
		e.checked()
		if !slices.Contains(e.Checks.NotPossible, code) {
			t.Errorf("%+v", e.Checks)
		}
	})
	e.Workers = nil
	e.checked()
	if slices.Contains(slices.Concat(e.Checks.Passed, e.Checks.NotPossible), "workers") {
		t.Errorf("%+v", e.Checks)
	}
}

// A worker's load is its share of the row: a self-test that covers a fourth of the streams covers the worker.
func TestSelftestOfAWorker(t *testing.T) {
	e := shared()
	for k := range e.Workers {
		e.Workers[k].Selftest = tested()
		e.Workers[k].Selftest.Calibration.RequestsPerS = 30
	}
	if f := e.checked().found("client_bound"); f != nil {
		t.Errorf("25 requests/s each: %s", f.Text)
	}
	e.Workers[1].Selftest = tested()
	e.Workers[1].Selftest.Calibration.RequestsPerS = 1
	if f := e.checked().found("client_bound"); f == nil || !strings.HasPrefix(f.Text, "worker 1 (host-b): the load, ") {
		t.Errorf("%+v", f)
	}
}

func TestStartSkew(t *testing.T) {
	for _, c := range []struct {
		process    string
		skew, late int64
		want       string
	}{
		{"constant", 1000, 0, ""}, // of gaps of 10 ms
		{"constant", 1001, 0, "worker 2 (host-c): its start is uncertain by ±1 ms, 10 % of the gap between arrivals"},
		{"bursts", 2500, 0, "worker 2 (host-c): its start is uncertain by ±2.5 ms, 25 %"},
		{"poisson", 2500, 0, ""},
		{"poisson", 0, 350_000, "worker 2 (host-c) was ready 350 ms after the common start"},
		{"constant", 2500, 350_000, "worker 2 (host-c): its start is uncertain by ±2.5 ms, 25 % of the gap between arrivals; worker 2 (host-c) was ready 350 ms"},
	} {
		e := shared()
		e.Spec.Arrival.Process = c.process
		e.Workers[2].StartSkewUs, e.Workers[2].StartLateUs = c.skew, c.late
		f := e.checked().found("workers")
		if (f == nil) != (c.want == "") || f != nil && (!strings.HasPrefix(f.Text, c.want) || f.Severity != record.Note) {
			t.Errorf("%s, %d, %d: %+v", c.process, c.skew, c.late, f)
		}
	}
}
