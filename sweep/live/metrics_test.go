package live

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/sweep"
)

// watchedRow returns a row that runs, and the same row finished.
func watchedRow(sent, done int64) (*sweep.RowEvent, *sweep.RowEvent) {
	s := &experiment.Spec{Name: "A", Point: []experiment.Axis{{Key: "rate", Value: "4"}}, Repeat: 1, Workload: workload.Workload{Rate: 4}, Load: workload.Load{Concurrency: 8}}
	p := &endpoint.Progress{}
	p.Sent.Add(sent)
	p.Done.Add(done)
	p.Failed.Add(1)
	p.Tokens.Add(100 * done)
	row := &record.Row{ID: "A,rate=4-r1", Spec: *s, SLO: []record.Verdict{{Verdict: stats.Pass}}}
	return &sweep.RowEvent{Index: 2, Total: 5, Spec: s, ID: row.ID, Progress: p}, &sweep.RowEvent{Index: 2, Total: 6, Row: row}
}

func (m *Metrics) text() string {
	var b bytes.Buffer
	_ = m.Write(&b, time.Now())
	return b.String()
}

func TestMetrics(t *testing.T) {
	m := &Metrics{Version: "1.2", Matrix: "quotes \" and\nlines \\"}
	lacks := func(when string, want ...string) {
		t.Helper()
		text := m.text()
		for _, line := range want {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s: no line %s in\n%s", when, line, text)
			}
		}
	}
	m.Event(sweep.Event{Started: &sweep.Started{Dir: "results/a", Total: 5}})
	lacks("before the first row", `bench_info{version="1.2",matrix="quotes \" and\nlines \\",dir="results/a"} 1`, "bench_rows 5", "bench_requests_sent_total 0", "bench_requests_in_flight 0")
	if text := m.text(); strings.Contains(text, "bench_row_") || strings.Contains(text, "bench_search") {
		t.Errorf("no row runs, but:\n%s", text)
	}
	begun, finished := watchedRow(10, 7)
	m.Event(sweep.Event{Begun: begun})
	lacks("while a row runs", "bench_requests_sent_total 10", "bench_requests_done_total 7", "bench_requests_failed_total 1", "bench_output_tokens_total 700", "bench_requests_in_flight 3",
		`bench_row_info{row="A,rate=4-r1",name="A",phase="preparing"} 1`, "bench_row_index 2", "bench_row_rate 4", "bench_row_concurrency 8")
	m.Event(sweep.Event{Finished: finished})
	lacks("after it", "bench_requests_sent_total 10", "bench_requests_in_flight 0", `bench_rows_finished_total{slo="PASS"} 1`, `bench_rows_finished_total{slo="FAIL"} 0`, "bench_rows 6")
	kept := *finished
	kept.Kept = true
	m.Event(sweep.Event{Finished: &kept})
	lacks("after a row that was kept", "bench_requests_sent_total 10", `bench_rows_finished_total{slo="PASS"} 2`)
	again, _ := watchedRow(5, 5)
	m.Event(sweep.Event{Begun: again})
	low := 8.0
	m.Event(sweep.Event{Found: &record.Found{Name: "A", Search: experiment.Search{Axis: "rate", Goal: "slo"}, State: "above", Bracket: stats.Bracket{Low: &low}}})
	lacks("in the next row", "bench_requests_sent_total 15", `bench_search{name="A",axis="rate",search="slo",state="above",end="low"} 8`)
}

// Every metric has one HELP and TYPE, and the form that Prometheus expects.
func TestMetricsForm(t *testing.T) {
	m := &Metrics{}
	begun, _ := watchedRow(1, 1)
	m.Event(sweep.Event{Begun: begun})
	ofHistogram := regexp.MustCompile(`_(bucket|sum|count)$`)
	sample := regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9][0-9.e+-]*$`)
	typed := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(m.text(), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(name, " ")
			if typed[name] || (kind == "counter") != strings.HasSuffix(name, "_total") {
				t.Errorf("%s", line)
			}
			typed[name] = true
		} else if !strings.HasPrefix(line, "# HELP ") {
			if at := sample.FindStringSubmatch(line); at == nil || !typed[at[1]] && !typed[ofHistogram.ReplaceAllString(at[1], "")] {
				t.Errorf("%s", line)
			}
		}
	}
}

// TestDashboard: every metric of the dashboard exists, and every metric is in it.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile("../../docs/grafana/bench.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Error("it is no JSON")
	}
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\bbench_[a-z0-9_]+`)
	there, asked := map[string]bool{}, map[string]bool{}
	for _, n := range name.FindAllString(string(source), -1) {
		there[n] = true
	}
	for _, n := range name.FindAllString(string(b), -1) {
		if asked[n] = true; !there[n] && !there[strings.TrimSuffix(n, "_requests")] {
			t.Errorf("the dashboard asks for %s, which there is not", n)
		}
	}
	var unused []string
	for n := range there {
		if !asked[n] && n != "bench_row_e2e_seconds" && n != "bench_row_index" && n != "bench_row_elapsed_seconds" && n != "bench_row_concurrency" {
			unused = append(unused, n)
		}
	}
	if diff := cmp.Diff([]string(nil), unused); diff != "" {
		t.Errorf("not in the dashboard: %s", diff)
	}
}
