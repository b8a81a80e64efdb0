package record

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment/telemetry"
)

// firstTokenAfter is a request of the window whose first token came after so many ms.
func firstTokenAfter(ms int64, server *ServerTimes) *Record {
	return &Record{Phase: PhaseWindow, Outcome: "ok", Sent: At(1000), First: At(1000 + ms*1000), Server: server}
}

func measuredTimes(n int, ttft, queue, prefill float64) *telemetry.ServerUsage {
	time := func(mean float64) *telemetry.ServerTime { return &telemetry.ServerTime{N: n, Mean: mean} }
	return &telemetry.ServerUsage{Whole: &telemetry.ServerCounts{Times: telemetry.ServerTimes{TTFT: time(ttft), Queue: time(queue), Prefill: time(prefill)}}}
}

// measuredTimesCut has first tokens of more requests than it has ends.
func measuredTimesCut(begun int, ttft float64, ended int, queue, prefill float64) *telemetry.ServerUsage {
	u := measuredTimes(ended, ttft, queue, prefill)
	u.Whole.Times.TTFT.N = begun
	return u
}

func TestSplitTTFT(t *testing.T) {
	two := []*Record{firstTokenAfter(100, nil), firstTokenAfter(120, nil)}
	warm := firstTokenAfter(80, nil)
	warm.Phase = PhaseWarmup
	cut := firstTokenAfter(200, nil)
	cut.Phase, cut.Outcome = PhaseCooldown, "unfinished"
	cutTimes := measuredTimesCut(3, 120, 2, 50, 30)
	unanswered := &Record{Phase: PhaseCooldown, Outcome: "unfinished", Sent: At(1000)}
	noQueue := measuredTimes(2, 90, 50, 30)
	noQueue.Whole.Times.Queue = nil
	noPrefill := measuredTimes(2, 90, 50, 30)
	noPrefill.Whole.Times.Prefill = nil
	for _, c := range []struct {
		what    string
		records []*Record
		metrics *telemetry.ServerUsage
		want    *TTFTSplit
		parts   string
	}{
		{"nothing reported", two, nil, nil, ""},
		{"no histograms", two, &telemetry.ServerUsage{Whole: &telemetry.ServerCounts{}}, nil, ""},
		{"all histograms", two, measuredTimes(2, 90, 50, 30),
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Network: new(20.0), Frontend: new(10.0), Queue: new(50.0), Prefill: new(30.0)},
			"network 20, frontend 10, queue 50, prefill 30"},
		{"the warm-up is in the server's means, and in the client's", append(two, warm), measuredTimes(3, 90, 50, 30),
			&TTFTSplit{Requests: 3, Source: "histograms", Total: 100, Network: new(10.0), Frontend: new(10.0), Queue: new(50.0), Prefill: new(30.0)},
			"network 10, frontend 10, queue 50, prefill 30"},
		{"a request that was cut at the row's end is in the server's TTFT only", append(two, cut), cutTimes,
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Network: new(20.0), Frontend: new(10.0), Queue: new(50.0), Prefill: new(30.0)},
			"network 20, frontend 10, queue 50, prefill 30"},
		{"a first token that came too late for a cut request is in the server's TTFT", append(two, unanswered), cutTimes,
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Queue: new(50.0), Prefill: new(30.0), Rest: new(30.0)},
			"network + frontend 30, queue 50, prefill 30"},
		{"without the queue there are two absent parts", two, noQueue,
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Network: new(20.0), Prefill: new(30.0), Rest: new(60.0)},
			"network 20, frontend + queue 60, prefill 30"},
		{"SGLang reports no prefill", two, noPrefill,
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Network: new(20.0), Queue: new(50.0), Rest: new(40.0)},
			"network 20, frontend + prefill 40, queue 50"},
		{"somebody else", two, measuredTimes(3, 90, 50, 30),
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Missing: "the server counted 3 requests, this row 2"}, ""},
		{"a cut request with a slow network", append(two, cut), measuredTimesCut(3, 100, 2, 80, 29),
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Queue: new(80.0), Prefill: new(29.0), Rest: new(1.0)},
			"network + frontend 1, queue 80, prefill 29"},
		{"rounded means", two, measuredTimes(2, 90, 60.001, 30),
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Network: new(20.0), Frontend: new(0.0), Queue: new(60.0), Prefill: new(30.0)},
			"network 20, frontend 0, queue 60, prefill 30"},
		{"longer than the client's", two, measuredTimes(2, 111, 50, 30),
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Missing: "the server's mean times exceed the client's TTFT"}, ""},
		{"parts longer than the whole", two, measuredTimes(2, 70, 50, 30),
			&TTFTSplit{Requests: 2, Source: "histograms", Total: 110, Missing: "the server's mean times exceed the client's TTFT"}, ""},
		{"llama.cpp's answers", []*Record{firstTokenAfter(100, &ServerTimes{Prefill: new(int64(60_000)), Decode: new(int64(1))}), firstTokenAfter(120, nil)}, measuredTimes(2, 90, 50, 30),
			&TTFTSplit{Requests: 1, Source: "requests", Total: 100, Prefill: new(60.0), Rest: new(40.0)},
			"network + frontend + queue 40, prefill 60"},
		{"vLLM's answers", []*Record{firstTokenAfter(100, &ServerTimes{Queue: new(int64(30_000)), Prefill: new(int64(60_000))})}, nil,
			&TTFTSplit{Requests: 1, Source: "requests", Total: 100, Queue: new(30.0), Prefill: new(60.0), Rest: new(10.0)},
			"network + frontend 10, queue 30, prefill 60"},
	} {
		got := SplitTTFT(c.records, c.metrics)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
		if got == nil {
			continue
		}
		var parts []string
		for _, p := range got.Parts() {
			parts = append(parts, fmt.Sprintf("%s %g", p.Name, p.Ms))
		}
		if text := strings.Join(parts, ", "); text != c.parts {
			t.Errorf("%s: %s, want %s", c.what, text, c.parts)
		}
	}
}

// Whatever a server reports: the parts are not negative, and sum to the total; or there are none, with the reason.
func TestSplitSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []*Record
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			times := rapid.Ptr(rapid.Custom(func(t *rapid.T) ServerTimes {
				us := rapid.Int64Range(0, 100_000)
				return ServerTimes{Queue: rapid.Ptr(us, true).Draw(t, "queue"), Prefill: rapid.Ptr(us, true).Draw(t, "prefill")}
			}), true).Draw(t, "times")
			records = append(records, firstTokenAfter(rapid.Int64Range(0, 200).Draw(t, "ms"), times))
		}
		ms := rapid.Float64Range(0, 150)
		s := SplitTTFT(records, measuredTimes(len(records), ms.Draw(t, "ttft"), ms.Draw(t, "queue"), ms.Draw(t, "prefill")))
		sum := 0.0
		for _, p := range s.Parts() {
			if sum += p.Ms; p.Ms < 0 {
				t.Fatalf("%+v", s)
			}
		}
		if known := s.Missing == ""; known != (len(s.Parts()) > 0) || known && math.Abs(sum-s.Total) > 1e-5 {
			t.Fatalf("%g is not %g: %+v", sum, s.Total, s)
		}
	})
}
