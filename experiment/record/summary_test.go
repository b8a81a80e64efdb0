package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment"
)

// summaryCase is one reading of testdata/summary.py.
type summaryCase struct {
	Name    string
	File    string
	Class   string
	Stream  bool
	Each    map[string]float64
	GPUs    int
	Window  Window
	Summary map[string]any
}

// TestSummarizeAgainstNumpy holds every figure against testdata/summary.py, which computes them
// with numpy from the definitions; how to run it is said there.
func TestSummarizeAgainstNumpy(t *testing.T) {
	text, err := os.ReadFile("testdata/summary.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []summaryCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			records := fixture(t, c.File)
			if c.Class != "" {
				records = slices.DeleteFunc(records, func(r *Record) bool { return r.Class != c.Class })
			}
			var each []experiment.Limit
			for _, m := range []string{"ttft", "tpot", "e2e"} {
				if ms, ok := c.Each[m]; ok {
					each = append(each, experiment.Limit{Key: m, Metric: m, Value: ms, Unit: "ms"})
				}
			}
			s := Summarize(records, c.Window, Mode{Streams: c.Stream}, each, c.GPUs)
			sameJSON(t, "summary", c.Summary, asJSON(t, s))
		})
	}
}

// asJSON is v as its file holds it, without the intervals, which package stats answers for.
func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	for _, m := range out {
		if m, ok := m.(map[string]any); ok {
			for _, name := range []string{"ci95", "ess", "n_effective", "n_needed"} {
				delete(m, name)
			}
		}
	}
	return out
}

// sameJSON compares numbers at 1e-9 relative and all else exactly.
func sameJSON(t *testing.T, path string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[k]; !ok {
				t.Errorf("%s.%s is missing, want %v", path, k, want[k])
				continue
			}
			sameJSON(t, path+"."+k, want[k], got[k])
		}
		for k := range got {
			if _, ok := want[k]; !ok {
				t.Errorf("%s.%s = %v is unknown to the script", path, k, got[k])
			}
		}
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	default:
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", path, d)
		}
	}
}

// answered is an ok request of the window: sent at its arrival, with tokens at the given times (µs).
func answered(at int64, tokens ...int64) *Record {
	r := &Record{Phase: PhaseWindow, Arrival: At(at), Ready: At(at), Sent: At(at), FirstEvent: At(tokens[0]), First: At(tokens[0]),
		Last: At(tokens[len(tokens)-1]), End: At(tokens[len(tokens)-1]), PromptRequested: 10, OutputRequested: len(tokens), OutputTokens: len(tokens), Outcome: "ok"}
	r.PromptTokens = new(10)
	for i := 1; i < len(tokens); i++ {
		r.Gaps = r.Gaps.Append(tokens[i] - tokens[i-1])
	}
	return r
}

// lost is a request of the window that failed.
func lost(at int64, outcome string) *Record {
	return &Record{Phase: PhaseWindow, Arrival: At(at), Ready: At(at), Sent: At(at), End: At(at + 10), PromptRequested: 10, Outcome: outcome, Error: outcome + " it was"}
}

func TestThroughputEndsAtTheWindowsEdges(t *testing.T) {
	w := Window{StartUs: 1_000_000, EndUs: 3_000_000}
	early, late := answered(500_000, 900_000, 999_999, 1_000_000), answered(2_900_000, 2_999_999, 3_000_000)
	early.Phase = PhaseWarmup
	got := throughputOf([]*Record{early, late}, w, 0)
	// Of early the last token and the request are inside, of late the first token and the prompt.
	want := Throughput{RequestsPerS: 0.5, PromptTokensPerS: 5, OutputTokensPerS: 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	late.TokensPerEvent, late.OutputTokens = Pack(5, 1), 6
	if got := throughputOf([]*Record{late}, w, 2); got.OutputTokensPerS != 2.5 || *got.OutputTokensPerSPerGPU != 1.25 {
		t.Errorf("an event of five tokens: %+v", got)
	}
	late.TokensPerEvent = Packed{}
	if got := throughputOf([]*Record{late}, w, 0); got.OutputTokensPerS != 1.5 {
		t.Errorf("six tokens over two events: %+v", got)
	}
	cut := answered(2_000_000, 2_100_000, 2_200_000)
	cut.Outcome = "truncated"
	if got := throughputOf([]*Record{cut}, w, 0); got.OutputTokensPerS != 1 || got.RequestsPerS != 0 {
		t.Errorf("what came of a cut answer: %+v", got)
	}
}

func TestConcurrency(t *testing.T) {
	span := func(from, to int64) *Record { return &Record{Sent: At(from), End: At(to)} }
	w := Window{StartUs: 100, EndUs: 200}
	for _, c := range []struct {
		name    string
		records []*Record
		want    Concurrency
	}{
		{"nothing", nil, Concurrency{}},
		{"a slot handed over at once", []*Record{span(150, 200), span(100, 150), span(90, 100), span(200, 210)}, Concurrency{1, 1}},
		{"many hand-overs", []*Record{span(100, 120), span(120, 140), span(140, 200), span(100, 140), span(140, 200)}, Concurrency{2, 2}},
		{"over both edges", []*Record{span(0, 300)}, Concurrency{1, 1}},
		{"half of it", []*Record{span(150, 250), span(150, 180)}, Concurrency{0.8, 2}},
		{"never sent, never over", []*Record{{Sent: At(110)}, {End: At(120)}, {}}, Concurrency{}},
		{"over in no time", []*Record{span(150, 150), span(100, 200)}, Concurrency{1, 1}},
	} {
		if got := ConcurrencyOf(c.records, w); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := ConcurrencyOf([]*Record{span(0, 300)}, Window{StartUs: 5, EndUs: 5}); got != (Concurrency{}) {
		t.Errorf("an empty window: %+v", got)
	}
}

func TestFailuresNeverAddToPercentiles(t *testing.T) {
	outcomes := []string{"truncated", "timeout", "connect", "status", "protocol", "cancelled", "unfinished"}
	rapid.Check(t, func(t *rapid.T) {
		w := Window{EndUs: 10_000_000}
		var good, all []*Record
		for i := range rapid.IntRange(0, 20).Draw(t, "ok") {
			at := int64(i) * 1000
			good = append(good, answered(at, at+rapid.Int64Range(0, 5000).Draw(t, "ttft"), at+6000))
		}
		all = append(all, good...)
		for range rapid.IntRange(0, 20).Draw(t, "failed") {
			r := answered(0, 1, 9_000_000)
			r.Outcome = rapid.SampledFrom(outcomes).Draw(t, "outcome")
			all = append(all, r)
		}
		without, with := Summarize(good, w, Mode{Streams: true}, nil, 0), Summarize(all, w, Mode{Streams: true}, nil, 0)
		if with.Requests.Planned != len(all) || with.Requests.Failed != len(all)-len(good) || with.Requests.Completed != len(good) {
			t.Fatalf("counts %+v", with.Requests)
		}
		with.Requests, with.ErrorRate, with.Throughput, with.Concurrency = without.Requests, without.ErrorRate, without.Throughput, without.Concurrency
		if d := cmp.Diff(without, with); d != "" {
			t.Fatal(d)
		}
	})
}

func TestSummaryOfAnUnstreamedRow(t *testing.T) {
	r := answered(0, 1000, 2000)
	s := Summarize([]*Record{r}, Window{EndUs: 1_000_000}, Mode{}, []experiment.Limit{{Key: "e2e", Metric: "e2e", Value: 2, Unit: "ms"}}, 0)
	if s.TTFT != nil || s.TTFTFromSend != nil || s.TTFE != nil || s.TPOT != nil || s.ITL != nil || s.TokensPerEvent != 0 || s.ITLRequests != 0 {
		t.Errorf("metrics of tokens in an unstreamed row: %+v", s)
	}
	if s.E2E == nil || s.E2E.Max != 2 || s.Goodput.Share != 1 {
		t.Errorf("e2e %+v, goodput %+v", s.E2E, s.Goodput)
	}
}

func TestGoodputCountsWhatIsExactlyAtTheLimit(t *testing.T) {
	records := []*Record{answered(0, 1000, 3000), answered(0, 1001, 3000), lost(0, "timeout"), answered(0, 900), lost(0, "left")}
	each := []experiment.Limit{{Key: "ttft", Metric: "ttft", Value: 1, Unit: "ms"}, {Key: "tpot", Metric: "tpot", Value: 2, Unit: "ms"}}
	g := GoodputOf(records, Window{EndUs: 1_000_000}, true, each)
	want := &Goodput{RequestsPerS: 2, OutputTokensPerS: 3, Share: 0.5, Limits: []string{"ttft ≤ 1 ms", "tpot ≤ 2 ms"}}
	if d := cmp.Diff(want, g); d != "" {
		t.Error(d)
	}
	if GoodputOf(records, Window{}, true, each) != nil || GoodputOf(records, Window{EndUs: 9}, true, nil) != nil {
		t.Error("goodput without a window or without a limit")
	}
}

// An answer whose first or last token has no known time is good only if it is good at the latest one.
func TestGoodputOfUnknownTokenTimes(t *testing.T) {
	for _, c := range []struct {
		metric      string
		first, last bool // known
		limit, end  int64
		good        bool
	}{
		{"ttft", false, true, 5, 4, true}, {"ttft", false, true, 5, 6, false}, {"e2e", true, false, 5, 4, true}, {"e2e", true, false, 5, 6, false},
		{"tpot", false, false, 3, 3, true}, {"tpot", false, false, 3, 4, false},
	} {
		r := answered(0, 1000, 2000)
		r.End = At(c.end * 1000)
		if !c.first {
			r.First, r.Gaps = Micros{}, Packed{}
		}
		if !c.last {
			r.Last = Micros{}
		}
		each := []experiment.Limit{{Key: c.metric, Metric: c.metric, Value: float64(c.limit), Unit: "ms"}}
		if got := GoodputOf([]*Record{r}, Window{EndUs: 1_000_000}, true, each).Share == 1; got != c.good {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestSummaryOfAnEmptyWindow(t *testing.T) {
	s := Summarize([]*Record{answered(0, 5)}, Window{StartUs: 7, EndUs: 7}, Mode{Streams: true}, nil, 4)
	if s.DurationS != 0 || s.Throughput != (Throughput{}) || s.Concurrency != (Concurrency{}) {
		t.Errorf("%+v", s)
	}
	if b := fmt.Sprint(asJSON(t, Summarize(nil, Window{}, Mode{Streams: true}, nil, 0))["ttft_ms"]); b != "<nil>" {
		t.Errorf("ttft of nothing is %s", b)
	}
}

func TestLengths(t *testing.T) {
	exact, off, uncounted, warm := answered(0, 1, 2), answered(0, 1, 2), answered(0, 1), answered(0, 1)
	off.PromptTokens, off.OutputRequested = new(12), 3
	uncounted.PromptTokens = nil
	warm.Phase = PhaseWarmup
	l := LengthsOf([]*Record{exact, off, uncounted, warm, lost(0, "status")})
	if l.PromptOff != 1 || l.OutputOff != 1 || l.PromptRequested.N != 3 || l.PromptTokens.N != 2 || l.PromptTokens.Mean != 11 || l.OutputTokens.Max != 2 {
		t.Errorf("%+v", l)
	}
	if l := LengthsOf(nil); l.PromptRequested != nil || l.OutputTokens != nil {
		t.Errorf("lengths of nothing: %+v", l)
	}
}
