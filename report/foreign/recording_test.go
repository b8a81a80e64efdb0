package foreign

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	fixture "bench/internal/reporttest"
	"bench/live/recording"
	"bench/report"
	"bench/report/compare"
)

// written is a recording as a file.
func written(t testing.TB, l fixture.Live, name string) string {
	t.Helper()
	h, all, c := l.Recording()
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, h, strings.HasSuffix(name, ".zst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Counts(c); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	if l.Killed {
		text = text[:len(text)-20]
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func loaded(t testing.TB, l fixture.Live, name string) *report.Run {
	t.Helper()
	run, err := Load(written(t, l, name))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A recording is a run with one row, whose figures are of its requests.
func TestRecording(t *testing.T) {
	l := fixture.Live{Requests: 400, Share: 0.5, Errors: 0.02, Seed: 3}
	_, all, _ := l.Recording()
	run := loaded(t, l, "live.jsonl.zst")
	row := run.Rows[0]
	failed, tokens := 0, 0
	var last int64
	for _, x := range all {
		if last = max(last, x.Request.End.Us()); x.Shadow != nil {
			last = max(last, x.Shadow.End.Us())
		}
		if x.Request.OK() {
			tokens += x.Request.OutputTokens
		} else {
			failed++
		}
	}
	q := row.Summary.Requests
	if len(run.Rows) != 1 || q.Planned != len(all) || q.Failed != failed || row.Summary.Tokens.Output != tokens {
		t.Errorf("%d rows; %+v: want %d requests, %d failed, %d tokens", len(run.Rows), q, len(all), failed, tokens)
	}
	if want := float64(len(all)-failed) / (float64(last) / 1e6); math.Abs(row.Summary.Throughput.RequestsPerS-want) > 0.01*want {
		t.Errorf("%v requests/s, want %v", row.Summary.Throughput.RequestsPerS, want)
	}
	if row.Sessions == nil || row.Summary.TTFT == nil || row.Summary.TPOT == nil || row.Summary.ITL == nil || row.Summary.Concurrency.Mean == 0 {
		t.Errorf("a figure is missing: %+v", row.Summary)
	}
	if run.Shadow == nil || run.Shadow.Pairs == 0 {
		t.Errorf("shadow %+v", run.Shadow)
	}
	if !row.Valid() || !slices.Equal(row.Codes(record.Caution), []string{"recording"}) {
		t.Errorf("findings %+v", row.Findings)
	}
}

// The same recording without compression gives the same figures; one without its end is read up to there.
func TestRecordingForms(t *testing.T) {
	l := fixture.Live{Requests: 200, Seed: 4}
	if a, b := loaded(t, l, "x.jsonl.zst").Rows[0].Summary, loaded(t, l, "x.jsonl").Rows[0].Summary; a.TTFT.P50 != b.TTFT.P50 || a.DurationS != b.DurationS {
		t.Errorf("%v and %v", a.TTFT.P50, b.TTFT.P50)
	}
	l.Killed = true
	row := loaded(t, l, "x.jsonl").Rows[0]
	if row.Summary.Requests.Planned != 200 || !slices.Contains(row.Codes(record.Caution), "recording") {
		t.Errorf("%d requests, notes %v", row.Summary.Requests.Planned, row.Codes(record.Caution))
	}
}

// A recording is evaluated under limits, and keeps what its recorder found.
func TestRecordingUnderLimits(t *testing.T) {
	run := loaded(t, fixture.Live{Requests: 2000, Seed: 5}, "live.jsonl.zst")
	limit := experiment.Limit{Key: "ttft_p95", Metric: "ttft", Stat: "p95", Value: 10_000, Unit: "ms"}
	err := run.EvaluateAgain(report.Evaluation{Given: "ttft_p95=10s", Hardware: roofline.Hardware{},
		Limits: func(s *experiment.Spec) { s.SLO.Limits = []experiment.Limit{limit} }})
	if err != nil {
		t.Fatal(err)
	}
	row := run.Rows[0]
	if len(row.SLO) != 1 || row.SLO[0].Verdict != "PASS" || !slices.Contains(row.Codes(record.Caution), "recording") {
		t.Errorf("%+v, findings %v", row.SLO, row.Findings)
	}
}

// Last week's recording and this one are compared although their traffic differs, which is stated.
func TestRecordingsCompared(t *testing.T) {
	a := compare.Side{Name: "a", Runs: []compare.Run{loaded(t, fixture.Live{Requests: 500, Seed: 6}, "a.jsonl").Compared()}}
	b := compare.Side{Name: "b", Runs: []compare.Run{loaded(t, fixture.Live{Requests: 700, Seed: 7, Tokens: 60}, "b.jsonl").Compared()}}
	c, err := compare.Compare(a, b, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Points) != 1 || c.Refused || c.Points[0].Refused {
		t.Fatalf("%+v", c.Points)
	}
	if !slices.ContainsFunc(c.Points[0].Differences, func(d compare.Difference) bool { return d.What == "output tokens, mean" && d.Key == "" }) {
		t.Errorf("differences %+v", c.Points[0].Differences)
	}
}

// A live page keeps the latest requests, while others are added.
func TestRecordingOfLatest(t *testing.T) {
	h, all, c := fixture.Live{Requests: 400, Share: 0.5, Seed: 8}.Recording()
	v := NewRecording("live", h, 100)
	c.EndedAt = nil
	var done sync.WaitGroup
	done.Go(func() {
		for range 2 {
			v.Run(c)
		}
	})
	for _, x := range all {
		v.Add(x)
	}
	done.Wait()
	run := v.Run(c)
	if n := run.Rows[0].Summary.Requests.Planned; n < 100 || n > 200 {
		t.Errorf("%d requests are kept", n)
	}
	if start := run.Rows[0].Window.StartUs; start == 0 || !slices.Contains(run.Rows[0].Codes(record.Note), "recording") {
		t.Errorf("the window starts at %d, notes %v", start, run.Rows[0].Codes(record.Note))
	}
	if run.Shadow.Copies.Sent != c.Shadow.Sent {
		t.Errorf("%d copies, want %d: the comparison has all", run.Shadow.Copies.Sent, c.Shadow.Sent)
	}
}

// A recording in which nothing arrived is a row without figures.
func TestRecordingWithoutRequests(t *testing.T) {
	run := loaded(t, fixture.Live{Share: 0.1}, "empty.jsonl.zst")
	if run.Rows[0].Summary.Requests.Planned != 0 || run.Shadow == nil || run.Shadow.Pairs != 0 {
		t.Errorf("%+v", run.Rows[0].Summary)
	}
	run.Analyze()
}
