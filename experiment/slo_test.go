package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"bench/experiment/workload"
)

// mistakes collects what a Check or a decoder reports.
type mistakes []string

func (m *mistakes) add(key, problem, hint string) {
	if hint == "" {
		problem += " (no hint)"
	}
	*m = append(*m, key+": "+problem)
}

func decode(t testing.TB, text string) (SLO, mistakes) {
	t.Helper()
	var table map[string]any
	if _, err := toml.Decode(text, &table); err != nil {
		t.Fatal(err)
	}
	var c SLO
	var m mistakes
	c.DecodeTOML(table, m.add)
	return c, m
}

// tableOf is an SLO without a mistake.
func tableOf(t testing.TB, text string) SLO {
	t.Helper()
	slo, m := decode(t, text)
	if len(m) > 0 {
		t.Fatal(m)
	}
	return slo
}

func TestSLOTakesEveryForm(t *testing.T) {
	c, m := decode(t, `
ttft_p95 = "1s"
ttft_from_send_p50 = "1.5s"
ttfe_p999 = "250µs"
tpot_mean = "40ms"
itl_p99 = "0.5ms"
e2e_from_send_p90 = "1m1s"
cap_wait_p50 = "1ns"
lag_p99 = "1ms"
error_rate = 0.001
usd_per_million_output_tokens = 2
min_requests_per_s = 1.5
min_prompt_tokens_per_s = 0
min_output_tokens_per_s = 10
min_output_tokens_per_s_per_gpu = 3
min_goodput_requests_per_s = 4
[each]
ttft = "2s"
tpot = "50ms"
e2e = "1h"
`)
	if len(m) > 0 {
		t.Fatal(m)
	}
	got := map[string]string{}
	for _, l := range c.All() {
		got[l.Key] = l.Metric + " " + l.Stat + ": " + l.String()
	}
	want := map[string]string{
		"ttft_p95": "ttft p95: ttft_p95 ≤ 1000 ms", "ttft_from_send_p50": "ttft_from_send p50: ttft_from_send_p50 ≤ 1500 ms",
		"ttfe_p999": "ttfe p999: ttfe_p999 ≤ 0.25 ms", "tpot_mean": "tpot mean: tpot_mean ≤ 40 ms", "itl_p99": "itl p99: itl_p99 ≤ 0.5 ms",
		"e2e_from_send_p90": "e2e_from_send p90: e2e_from_send_p90 ≤ 61000 ms", "cap_wait_p50": "cap_wait p50: cap_wait_p50 ≤ 0.000001 ms",
		"lag_p99": "lag p99: lag_p99 ≤ 1 ms", "error_rate": "error_rate : error_rate ≤ 0.001 share",
		"usd_per_million_output_tokens":   "usd_per_million_output_tokens : usd_per_million_output_tokens ≤ 2 usd",
		"min_requests_per_s":              "min_requests_per_s : min_requests_per_s ≥ 1.5 1/s",
		"min_prompt_tokens_per_s":         "min_prompt_tokens_per_s : min_prompt_tokens_per_s ≥ 0 tokens/s",
		"min_output_tokens_per_s":         "min_output_tokens_per_s : min_output_tokens_per_s ≥ 10 tokens/s",
		"min_output_tokens_per_s_per_gpu": "min_output_tokens_per_s_per_gpu : min_output_tokens_per_s_per_gpu ≥ 3 tokens/s",
		"min_goodput_requests_per_s":      "min_goodput_requests_per_s : min_goodput_requests_per_s ≥ 4 1/s",
		"ttft":                            "ttft : ttft ≤ 2000 ms", "tpot": "tpot : tpot ≤ 50 ms", "e2e": "e2e : e2e ≤ 3600000 ms",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(c.Limits) != 15 || len(c.Each) != 3 {
		t.Errorf("%d limits, %d for each request", len(c.Limits), len(c.Each))
	}
}

// The value to copy is usual for its metric.
func TestHintOfALatencyLimit(t *testing.T) {
	for key, want := range map[string]string{"tpot_p95": "40ms", "itl_p99": "40ms", "ttft_p95": "800ms", "e2e_p50": "10s", "e2e_from_send_p90": "10s"} {
		_, ok := milliseconds(key, "0.04", func(_, hint string) {
			if hint != fmt.Sprintf("write %s = %q", key, want) {
				t.Error(hint)
			}
		})
		if ok {
			t.Errorf("%s took a number", key)
		}
	}
}

func TestSLOMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`ttft = "1s"`:                          `ttft: unknown limit "ttft"`,
		`ttft_p42 = "1s"`:                      `ttft_p42: unknown limit "ttft_p42"`,
		`ttft_max = "1s"`:                      `ttft_max: unknown limit "ttft_max"`,
		`latency_p50 = "1s"`:                   `latency_p50: unknown limit "latency_p50"`,
		`min_ttft_p50 = "1s"`:                  `min_ttft_p50: unknown limit "min_ttft_p50"`,
		`_p50 = "1s"`:                          `_p50: unknown limit "_p50"`,
		`ttft_p50 = 1`:                         `ttft_p50: a latency limit needs a unit: 1 is not a duration`,
		`ttft_p50 = 0.5`:                       `ttft_p50: a latency limit must be a duration, not 0.5`,
		`ttft_p50 = "1"`:                       `ttft_p50: "1" is not a positive duration`,
		`ttft_p50 = "-1s"`:                     `ttft_p50: "-1s" is not a positive duration`,
		`ttft_p50 = "0s"`:                      `ttft_p50: "0s" is not a positive duration`,
		`error_rate = "1%"`:                    `error_rate: error_rate is a share from 0 to 1, not "1%"`,
		`error_rate = 1.5`:                     `error_rate: error_rate is a share from 0 to 1, not 1.5`,
		`error_rate = -0.1`:                    `error_rate: error_rate is a share from 0 to 1, not -0.1`,
		`error_rate = nan`:                     `error_rate: error_rate is a share from 0 to 1, not NaN`,
		`min_requests_per_s = inf`:             `min_requests_per_s: min_requests_per_s is a number from 0, not +Inf`,
		`usd_per_million_output_tokens = true`: `usd_per_million_output_tokens: usd_per_million_output_tokens is a number from 0, not true`,
		`itl_mean = "5ms"`:                     `itl_mean: itl_mean can't be a limit: the gaps of one request depend on each other`,
		`each = "1s"`:                          `each: each must be a table of per-request limits`,
		"[each]\nttft_p95 = \"1s\"":            `each.ttft_p95: "ttft_p95" is not a per-request metric`,
		"[each]\nitl = \"1s\"":                 `each.itl: "itl" is not a per-request metric`,
		"[each]\ne2e = 3":                      `each.e2e: a latency limit needs a unit: 3 is not a duration`,
	} {
		if c, m := decode(t, text); len(m) != 1 || m[0] != want || len(c.All()) > 0 {
			t.Errorf("%s\ngot  %q, limits %v\nwant %q", text, m, c.All(), want)
		}
	}
	var c SLO
	var m mistakes
	c.DecodeTOML("1s", m.add)
	if len(m) != 1 || m[0] != ": slo must be a table" {
		t.Error(m)
	}
	if _, m := decode(t, "a = 1\nb = 2\nttft_p50 = 3\n[each]\nx = 1\ny = 2"); len(m) != 5 {
		t.Errorf("not every mistake is reported: %q", m)
	}
}

func FuzzSLO(f *testing.F) {
	f.Add("ttft_p95", "1s", 0.5)
	f.Add("error_rate", "", math.NaN())
	f.Add("_", "-1ms", -1.0)
	f.Add("min_requests_per_s", "9e99h", math.Inf(1))
	f.Fuzz(func(t *testing.T, key, text string, x float64) {
		for _, v := range []any{text, x, int64(x), map[string]any{key: text}} {
			var c SLO
			var m mistakes
			c.DecodeTOML(map[string]any{key: v}, m.add)
			for _, l := range c.All() {
				if !(l.Value >= 0) || math.IsInf(l.Value, 0) || l.Unit == "" {
					t.Errorf("%s = %v became %+v", key, v, l)
				}
			}
			if len(c.All()) == 0 && len(m) == 0 && !(key == "each" && len(v.(map[string]any)) == 0) {
				t.Errorf("%s = %v left neither a limit nor a mistake", key, v)
			}
		}
	})
}

func TestLimitShare(t *testing.T) {
	for stat, want := range map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999} {
		if p, ok := (Limit{Stat: stat}).P(); p != want || !ok {
			t.Errorf("%s is %v, %t", stat, p, ok)
		}
	}
	for _, stat := range []string{"mean", ""} {
		if _, ok := (Limit{Stat: stat}).P(); ok {
			t.Errorf("%q has a share", stat)
		}
	}
}

func TestNeedsStream(t *testing.T) {
	for metric, want := range map[string]bool{"ttft": true, "ttft_from_send": true, "ttfe": true, "tpot": true, "itl": true,
		"e2e": false, "e2e_from_send": false, "cap_wait": false, "lag": false, "error_rate": false, "min_requests_per_s": false} {
		if got := (Limit{Metric: metric}).NeedsStream(); got != want {
			t.Errorf("%s: %t", metric, got)
		}
	}
}

func asText(limits []Limit) string {
	var lines []string
	for _, l := range limits {
		lines = append(lines, l.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

func TestEachRequest(t *testing.T) {
	for _, c := range []struct{ slo, want string }{
		{"", ""},
		{`error_rate = 0.1`, ""},
		{"ttft_p95 = \"1s\"\nttft_p50 = \"2s\"\nttft_mean = \"500ms\"\nitl_p50 = \"9s\"", "ttft ≤ 2000 ms"},
		{"ttft_p50 = \"1s\"\ntpot_p99 = \"40ms\"\ntpot_p50 = \"20ms\"\ne2e_p99 = \"15s\"\ne2e_mean = \"5s\"\nttft_from_send_p99 = \"8s\"",
			"e2e ≤ 15000 ms, tpot ≤ 40 ms, ttft ≤ 1000 ms"},
		{"ttft_p95 = \"1s\"\n[each]\ne2e = \"3s\"", "e2e ≤ 3000 ms"},
	} {
		slo, m := decode(t, c.slo)
		if got := asText(slo.PerRequest()); got != c.want || len(m) > 0 {
			t.Errorf("%s\ngot  %s %v\nwant %s", c.slo, got, m, c.want)
		}
	}
}

func TestSLOOverridesKeyByKey(t *testing.T) {
	base, _ := decode(t, "ttft_p95 = \"1s\"\nttft_p50 = \"500ms\"\nerror_rate = 0.1\nmin_requests_per_s = 3\nusd_per_million_output_tokens = 2\n[each]\nttft = \"1s\"\ne2e = \"9s\"")
	own, _ := decode(t, "ttft_p95 = \"5s\"\nmin_output_tokens_per_s = 7\n[each]\nttft = \"6s\"")
	before := asText(base.All())
	got := base.With(own)
	const each = "e2e ≤ 9000 ms, ttft ≤ 6000 ms"
	if s := asText(got.Limits); s != "error_rate ≤ 0.1 share, min_output_tokens_per_s ≥ 7 tokens/s, min_requests_per_s ≥ 3 1/s, ttft_p50 ≤ 500 ms, ttft_p95 ≤ 5000 ms, usd_per_million_output_tokens ≤ 2 usd" {
		t.Error(s)
	}
	if s := asText(got.Each); s != each {
		t.Error(s)
	}
	// A class owes no throughput and no price of the whole row, but what it states itself.
	class := base.forClass(own)
	if s := asText(class.Limits); s != "error_rate ≤ 0.1 share, min_output_tokens_per_s ≥ 7 tokens/s, ttft_p50 ≤ 500 ms, ttft_p95 ≤ 5000 ms" {
		t.Error(s)
	}
	if s := asText(class.Each); s != each {
		t.Error(s)
	}
	if asText(base.All()) != before {
		t.Error("the base was changed")
	}
	if s := asText(base.With(SLO{}).All()); s != before {
		t.Errorf("overridden by nothing it is %s", s)
	}
}

// sound is a point that passes every check.
func sound() Spec {
	return Spec{
		Name:     "A",
		Workload: workload.Workload{Input: workload.Fixed(256), Output: workload.Fixed(8), Rate: 5},
		Load:     workload.Load{Requests: 10},
	}
}

func TestSpecCheck(t *testing.T) {
	no := false
	class := func(slo map[string]any) []workload.Class {
		return []workload.Class{
			{Name: "chat", Weight: 1, Input: workload.Fixed(9), Output: workload.Fixed(9), SLO: slo},
			{Name: "rag", Weight: 1, Input: workload.Fixed(9), Output: workload.Fixed(9)},
		}
	}
	ttft := SLO{Limits: []Limit{{Key: "ttft_p95", Metric: "ttft", Stat: "p95", Value: 1, Unit: "ms"}}}
	e2e := SLO{Limits: []Limit{{Key: "e2e_p95", Metric: "e2e", Stat: "p95", Value: 1, Unit: "ms"}}}
	mix := func(s *Spec, slo map[string]any) {
		s.Input, s.Output, s.Mix = workload.Length{}, workload.Length{}, class(slo)
	}
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   mistakes
	}{
		{"sound", func(*Spec) {}, nil},
		{"stop", func(s *Spec) { s.Stop = "never" }, mistakes{`stop: unknown stop "never"`}},
		{"natural", func(s *Spec) { s.Stop = "natural" }, nil},
		{"api", func(s *Spec) { s.API = "grpc" }, mistakes{`api: unknown api "grpc"`}},
		{"rerank", func(s *Spec) { s.API = "rerank" }, mistakes{`api: api "rerank" writes no tokens`}},
		{"messages", func(s *Spec) { s.API = "messages" }, nil},
		{"chat", func(s *Spec) { s.API = "chat" }, nil},
		{"repeats", func(s *Spec) { s.Repeats = -1 }, mistakes{"repeats: repeats is negative"}},
		{"ttft of a stream", func(s *Spec) { s.SLO = ttft }, nil},
		{"ttft without one", func(s *Spec) { s.Stream, s.SLO = &no, ttft }, mistakes{"stream: without streaming slo.ttft_p95 can't be measured"}},
		{"e2e without one", func(s *Spec) { s.Stream, s.SLO = &no, e2e }, nil},
		{"ttft of each without one", func(s *Spec) { s.Stream, s.SLO = &no, SLO{Each: []Limit{{Key: "ttft", Metric: "ttft"}}} },
			mistakes{"stream: without streaming slo.ttft can't be measured"}},
		{"a class's SLO", func(s *Spec) { mix(s, map[string]any{"ttft_p95": "1s"}) }, nil},
		{"a class's ttft without streaming", func(s *Spec) { s.Stream = &no; mix(s, map[string]any{"e2e_p50": "1s", "tpot_p95": "1s"}) },
			mistakes{"stream: without streaming mix[0].slo.tpot_p95 can't be measured"}},
		{"a class's mistake", func(s *Spec) { mix(s, map[string]any{"ttft_p95": int64(1), "each": map[string]any{"x": "1s"}}) },
			mistakes{`mix[0].slo.each.x: "x" is not a per-request metric`, "mix[0].slo.ttft_p95: a latency limit needs a unit: 1 is not a duration"}},
		{"nothing to do", func(s *Spec) { s.Rate = 0 }, mistakes{"concurrency"}},
	} {
		s := sound()
		c.change(&s)
		var got mistakes
		s.Check(got.add)
		if c.name == "nothing to do" { // its words are the load's own
			if len(got) == 0 {
				t.Error("a row without rate and concurrency passes")
			}
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", c.name, d)
		}
	}
}

func TestSpecWords(t *testing.T) {
	s := sound()
	if s.Label() != "A" || !s.Streams() || !s.IgnoresEOS() || s.APIFor(Target{}) != "completions" {
		t.Errorf("the zero values mean otherwise: %s %t %t %s", s.Label(), s.Streams(), s.IgnoresEOS(), s.APIFor(Target{}))
	}
	s.Point, s.Stop, s.Stream, s.API = []Axis{{"concurrency", "8"}, {"prefix.state", "warm"}}, "natural", new(false), "chat"
	var target Target
	target.API = "completions"
	if s.Label() != "A concurrency=8 prefix.state=warm" || s.Streams() || s.IgnoresEOS() || s.APIFor(target) != "chat" {
		t.Errorf("%s %t %t %s", s.Label(), s.Streams(), s.IgnoresEOS(), s.APIFor(target))
	}
	plain := sound()
	if got := APIs([]Spec{s, plain, s}, target); !slices.Equal(got, []string{"chat", "completions"}) {
		t.Errorf("APIs %v", got)
	}
	if d, known := plain.ExpectedDuration(); !known || d.Seconds() < 1 || d.Seconds() > 3 {
		t.Errorf("ten requests at five a second take %v, %t", d, known)
	}
}
