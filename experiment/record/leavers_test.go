package record

import (
	"math"
	"testing"

	"bench/experiment/telemetry"
)

// Ten users at once, each for 10 s, one of whom leaves each second after 4 s; the server frees it after kept seconds
// more.
func rowOfLeavers(kept int64) (records []*Record, samples []telemetry.Sample) {
	const s = 1_000_000
	reading := make([]float64, 200)
	for i := range int64(200) {
		r := &Record{I: int(i), Phase: PhaseWindow, Outcome: "ok", Arrival: At(i * s), Sent: At(i * s), First: At((i + 1) * s), End: At((i + 10) * s), OutputTokens: 10}
		freed := i + 10
		if i%2 == 0 {
			r.Outcome, r.End, r.OutputTokens = "left", At((i+4)*s), 3
			freed = i + 4 + kept
		}
		for at := i; at < freed && at < 200; at++ {
			reading[at]++
		}
		records = append(records, r)
	}
	for i, running := range reading {
		samples = append(samples, telemetry.Sample{Source: telemetry.SourceServer, TUs: int64(i)*s + s/2, Server: &telemetry.ServerReading{Running: new(running), Waiting: new(0.0)}})
	}
	return records, samples
}

func TestLeaversFreedAfter(t *testing.T) {
	w := Window{StartUs: 20e6, EndUs: 180e6}
	for _, kept := range []int64{0, 6} {
		records, samples := rowOfLeavers(kept)
		l := LeaversOf(records, w, samples, &telemetry.ServerUsage{Whole: &telemetry.ServerCounts{Aborted: new(100.0)}})
		if l.LeftInRow != 100 || l.Requests != 100 || l.Tokens != 300 || l.BeforeFirst != 0 || *l.Aborted != 100 {
			t.Errorf("%+v", l)
		}
		f := l.FreedAfter
		if f == nil || math.Abs(f.Mean-float64(kept)) > 0.01 || f.CI95.Lo > float64(kept)+0.01 || f.CI95.Hi < float64(kept)-0.01 {
			t.Errorf("kept %d s: freed after %+v, %v kept", kept, f, *l.Kept)
		}
	}
}

func TestNobodyLeft(t *testing.T) {
	if l := LeaversOf([]*Record{{Outcome: "ok", Phase: PhaseWindow}}, Window{EndUs: 1e6}, nil, nil); l != nil {
		t.Errorf("%+v", l)
	}
}

// A request whose user left is in no figure but throughput and its own count.
func TestSummaryWithoutLeavers(t *testing.T) {
	records, _ := rowOfLeavers(0)
	records[1].Outcome = "status"
	s := Summarize(records, Window{EndUs: 300e6}, Mode{Streams: true}, nil, 0)
	if q := s.Requests; q.Planned != 200 || q.Left != 100 || q.Failed != 1 || q.Completed != 99 || s.FailedShare() != 0.01 || len(q.Errors) != 1 {
		t.Errorf("%+v, error rate %v", q, s.FailedShare())
	}
	if s.TTFT.N != 99 || s.Tokens.Output != 990 {
		t.Errorf("%d latencies, %d tokens", s.TTFT.N, s.Tokens.Output)
	}
	if got, want := s.Throughput.OutputTokensPerS*300, 100*3+100*10.0; math.Abs(got-want) > 1e-6 { // also of the failed one
		t.Errorf("%v tokens received, want %v", got, want)
	}
	if n := len(WindowByArrival(records)); n != 100 {
		t.Errorf("%d requests are judged", n)
	}
}

// A row whose users all left has not failed; one with failures besides has.
func TestAllLeft(t *testing.T) {
	var r Row
	r.Summary.Requests = Requests{Planned: 60, Left: 60}
	if r.AllFailed() {
		t.Error("a row has failed since its users left")
	}
	if r.Summary.Requests.Failed++; !r.AllFailed() {
		t.Error("a row without a completed request, and with failures, has not failed")
	}
}
