package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/sweep"
)

// metrics shows what a sweep does to whoever scrapes it, in the text format of Prometheus (version 0.0.4). The figures are for the
// eye: those that count are in the results. It only reads what the rows count anyway.
type metrics struct {
	matrix string

	mu       sync.Mutex
	dir      string
	total    int
	finished map[string]int // rows by verdict
	row      *sweep.Begun   // nil: none runs
	before   counters       // of the rows that are over
	searches []record.Found
}

// counters go up through the whole sweep, so that rate() holds across rows.
type counters struct{ sent, done, failed, tokens int }

func (c counters) add(r endpoint.Reading) counters {
	return counters{c.sent + r.Sent, c.done + r.Done, c.failed + r.Failed, c.tokens + r.Tokens}
}

// listenMetrics serves the metrics at an address until stop is called. A port alone is one of this machine only.
func listenMetrics(ctx context.Context, address, matrix string) (m *metrics, at string, stop func(), err error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", nil, usage("--metrics-listen: %w\nhint: write an address and a port that is free: --metrics-listen 127.0.0.1:9464", err)
	}
	m = &metrics{matrix: matrix, finished: map[string]int{}}
	s := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // until it is closed
	}()
	return m, "http://" + l.Addr().String() + "/metrics", func() {
		_ = s.Close()
		<-done
	}, nil
}

// event takes a step of the run.
func (m *metrics) event(e sweep.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case e.Started != nil:
		m.dir, m.total = e.Started.Dir, e.Started.Total
	case e.Begun != nil:
		m.row, m.total = e.Begun, e.Begun.Total
	case e.Finished != nil:
		m.total = e.Finished.Total
		if m.row != nil && !e.Finished.Kept {
			m.before = m.before.add(m.row.Progress.Read())
			m.row = nil
		}
		verdict, _ := verdict.SLOOf(e.Finished.Row)
		m.finished[string(verdict)]++
	case e.Found != nil:
		m.searches = append(m.searches, *e.Found)
	}
}

func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.Error(w, "the metrics are at /metrics", http.StatusNotFound)
		return
	}
	var b bytes.Buffer
	m.write(&b, time.Now())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // a scraper that leaves is no concern of the sweep
}

// write puts all metrics into the text.
func (m *metrics) write(w io.Writer, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := page{w}
	version, _ := version()
	p.gauge("bench_info", "the sweep that runs", 1, "version", version, "matrix", m.matrix, "dir", m.dir)
	p.gauge("bench_rows", "rows of the plan; a search adds to them while it runs", float64(m.total))
	p.head("bench_rows_finished_total", "counter", "rows that are on disk, by the verdict of their SLO")
	for _, verdict := range []string{"PASS", "FAIL", "UNDECIDED", ""} {
		p.sample("bench_rows_finished_total", float64(m.finished[verdict]), "slo", verdict)
	}
	var r endpoint.Reading
	if m.row != nil {
		r = m.row.Progress.Read()
	}
	sum := m.before.add(r)
	p.counter("bench_requests_sent_total", "requests that were sent", sum.sent)
	p.counter("bench_requests_done_total", "requests that are over", sum.done)
	p.counter("bench_requests_failed_total", "requests of warm-up and window that failed", sum.failed)
	p.counter("bench_output_tokens_total", "output tokens of the requests that are over", sum.tokens)
	p.gauge("bench_requests_in_flight", "requests that were sent and are not over", float64(r.InFlight))
	m.writeRow(p, r, now)
	m.writeSearches(p)
}

// writeRow tells of the row that runs; between rows there is none.
func (m *metrics) writeRow(p page, r endpoint.Reading, now time.Time) {
	if m.row == nil {
		return
	}
	s := m.row.Spec
	phase := "preparing"
	if !r.Begun.IsZero() {
		phase = r.Phase
	}
	p.gauge("bench_row_info", "the row that runs", 1, "row", m.row.ID, "name", s.Name, "phase", phase)
	p.gauge("bench_row_index", "its place in the plan, from 1", float64(m.row.Index))
	if s.Rate > 0 && !s.Rate.IsInf() {
		p.gauge("bench_row_rate", "requests per second that it offers", float64(s.Rate))
	}
	if s.Concurrency > 0 {
		p.gauge("bench_row_concurrency", "its slots, or its cap", float64(s.Concurrency))
	}
	if !r.Begun.IsZero() {
		p.gauge("bench_row_elapsed_seconds", "since its load began", now.Sub(r.Begun).Seconds())
	}
	name, help := "bench_row_ttft_seconds", "intended arrival to first token so far, of the good requests of the window (before it, of the warm-up), within half a percent"
	if !s.Streams() {
		name, help = "bench_row_e2e_seconds", "intended arrival to the end of the answer so far, of the good requests of the window (before it, of the warm-up), within half a percent"
	}
	p.glance(name, help, r.First)
	p.glance("bench_row_lag_seconds", "the client's own lateness so far, within half a percent", r.Lag)
}

// writeSearches tells what searches found; an end that there is none of is absent.
func (m *metrics) writeSearches(p page) {
	if len(m.searches) == 0 {
		return
	}
	p.head("bench_search", "gauge", "between which loads what was looked for lies")
	for _, f := range m.searches {
		labels := []string{"name", (&experiment.Spec{Name: f.Name, Point: f.Others}).Pretty(), "axis", f.Search.Axis, "search", f.Search.For, "state", f.State}
		if f.Low != nil {
			p.sample("bench_search", *f.Low, append(labels, "end", "low")...)
		}
		if f.High != nil {
			p.sample("bench_search", *f.High, append(labels, "end", "high")...)
		}
	}
}

// page writes the text format.
type page struct{ w io.Writer }

func (p page) head(name, kind, help string) {
	fmt.Fprintf(p.w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p page) gauge(name, help string, value float64, labels ...string) {
	p.head(name, "gauge", help)
	p.sample(name, value, labels...)
}

func (p page) counter(name, help string, value int) {
	p.head(name, "counter", help)
	p.sample(name, float64(value))
}

// glance writes the percentiles that so many requests carry, the largest, and the count.
func (p page) glance(name, help string, g endpoint.Glance) {
	if g.N == 0 {
		return
	}
	p.head(name, "gauge", help)
	for _, q := range []struct {
		name string
		ms   float64
	}{{"p50", g.P50}, {"p99", g.P99}, {"max", g.Max}} {
		if !math.IsNaN(q.ms) {
			p.sample(name, q.ms/1e3, "stat", q.name)
		}
	}
	p.gauge(name+"_requests", "of how many requests that is", float64(g.N))
}

// sample is one line; labels are names and values in turn.
func (p page) sample(name string, value float64, labels ...string) {
	var b strings.Builder
	for i := 0; i < len(labels); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `%s="%s"`, labels[i], labelEscape.Replace(strings.ToValidUTF8(labels[i+1], "�")))
	}
	if b.Len() > 0 {
		name += "{" + b.String() + "}"
	}
	fmt.Fprintf(p.w, "%s %s\n", name, strconv.FormatFloat(value, 'g', -1, 64))
}

var labelEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// with has another function told of every step too.
func (w watcher) with(also func(sweep.Event)) watcher {
	first := w.event
	w.event = func(e sweep.Event) {
		first(e)
		also(e)
	}
	return w
}
