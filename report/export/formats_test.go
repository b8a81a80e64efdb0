package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/record"
	"bench/report"
	"bench/report/foreign"
)

// ours is a run of ours with requests, a failed one and one with an empty first event among them.
func ours() (*report.Run, []*record.Record) {
	r := rand.New(rand.NewPCG(3, 1))
	var records []*record.Record
	for i := range 50 {
		at := int64(i) * 250_000
		first := at + 80_000 + r.Int64N(20_000)
		rec := &record.Record{I: i, Phase: record.PhaseWindow, Arrival: record.At(at), Ready: record.At(at), Sent: record.At(at + 40),
			FirstEvent: record.At(first), First: record.At(first), PromptRequested: 256, PromptTokens: new(256), OutputRequested: 9, OutputTokens: 9, Outcome: "ok"}
		if i%5 == 0 {
			rec.FirstEvent = record.At(first - 700)
		}
		last := first
		for range 8 {
			gap := 11_000 + r.Int64N(900)
			rec.Gaps = rec.Gaps.Append(gap)
			last += gap
		}
		rec.Last, rec.End = record.At(last), record.At(last+50)
		if i == 7 {
			*rec = record.Record{I: i, Phase: record.PhaseWindow, Arrival: rec.Arrival, Sent: rec.Sent, PromptRequested: 256, OutputRequested: 9, Outcome: "status", Error: "overloaded", Status: 503}
		}
		records = append(records, rec)
	}
	warm := *records[0]
	warm.Phase = record.PhaseWarmup
	all := append([]*record.Record{&warm}, records...)
	row := record.Row{ID: "A,rate=4-r1", StartedAt: time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC), Spec: experiment.Spec{Name: "A", Repeat: 1}}
	row.Spec.Rate = 4
	row.Spec.Point = []experiment.Axis{{Key: "rate", Value: "4"}}
	row.Summary = record.Summarize(all, record.Window{EndUs: 12_500_000}, record.Mode{Streams: true}, nil, 2)
	m := record.Manifest{Matrix: "m", Run: "20261101T020000Z", Target: record.TargetInfo{Model: "llama \"8b\"\n", API: "chat"}}
	m.Plan = []record.Planned{{ID: row.ID, State: "done"}}
	return &report.Run{Run: record.Run{Manifest: m, Rows: []record.Row{row}, Records: func(*record.Row) ([]*record.Record, error) { return all, nil }}}, records
}

// What is written as vLLM's format and read again has the same requests, by vLLM's definitions.
func TestVLLMRoundTrip(t *testing.T) {
	s, records := ours()
	var b bytes.Buffer
	if err := VLLM(&b, s); err != nil {
		t.Fatal(err)
	}
	back, err := foreign.Read("x.json", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Records(&back.Rows[0])
	if err != nil || len(got) != len(records) {
		t.Fatalf("%d requests, want %d (%v)", len(got), len(records), err)
	}
	for i, want := range records {
		if got[i].OK() != want.OK() {
			t.Errorf("request %d is %s, was %s", i, got[i].Outcome, want.Outcome)
			continue
		}
		if !want.OK() {
			continue
		}
		first, gaps := vllmGaps(want)
		sent, _ := want.Sent.Get()
		gotSent, _ := got[i].Sent.Get()
		gotFirst, _ := got[i].First.Get()
		gotLast, _ := got[i].Last.Get()
		last, _ := want.Last.Get()
		if gotFirst-gotSent != first-sent || gotLast-gotSent != last-sent || !cmp.Equal(listed(got[i].Gaps), gaps) || gotSent != sent-40 {
			t.Errorf("request %d: first %d, last %d, gaps %v; want %d, %d, %v", i, gotFirst-gotSent, gotLast-gotSent, listed(got[i].Gaps), first-sent, last-sent, gaps)
		}
	}
	was, is := s.Rows[0].Summary, back.Rows[0].Summary
	if diff := cmp.Diff(was.TTFE, is.TTFE); diff != "" {
		t.Errorf("ttfe, which means the same in both:\n%s", diff)
	}
	if was.Throughput.RequestsPerS != is.Throughput.RequestsPerS || was.Requests.Failed != is.Requests.Failed || back.Rows[0].Spec.Rate != 4 {
		t.Errorf("%+v became %+v", was.Throughput, is.Throughput)
	}
	// The statistics in the file are those of its arrays.
	var o map[string]any
	if err := json.Unmarshal(b.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	near(t, "mean_ttft_ms", o["mean_ttft_ms"].(float64), is.TTFT.Mean)
	near(t, "p99_itl_ms", o["p99_itl_ms"].(float64), is.ITL.P99)
}

func listed(p record.Packed) (out []int64) {
	for x := range p.All() {
		out = append(out, x)
	}
	return out
}

// A row without streaming has no times to first token, in the file and in what is read back.
func TestVLLMWithoutStreaming(t *testing.T) {
	s, records := ours()
	s.Rows[0].Spec.Stream = new(false)
	var b bytes.Buffer
	if err := VLLM(&b, s); err != nil {
		t.Fatal(err)
	}
	back, err := foreign.Read("x.json", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	is := back.Rows[0].Summary
	read, err := back.Records(&back.Rows[0])
	if err != nil || is.TTFT != nil || is.TPOT != nil || is.Requests.Failed != 1 || len(read) != len(records) {
		t.Errorf("ttft %v, tpot %v, %+v", is.TTFT, is.TPOT, is.Requests)
	}
	near(t, "e2e p50", is.E2E.P50, s.Rows[0].Summary.E2EFromSend.P50)
}

// A row without records has vLLM's totals and no arrays.
func TestVLLMWithoutRecords(t *testing.T) {
	s, _ := ours()
	s.Records = nil
	var b bytes.Buffer
	if err := VLLM(&b, s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "ttfts") {
		t.Error("arrays that nobody measured")
	}
	back, err := foreign.Read("x.json", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ttfe p99", back.Rows[0].Summary.TTFE.P99, s.Rows[0].Summary.TTFE.P99)
}

// Several rows are one JSON value too, which bench reads back.
func TestVLLMOfSeveralRows(t *testing.T) {
	s, _ := ours()
	second := s.Rows[0]
	second.ID, second.Spec.Repeat = "A,rate=4-r2", 2
	second.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	s.Rows = append(s.Rows, second)
	s.Manifest.Plan = append(s.Manifest.Plan, record.Planned{ID: second.ID, State: "done"})
	var b bytes.Buffer
	if err := VLLM(&b, s, s); err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 || all[1]["label"] != "A,rate=4-r2" ||
		fmt.Sprint(all[0]["invalid"], all[1]["invalid"]) != "[] [errors]" {
		t.Errorf("%d objects, the second is %v", len(all), all[1]["label"])
	}
	if marked := fmt.Sprint(all[0]["n_too_small"]); !strings.Contains(marked, "p99_ttft_ms") ||
		strings.Contains(marked, "median") {
		t.Errorf("50 requests: n_too_small is %s", marked)
	}
	back, err := foreign.Read("x.json", b.Bytes())
	if err != nil || len(back.Rows) != 4 || back.Rows[3].Spec.Repeat != 4 {
		t.Errorf("%v, %+v", err, back)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
