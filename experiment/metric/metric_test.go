package metric

import (
	"math"
	"slices"
	"testing"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		key, name string
		stat      Stat
		words     string
	}{
		{"ttft_p95", TTFT, "p95", "TTFT p95"},
		{"e2e_from_send_p999", E2EFromSend, "p999", "E2E from send p999"},
		{"e2e_per_token_p90", E2EPerToken, P90, "E2E per token p90"},
		{"session_time_mean", SessionTime, "mean", "session time mean"},
		{"min_output_tokens_per_s_per_gpu", OutputTokensPerSPerGPU, "", "output tok/s/GPU"},
		{"error_rate", ErrorRate, "", "error rate"},
		{"ttft_p97", "ttft_p97", "", "ttft p97"}, // no statistic of ours
		{"_p95", "_p95", "", "p95"},
	} {
		if name, stat := Cut(tt.key); name != tt.name || stat != tt.stat {
			t.Errorf("%s: %q, %q", tt.key, name, stat)
		}
		if got := Words(tt.key); got != tt.words {
			t.Errorf("%s: %q, want %q", tt.key, got, tt.words)
		}
	}
}

func TestP(t *testing.T) {
	for stat, want := range map[Stat]float64{"p50": 0.5, "p95": 0.95, "p999": 0.999} {
		if p, ok := stat.P(); !ok || math.Abs(p-want) > 1e-12 {
			t.Errorf("%s: %v, %v", stat, p, ok)
		}
	}
	for _, stat := range []Stat{"mean", "", "max", "px"} {
		if p, ok := stat.P(); ok {
			t.Errorf("%q: %v", stat, p)
		}
	}
}

// What code asks of the table holds for each of its metrics.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for i, m := range All {
		if seen[m.Name] || m.Words == "" || m.Unit == "" || Order(m.Name) != i {
			t.Errorf("%+v is twice in the table, or incomplete", m)
		}
		seen[m.Name] = true
		if m.Of == Requests && m.Unit != "ms" || m.Limited && m.Of != Window || m.Streamed && m.Of != Requests {
			t.Errorf("%+v contradicts itself", m)
		}
		if name, stat := Cut(m.Key()); name != m.Name || stat != "" {
			t.Errorf("the key of %s is %s", m.Name, m.Key())
		}
	}
	for _, name := range Shown {
		if !IsLatency(name) {
			t.Error(name, "is no latency")
		}
	}
	if got := Names(func(m Metric) bool { return m.OfOne }); !slices.Equal(got, []string{TTFT, TTFO, TPOT, E2E}) {
		t.Error(got)
	}
}
