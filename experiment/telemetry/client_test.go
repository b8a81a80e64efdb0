package telemetry

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func TestSummarize(t *testing.T) {
	sample := func(end, span int64, user float64) Sample {
		return Sample{Source: SourceClient, TUs: end, Span: span, UserCores: &user, SystemCores: new(0.5), RunDelay: new(user / 10), CoreBusy: []float64{user, 0}, Steal: new(0.01),
			Cost: new(float64(span) / 1000), Sched: [][2]float64{{1, 98}, {1000 * user, 1}}}
	}
	samples := []Sample{
		sample(200, 250, 9), // most of it lies before the window
		sample(300, 100, 1),
		sample(600, 300, 0.5),
		sample(900, 400, 9), // and of this one behind it
	}
	want := &Usage{Samples: 2, SpanS: 0.0004, MaxProcs: runtime.GOMAXPROCS(0), LongestGap: new(0.3),
		CPUMean: new(1.125), RunDelay: new(0.0625), MachineBusy: new(0.3125), Steal: new(0.01), StealMaxMs: new(0.008),
		SchedP99: new(0.5), SchedMax: new(1.0)} // of 198 waits, one of 0.5 and one of 1 ms
	if diff := cmp.Diff(want, Summarize(samples, 100, 700)); diff != "" {
		t.Error(diff)
	}
	if u := Summarize(samples, 1000, 2000); u != nil {
		t.Errorf("a window without a sample: %+v", u)
	}
	samples[1].UserCores, samples[1].CoreBusy = nil, nil
	u := Summarize(samples, 100, 700)
	if *u.CPUMean != 1 || *u.MachineBusy != 0.25 {
		t.Errorf("%+v", u)
	}
}

func TestWaitQuantile(t *testing.T) {
	buckets := [][2]float64{{1, 50}, {2, 49}, {4, 1}}
	for p, want := range map[float64]float64{0.5: 0.001, 0.51: 0.002, 0.99: 0.002, 0.991: 0.004, 1: 0.004} {
		if got := waitQuantile(buckets, p); got == nil || *got != want {
			t.Errorf("%g: %v, want %g", p, got, want)
		}
	}
	if got := waitQuantile(nil, 0.5); got != nil {
		t.Errorf("of nothing: %g", *got)
	}
}

func TestMerge(t *testing.T) {
	if diff := cmp.Diff([][2]float64{{1, 5}, {2, 7 + 1}}, mergeHistograms([]Sample{{Sched: [][2]float64{{2, 7}, {1, 5}}}, {Sched: [][2]float64{{2, 1}}}})); diff != "" {
		t.Error(diff)
	}
}

func TestWriter(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		s := Sample{Source: SourceClient, TUs: int64(i) - 1, Span: 1}
		if err := w.Write(&s); err != nil || s.Schema != "" {
			t.Errorf("%v, %q", err, s.Schema)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var text strings.Builder
	if _, err := z.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for i, line := range lines {
		var s Sample
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.TUs != int64(i)-1 || s.Source != SourceClient || (s.Schema == Schema) != (i == 0) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines", len(lines))
	}
}

// CPU steal without a break can be all of two adjacent samples, on one core.
func TestLongestSteal(t *testing.T) {
	sample := func(steal float64, cores int) Sample {
		return Sample{Span: 250_000, Steal: &steal, CoreBusy: make([]float64, cores)}
	}
	for _, c := range []struct {
		name    string
		samples []Sample
		want    *float64
	}{
		{"none reported", []Sample{{Span: 250_000}}, nil},
		{"none", []Sample{sample(0, 2), sample(0, 2)}, new(0.0)},
		{"one of four cores", []Sample{sample(0, 4), sample(0.02, 4), sample(0, 4)}, new(20.0)},
		{"across two samples", []Sample{sample(0.01, 4), sample(0.02, 4), sample(0.03, 4), sample(0, 4), sample(0.04, 4)}, new(50.0)},
		{"no core loses more than the sample", []Sample{sample(0.5, 8)}, new(250.0)},
		{"cores not reported", []Sample{sample(0.001, 0)}, new(250.0)},
		{"a sample without the figure between", []Sample{sample(0.1, 1), {Span: 250_000}, sample(0.1, 1)}, new(25.0)},
	} {
		if diff := cmp.Diff(c.want, longestSteal(c.samples)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
