package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// A closed loop whose requests nearly coincide with the parts of the window, so that 60 parts beat against them and
// seem to depend on each other over its whole length: the tenths of the window still decide a far limit.
func TestFiguresOfTenths(t *testing.T) {
	const n, length, ttft, tokens = 100, 82_000, 14_600, 64
	var records []*record.Record
	for i := range int64(n) {
		arrivals := []int64{i*length + ttft}
		for k := range int64(tokens - 1) {
			arrivals = append(arrivals, arrivals[0]+(k+1)*(length-ttft)/(tokens-1))
		}
		records = append(records, fixture.OKRequest(i*length, arrivals...))
	}
	usd := 2.5
	target := experiment.Target{GPUs: 1, GPUHourUSD: &usd}
	w := record.Window{EndUs: n * length}
	s := record.Summarize(records, w, record.Mode{Streams: true}, nil, 1)
	e := Measured{Row: &record.Row{Window: w}, Records: records}
	e.Spec.Concurrency = 1
	judge := func(limit string) record.Verdict {
		l := fixture.SLO(t, limit).Limits[0]
		return e.judgeLimit(question{limit: l, about: func(*record.Record) bool { return true }}, record.WindowByArrival(records), &s, target)
	}
	for limit, want := range map[string]string{ // 780 tok/s, 0.89 USD
		"usd_per_million_output_tokens = 2.0":  "PASS",
		"usd_per_million_output_tokens = 0.9":  "UNDECIDED",
		"usd_per_million_output_tokens = 0.4":  "FAIL",
		"min_output_tokens_per_s = 300":        "PASS",
		"min_output_tokens_per_s = 790":        "UNDECIDED",
		"min_requests_per_s = 30":              "FAIL",
		"min_requests_per_s = 15":              "UNDECIDED",
		"min_output_tokens_per_s_per_gpu = 40": "PASS",
	} {
		v := judge(limit)
		if string(v.Verdict) != want || strings.Contains(v.Why, "by tenths") != (want != "UNDECIDED") {
			t.Errorf("%s: %s (%s), want %s", limit, v.Verdict, v.Why, want)
		}
	}
}

// A figure of the whole window varies as its parts do: one that changes within it is known less well.
func TestFigureInterval(t *testing.T) {
	width := func(key string, every func(i int64) int64) float64 {
		var records []*record.Record
		at := int64(0)
		for i := range int64(2400) {
			records = append(records, fixture.OKRequest(at, at+1000, at+5000))
			at += every(i)
		}
		w := record.Window{EndUs: at}
		row := &record.Row{Window: w, Spec: experiment.Spec{SLO: fixture.SLO(t, "[each]\nttft = \"10ms\"")}}
		iv := FigureInterval(row, records, key, 100)
		if !(iv.Lo < 100.1 && iv.Hi > 99.9) {
			t.Errorf("%s: %v", key, iv)
		}
		return math.Log(iv.Hi / iv.Lo)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	steady := func(int64) int64 { return 99_000 + rng.Int64N(2_000) }
	restless := func(int64) int64 { return int64(1e5 * rng.ExpFloat64()) }
	for _, key := range []string{metric.RequestsPerS, metric.OutputTokensPerS, metric.Price, metric.EnergyPerToken,
		metric.GoodputRequestsPerS} {
		if a, b := width(key, steady), width(key, restless); a > 0.02 || b < 0.05 || b > 0.4 {
			t.Errorf("%s: %v, %v", key, a, b)
		}
	}
	if w := width(metric.ErrorRate, steady); !math.IsInf(w, 1) {
		t.Error(w)
	}
}
