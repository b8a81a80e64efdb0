package endpoint

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	fixture "bench/internal/fixturetest"
)

func TestRunAgainstAServerThatFails(t *testing.T) {
	usd := 2.0
	tgt := experiment.Target{GPUs: 1, GPUHourUSD: &usd}
	for _, c := range []struct {
		name    string
		down    func(http.ResponseWriter)
		outcome string
	}{
		{"status", func(w http.ResponseWriter) { refusal(w, 500, "out of memory") }, "status"},
		{"page", func(w http.ResponseWriter) { reply(w, 200, "<html>") }, "protocol"},
		{"garbage", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "data: {\"choices\": [\x00\n\n\xff\xfe")
		}, "protocol"},
		{"an error in the stream", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "data: {\"error\": {\"message\": \"engine died\"}}\n\n")
		}, "protocol"},
		{"nothing", drop, "connect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // slots pause between failures
			f := &fake{down: c.down}
			s, err := f.reach(t, tgt, target.Completions)
			if err != nil {
				t.Fatal(err)
			}
			f.broken.Store(true)
			spec := point()
			spec.Concurrency, spec.Requests = 2, 40
			spec.SLO = fixture.SLO(t, "ttft_p95 = \"30s\"\nitl_p95 = \"30s\"\ne2e_mean = \"30s\"\nerror_rate = 0.01\n"+
				"min_requests_per_s = 0.001\nmin_goodput_requests_per_s = 0.001\nusd_per_million_output_tokens = 1e9")
			row, records := measure(t, s, spec)
			holdToRecords(t, row, records, tgt)
			q := row.Summary.Requests
			if !row.AllFailed() || q.Failed != q.Planned || q.Errors[c.outcome] != q.Planned || q.Planned < 40 || row.Summary.FailedShare() != 1 {
				t.Errorf("%+v", q)
			}
			for _, name := range []string{"ttft_ms", "itl_ms", "tpot_ms", "e2e_ms", "lag_ms"} {
				if strings.Contains(text(t, row.Summary), `"`+name) {
					t.Errorf("%s of a row in which nothing completed: %s", name, text(t, row.Summary))
				}
			}
			for _, v := range row.SLO {
				if v.Verdict != "FAIL" || v.Unit == "ms" && v.Value != nil {
					t.Errorf("%s: %s: %s", v.Metric, fixture.Verdict(v), v.Why)
				}
			}
			if i := slices.IndexFunc(row.Findings, func(d record.Finding) bool { return d.Code == "errors" }); i < 0 || row.NoRoofline == "" {
				t.Errorf("findings %+v, bound %q", row.Findings, row.NoRoofline)
			}
			if records[0].Error == "" {
				t.Error("a failure without a reason")
			}
		})
	}
}

// Every seventh request fails: the others are measured as if there were no failure, and the SLO counts all.
func TestRunWithSomeFailures(t *testing.T) {
	spec := point()
	spec.Concurrency, spec.Requests = 2, 60
	failing := mocked(t, mock.Config{TTFT: time.Millisecond, Faults: []string{"status=500@7"}}, experiment.Target{}, target.Completions)
	row, records := measure(t, failing, spec)
	holdToRecords(t, row, records, experiment.Target{})
	q := row.Summary.Requests
	if q.Failed == 0 || q.Completed == 0 || q.Failed+q.Completed != q.Planned || q.Errors["status"] != q.Failed || row.Summary.E2E.N != q.Completed {
		t.Errorf("%+v, %d latencies", q, row.Summary.E2E.N)
	}
}
