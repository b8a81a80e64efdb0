package telemetry

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// edges are in s, as the server has them.
var edges = []float64{0.01, 0.05, 0.1, 0.5, 1}

// histogramOf counts values in s, as a server does.
func histogramOf(values []float64) *Histogram {
	h := &Histogram{Count: float64(len(values))}
	for _, v := range values {
		h.Sum += v
	}
	for _, edge := range edges {
		n := 0
		for _, v := range values {
			if v <= edge {
				n++
			}
		}
		h.Buckets = append(h.Buckets, [2]float64{edge, float64(n)})
	}
	return h
}

func TestTimesBetween(t *testing.T) {
	before, after := histogramOf([]float64{0.7, 3}), histogramOf([]float64{0.7, 3, 0.02, 0.04, 0.2, 2})
	got, reset := timesBetween(&TimeReading{TTFT: before, E2E: before}, &TimeReading{TTFT: after, Queue: before, E2E: before})
	want := ServerTimes{
		TTFT:  &ServerTime{N: 4, Mean: 565, P50: &[2]float64{10, 50}},
		Queue: &ServerTime{N: 2, Mean: 1850, P50: &[2]float64{500, 1000}}, // listed from its first value on
	}
	if diff := cmp.Diff(want, got); diff != "" || reset {
		t.Errorf("reset %v, %s", reset, diff)
	}
	if got, reset = timesBetween(&TimeReading{TTFT: after}, &TimeReading{TTFT: before}); !reset || got.TTFT != nil {
		t.Errorf("of a server that began anew: %+v", got.TTFT)
	}
}

// The values between two readings, by the values themselves: the mean is theirs, and each percentile is in its
// bucket.
func TestTimesOfAnyValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1.5), 0, 40)
		old, added := values.Draw(t, "before"), values.Draw(t, "in it")
		got, reset := histogramOf(append(slices.Clone(old), added...)).since(histogramOf(old))
		if reset || (got == nil) != (len(added) == 0) {
			t.Fatalf("reset %v, %+v", reset, got)
		}
		if got == nil {
			return
		}
		sum := 0.0
		for _, v := range added {
			sum += v
		}
		slices.Sort(added)
		if n := len(added); got.N != n || math.Abs(got.Mean-1e3*sum/float64(n)) > 1e-3 {
			t.Fatalf("%+v of %v", got, added)
		}
		for p, in := range map[float64]*[2]float64{0.5: got.P50, 0.95: got.P95, 0.99: got.P99} {
			v := 1e3 * added[int(math.Ceil(p*float64(len(added))-1e-9))-1] // nearest rank
			if in == nil {
				if v <= 1000 {
					t.Fatalf("p%g: no bucket, it is %g", 100*p, v)
				}
			} else if v > in[1]+1e-6 || v < in[0]-1e-6 {
				t.Fatalf("p%g is %g, not in %v", 100*p, v, *in)
			}
		}
	})
}

// The counters of a whole row are exact: from the reading before the first request to the one after the last.
func TestWholeRow(t *testing.T) {
	reading := func(us int64, edge string, requests, prompt float64) Sample {
		return Sample{Source: SourceServer, TUs: us, Edge: edge, Server: &ServerReading{Engine: "vllm", Requests: &requests, Prompt: &prompt,
			Times: TimeReading{TTFT: histogramOf(make([]float64, int(requests)))}}}
	}
	late := reading(30, EdgeAfter, 12, 1300)
	late.Server.PrefixHits = new(64.0) // a counter that the server lists from its first increment on
	samples := []Sample{reading(-5, EdgeBefore, 2, 300), reading(10, "", 5, 600), late}
	got := SummarizeServer(Source{}, samples, 0, 20).Whole
	want := &ServerCounts{Requests: new(10.0), PromptTokens: new(1000.0), PrefixHits: new(64.0),
		Times: ServerTimes{TTFT: &ServerTime{N: 10, P50: &[2]float64{0, 10}, P95: &[2]float64{0, 10}, P99: &[2]float64{0, 10}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, samples := range map[string][]Sample{
		"no reading after the load": samples[:2],
		"none before it":            samples[1:],
		"a server that began anew":  {samples[0], reading(10, "", 1, 100), late},
	} {
		if got := SummarizeServer(Source{}, samples, 0, 20).Whole; got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A failed reading, and one that came late, are gaps.
func TestGaps(t *testing.T) {
	reading := func(us int64, running float64) Sample {
		return Sample{Source: SourceServer, TUs: us, Next: 10, Server: &ServerReading{Engine: "vllm", Running: &running}}
	}
	failed := Sample{Source: SourceServer, TUs: 25, Next: 10, Error: "no complete response within 2s"}
	for _, c := range []struct {
		what    string
		samples []Sample
		covered *float64
		mean    float64
	}{
		{"even", []Sample{reading(0, 4), reading(10, 4), reading(20, 4), reading(40, 4)}, nil, 4},
		{"a stall of the server", []Sample{reading(0, 4), reading(20, 4), failed, reading(40, 0)}, new(0.5), 4},
		{"a late reading", []Sample{reading(0, 4), reading(8, 4), reading(40, 0)}, new(0.2), 4},
	} {
		g := SummarizeServer(Source{}, c.samples, 0, 40).Running
		if diff := cmp.Diff(c.covered, g.Covered); diff != "" || g.Mean != c.mean {
			t.Errorf("%s: mean %g, %s", c.what, g.Mean, diff)
		}
	}
}
