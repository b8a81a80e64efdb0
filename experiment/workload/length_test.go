package workload

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// reported collects what a decoder or a check reports.
type reported []string

func (t *reported) bad(key, problem, hint string) {
	if hint == "" {
		hint = "NO HINT"
	}
	*t = append(*t, key+": "+problem+" | "+hint)
}

func (t reported) want(tt *testing.T, parts ...string) {
	tt.Helper()
	if len(t) != len(parts) {
		tt.Fatalf("got %q, want %q", []string(t), parts)
	}
	for i, p := range parts {
		if !strings.Contains(t[i], p) || strings.Contains(t[i], "NO HINT") {
			tt.Errorf("got %q, want %q", t[i], p)
		}
	}
}

func draws(l Length, n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(l.Draw(r))
	}
	slices.Sort(out)
	return out
}

func TestDrawnLengths(t *testing.T) {
	const n = 100000
	tests := []struct {
		l        Length
		p50, p95 float64
		within   float64 // relative
	}{
		{Fixed(256), 256, 256, 0},
		{Length{Dist: "uniform", Min: 3000, Max: 6000}, 4500, 5850, 0.01},
		{Length{Dist: "normal", Mean: 500, Std: 100}, 500, 500 + 100*1.6448536, 0.01}, // scipy.stats.norm.ppf(0.95)
		{Length{Dist: "lognormal", P50: 300, P95: 2000}, 300, 2000, 0.04},
		{Length{Dist: "lognormal", P50: 300, P95: 300}, 300, 300, 0},
	}
	for _, tt := range tests {
		x := draws(tt.l, n)
		p50, p95 := x[n/2], x[n*95/100]
		if math.Abs(p50/tt.p50-1) > tt.within || math.Abs(p95/tt.p95-1) > tt.within {
			t.Errorf("%v: p50 %v, p95 %v; want %v, %v", tt.l, p50, p95, tt.p50, tt.p95)
		}
		mean := 0.0
		for _, v := range x {
			mean += v / n
		}
		if math.Abs(mean/tt.l.Typical()-1) > 0.03 {
			t.Errorf("%v: mean %v, typical %v", tt.l, mean, tt.l.Typical())
		}
	}
}

func TestUniformReachesBothEnds(t *testing.T) {
	x := draws(Length{Dist: "uniform", Min: 5, Max: 8}, 4000)
	for _, v := range []float64{5, 6, 7, 8} {
		i, _ := slices.BinarySearch(x, v)
		j, _ := slices.BinarySearch(x, v+1)
		if j-i < 850 || j-i > 1150 {
			t.Errorf("%v drawn %d times of 4000", v, j-i)
		}
	}
}

func TestLengthsKeepTheirBounds(t *testing.T) {
	for _, l := range []Length{
		{Dist: "normal", Mean: 10, Std: 100}, {Dist: "normal", Mean: 10, Std: 100, Min: 4, Max: 20}, {Dist: "normal", Mean: 5, Std: 1, Min: 50},
		{Dist: "lognormal", P50: 1, P95: 1 << 24}, {Dist: "lognormal", P50: 300, P95: 2000, Min: 100, Max: 1000}, {Dist: "uniform", Min: 1, Max: 1}, Fixed(1),
	} {
		x := draws(l, 20000)
		most := float64(l.Max)
		if l.Max == 0 {
			most = maxTokens
		}
		if x[0] < float64(l.Least()) || x[0] < 1 || x[len(x)-1] > most {
			t.Errorf("%v: drawn from %v to %v", l, x[0], x[len(x)-1])
		}
	}
}

// decodeLength decodes the value of a line "v = …" as a matrix has it.
func decodeLength(text string) (Length, reported, error) {
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		return Length{}, nil, err
	}
	var l Length
	var got reported
	l.DecodeTOML(doc["v"], got.bad)
	(&Workload{Input: l}).Look(new(Files), got.bad)
	return l, got, nil
}

func TestLengthDecodeTOML(t *testing.T) {
	tests := []struct {
		text string
		want Length
		bad  []string
	}{
		{`256`, Fixed(256), nil},
		{`{ dist = "uniform", min = 3000, max = 6000 }`, Length{Dist: "uniform", Min: 3000, Max: 6000}, nil},
		{`{ dist = "normal", mean = 300.5, std = 20 }`, Length{Dist: "normal", Mean: 300.5, Std: 20}, nil},
		{`{ dist = "lognormal", p50 = 300, p95 = 2000, max = 8000 }`, Length{Dist: "lognormal", P50: 300, P95: 2000, Max: 8000}, nil},
		{`0`, Length{}, []string{": 0 tokens"}},
		{`-4`, Length{}, []string{": -4 tokens"}},
		{`99999999`, Length{}, []string{": 99999999 tokens"}},
		{`256.5`, Length{}, []string{": a length must be an integer number"}},
		{`"256"`, Length{}, []string{": a length must be an integer number"}},
		{`[256]`, Length{}, []string{": a length must be an integer number"}},
		{`{ dist = "pareto" }`, Length{}, []string{`dist: unknown distribution "pareto"`}},
		{`{ mean = 3 }`, Length{}, []string{`: the table has no dist`}},
		{`{ dist = "uniform", min = 3, max = 6, p50 = 4 }`, Length{Dist: "uniform", Min: 3, Max: 6}, []string{`p50: uniform has no key "p50"`}},
		{`{ dist = "uniform", min = 3 }`, Length{Dist: "uniform", Min: 3}, []string{": uniform needs max"}},
		{`{ dist = "uniform", min = 3, max = 0 }`, Length{Dist: "uniform", Min: 3}, []string{"max: max 0 is below min 3"}},
		{`{ dist = "uniform", min = 0, max = 4 }`, Length{Dist: "uniform", Max: 4}, []string{"min: min is below 1"}},
		{`{ dist = "uniform", min = 1.5, max = 4 }`, Length{Dist: "uniform", Max: 4}, []string{"min: min must be an integer, not 1.5"}},
		{`{ dist = "normal", mean = 0, std = 1 }`, Length{Dist: "normal", Std: 1}, []string{"mean: the mean is below 1"}},
		{`{ dist = "normal", mean = nan, std = "x" }`, Length{Dist: "normal"}, []string{"mean: mean must be a number", "std: std must be a number"}},
		{`{ dist = "normal", mean = 9, std = 1, min = 8, max = 4 }`, Length{Dist: "normal", Mean: 9, Std: 1, Min: 8, Max: 4}, []string{"max: max 4 is below min 8"}},
		{`{ dist = "lognormal", p50 = 300, p95 = 20 }`, Length{Dist: "lognormal", P50: 300, P95: 20}, []string{"p95: p95 20 is below p50 300"}},
		{`{ dist = "lognormal", p50 = -1, p95 = inf }`, Length{Dist: "lognormal"}, []string{"p50: p50 must be a number", "p95: p95 must be a number"}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			l, got, err := decodeLength("v = " + tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(l, tt.want) {
				t.Errorf("%+v, want %+v", l, tt.want)
			}
			got.want(t, tt.bad...)
		})
	}
}

// Whatever is decoded without a complaint can be drawn, named and stored.
func FuzzLengthDecodeTOML(f *testing.F) {
	for _, s := range []string{`256`, `{dist="uniform",min=1,max=9}`, `{dist="normal",mean=3,std=1}`, `{dist="lognormal",p50=3,p95=9,min=2}`, `{dist=4}`, `[[]]`, `nan`, `1979-05-27`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, got, err := decodeLength("v = " + s)
		if err != nil || len(got) > 0 {
			return
		}
		for _, x := range draws(l, 20) {
			if x < float64(l.Least()) || x > maxTokens {
				t.Fatalf("%+v draws %v", l, x)
			}
		}
		var back Length
		if b, err := json.Marshal(l); err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, l) {
			t.Fatalf("%+v is stored as %s, %v", l, b, err)
		}
		if l.IsZero() || l.String() == "" {
			t.Fatalf("%+v is nothing", l)
		}
	})
}

func FuzzRateDecodeTOML(f *testing.F) {
	for _, s := range []string{`4`, `0.5`, `"inf"`, `inf`, `nan`, `-1`, `"4"`, `[1]`, `1e-300`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, got, err := decodeRate("v = " + s)
		if err != nil || len(got) > 0 {
			return
		}
		var back Rate
		if b, err := json.Marshal(r); err != nil || json.Unmarshal(b, &back) != nil || back != r {
			t.Fatalf("%v is stored as %s, %v", r, b, err)
		}
		last := -1
		for _, q := range take(Workload{Input: Fixed(1), Output: Fixed(1), Rate: r, Arrival: Arrival{Process: "gamma"}, Burstiness: minBurstiness}, 1, "", 130) {
			if q.At < 0 || q.Index <= last {
				t.Fatalf("rate %v: request %d at %v", r, q.Index, q.At)
			}
			last = q.Index
		}
	})
}

func decodeRate(text string) (Rate, reported, error) {
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		return 0, nil, err
	}
	var r Rate
	var got reported
	r.DecodeTOML(doc["v"], got.bad)
	return r, got, nil
}

func TestRateDecodeTOML(t *testing.T) {
	for text, want := range map[string]Rate{`4`: 4, `0.5`: 0.5, `"inf"`: Rate(math.Inf(1)), `1_000_000`: 1e6, `0.0001`: 1e-4} {
		if r, got, err := decodeRate("v = " + text); err != nil || r != want || len(got) > 0 {
			t.Errorf("%s: %v %q %v", text, r, got, err)
		}
	}
	for text, want := range map[string]string{
		`0`: "rate 0 is not between 0.0001 and 1000000", `-1`: "rate -1 is not between", `nan`: "rate NaN is not", `inf`: "rate +Inf is not", `-inf`: "rate -Inf", `1e-300`: "rate 1e-300",
		`"fast"`: `rate "fast" is not a number`, `true`: "rate is a number", `[1]`: "rate is a number",
	} {
		_, got, err := decodeRate("v = " + text)
		if err != nil {
			t.Fatal(err)
		}
		got.want(t, ": "+want)
	}
}

func TestLengthString(t *testing.T) {
	for want, l := range map[string]Length{
		"": {}, "256": Fixed(256), "uniform 3–6": {Dist: "uniform", Min: 3, Max: 6},
		"normal 300±20": {Dist: "normal", Mean: 300, Std: 20}, "lognormal p50 300 p95 2000": {Dist: "lognormal", P50: 300, P95: 2000},
	} {
		if l.String() != want {
			t.Errorf("%q, want %q", l.String(), want)
		}
	}
}

func TestWorkloadJSON(t *testing.T) {
	for _, w := range []Workload{mixed, prefixed(Warm), {Input: Fixed(1), Output: Fixed(2), Rate: Rate(math.Inf(1))}} {
		b, err := json.Marshal(w)
		var back Workload
		if err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, w) {
			t.Errorf("%+v became %s became %+v", w, b, back)
		}
	}
	var r Rate
	if err := json.Unmarshal([]byte(`"fast"`), &r); err == nil || !strings.Contains(err.Error(), "reading a rate") {
		t.Errorf("error %v", err)
	}
}
