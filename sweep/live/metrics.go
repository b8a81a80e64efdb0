package live

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/sweep"
)

// Metrics shows a sweep to Prometheus. It only reads what the rows count anyway.
type Metrics struct {
	Version string // of bench
	Matrix  string

	mu       sync.Mutex
	dir      string
	total    int               // rows
	finished map[string]int    // rows by verdict
	row      *sweep.RowEvent   // nil: none runs
	before   endpoint.Snapshot // of the rows that are over: its sums
	searches []record.Found
}

// plus adds what goes up through the whole sweep, so that rate() is right across rows.
func plus(a, b endpoint.Snapshot) endpoint.Snapshot {
	a.Sent, a.Done, a.Failed, a.Tokens = a.Sent+b.Sent, a.Done+b.Done, a.Failed+b.Failed, a.Tokens+b.Tokens
	a.Times.Merge(&b.Times)
	return a
}

func (m *Metrics) Event(e sweep.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case e.Started != nil:
		m.dir, m.total = e.Started.Dir, e.Started.Total
	case e.Begun != nil:
		m.row, m.total = e.Begun, e.Begun.Total
	case e.Finished != nil:
		m.total = e.Finished.Total
		if !e.Finished.Kept {
			m.rowOver()
		}
		if m.finished == nil {
			m.finished = map[string]int{}
		}
		verdict, _ := verdict.OfRows(e.Finished.Row)
		m.finished[string(verdict)]++
	case e.Cut != nil:
		m.rowOver()
	case e.Found != nil:
		m.searches = append(m.searches, *e.Found)
	}
}

func (m *Metrics) rowOver() {
	if m.row != nil {
		m.before = plus(m.before, m.row.Progress.Snapshot())
		m.row = nil
	}
}

var MetricsType = string(expfmt.NewFormat(expfmt.TypeTextPlain))

func (m *Metrics) Write(w io.Writer, now time.Time) error {
	m.mu.Lock()
	var r endpoint.Snapshot
	if m.row != nil {
		r = m.row.Progress.Snapshot()
	}
	sum := plus(m.before, r)
	families := m.families(r, sum, now)
	m.mu.Unlock()
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return fmt.Errorf("writing %s: %w", f.GetName(), err)
		}
	}
	sum.Times.Write(w, "", true)
	return nil
}

func (m *Metrics) families(r, sum endpoint.Snapshot, now time.Time) []*dto.MetricFamily {
	finished := family(dto.MetricType_COUNTER, "bench_rows_finished_total",
		"finished rows, by the verdict of their SLO")
	for _, verdict := range []string{"PASS", "FAIL", "UNDECIDED", ""} {
		add(finished, float64(m.finished[verdict]), "slo", verdict)
	}
	out := []*dto.MetricFamily{
		gauge("bench_info", "the sweep that runs", 1, "version", m.Version, "matrix", m.Matrix, "dir", m.dir),
		gauge("bench_rows", "rows of the plan; a search adds rows while it runs", float64(m.total)),
		finished,
		counter("bench_requests_sent_total", "requests sent", sum.Sent),
		counter("bench_requests_done_total", "requests that ended", sum.Done),
		counter("bench_requests_failed_total", "requests of warm-up and window that failed", sum.Failed),
		counter("bench_output_tokens_total", "output tokens of the requests that ended", sum.Tokens),
		gauge("bench_requests_in_flight", "requests sent and not ended", float64(r.InFlight)),
	}
	if m.row != nil {
		out = append(out, rowFamilies(m.row, r, now)...)
	}
	if len(m.searches) > 0 {
		out = append(out, searchFamily(m.searches))
	}
	return out
}

func rowFamilies(row *sweep.RowEvent, r endpoint.Snapshot, now time.Time) []*dto.MetricFamily {
	s := row.Spec
	phase := "preparing"
	if r.Settling > 0 {
		phase = "settling"
	}
	if !r.Begun.IsZero() {
		phase = r.Phase
	}
	out := []*dto.MetricFamily{
		gauge("bench_row_info", "the row that runs", 1, "row", row.ID, "name", s.Name, "phase", phase),
		gauge("bench_row_index", "its place in the plan, from 1", float64(row.Index)),
	}
	if s.Timed() {
		out = append(out, gauge("bench_row_rate", "its request rate, per second", float64(s.Rate)))
	}
	if s.Concurrency > 0 {
		out = append(out, gauge("bench_row_concurrency", "its workers, or its cap", float64(s.Concurrency)))
	}
	if !r.Begun.IsZero() {
		out = append(out, gauge("bench_row_elapsed_seconds", "time since its load began", now.Sub(r.Begun).Seconds()))
	}
	const requests = ", ok requests of the window (before it, of the warm-up), within 0.5 %"
	name, help := "bench_row_ttft_seconds", "intended arrival to first token so far"+requests
	if !s.Streams() {
		name, help = "bench_row_e2e_seconds", "intended arrival to the end of the answer so far"+requests
	}
	out = append(out, glanceFamilies(name, help, r.FirstToken)...)
	return append(out, glanceFamilies("bench_row_lag_seconds", "client lag so far, within 0.5 %", r.Lag)...)
}

// glanceFamilies are the percentiles that the sample is large enough for, the maximum, and the count.
func glanceFamilies(name, help string, g endpoint.LiveLatency) []*dto.MetricFamily {
	if g.N == 0 {
		return nil
	}
	f := family(dto.MetricType_GAUGE, name, help)
	for _, q := range []struct {
		name string
		ms   float64
	}{{"p50", g.P50}, {"p99", g.P99}, {"max", g.Max}} {
		if !math.IsNaN(q.ms) {
			add(f, q.ms/1e3, "stat", q.name)
		}
	}
	return []*dto.MetricFamily{f, gauge(name+"_requests", "number of requests in "+name, float64(g.N))}
}

// searchFamily has the answers of the searches; an open end is absent.
func searchFamily(searches []record.Found) *dto.MetricFamily {
	family := family(dto.MetricType_GAUGE, "bench_search", "loads between which the searched load lies")
	for _, f := range searches {
		point := &experiment.Spec{Name: f.Name, Point: f.Others}
		labels := []string{"name", point.Label(), "axis", f.Search.Axis, "search", f.Search.Goal, "state", f.State}
		if f.Low != nil {
			add(family, *f.Low, append(labels, "end", "low")...)
		}
		if f.High != nil {
			add(family, *f.High, append(labels, "end", "high")...)
		}
	}
	return family
}

func family(kind dto.MetricType, name, help string) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
}

func gauge(name, help string, value float64, labels ...string) *dto.MetricFamily {
	return add(family(dto.MetricType_GAUGE, name, help), value, labels...)
}

func counter(name, help string, value int) *dto.MetricFamily {
	return add(family(dto.MetricType_COUNTER, name, help), float64(value))
}

// add appends a sample; labels are names and values in turn.
func add(f *dto.MetricFamily, value float64, labels ...string) *dto.MetricFamily {
	m := &dto.Metric{}
	for i := 0; i < len(labels); i += 2 {
		m.Label = append(m.Label, &dto.LabelPair{Name: &labels[i],
			Value: new(strings.ToValidUTF8(labels[i+1], "\ufffd"))})
	}
	if f.GetType() == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: &value}
	} else {
		m.Gauge = &dto.Gauge{Value: &value}
	}
	f.Metric = append(f.Metric, m)
	return f
}
