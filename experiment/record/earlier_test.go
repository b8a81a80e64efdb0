package record

import (
	"encoding/json"
	"slices"
	"testing"
)

// A row from before findings had a severity: notes apart, few_samples, no severities.
func TestRowOfAnEarlierVersion(t *testing.T) {
	text := `{"id": "A-r1", "summary": {"requests": {"planned": 1000, "unfinished": 3}, "tokens": {"estimated": true}},
		"findings": [{"code": "client_cpu", "text": "CPU steal 9 %", "hint": "h"}, {"code": "heterogeneous"}, {"code": "few_samples"},
			{"code": "prefix_cache"}, {"code": "token_counts"}, {"code": "unfinished"}, {"code": "errors"}],
		"checks": {"passed": ["warmup"], "failed": ["client_cpu", "heterogeneous", "few_samples", "token_counts", "unfinished", "errors"], "not_possible": [], "unverified": ["prefix_cache"]},
		"notes": [{"code": "closed_loop", "text": "t"}]}`
	var r Row
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	for severity, want := range map[Severity][]string{
		Invalid: {"errors"}, Caution: {"client_cpu", "prefix_cache", "token_counts"}, Note: {"heterogeneous", "unfinished", "closed_loop"},
	} {
		if got := r.Codes(severity); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", severity, got, want)
		}
	}
	if r.ID != "A-r1" || r.Valid() || r.Findings[0].Code != "errors" || slices.Contains(r.Checks.Failed, "few_samples") {
		t.Errorf("%+v", r)
	}
	b, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	var again Row
	if err := json.Unmarshal(b, &again); err != nil || len(again.Findings) != len(r.Findings) || again.Valid() {
		t.Errorf("%v: %+v", err, again.Findings)
	}
}

func TestTouchedMetric(t *testing.T) {
	for key, want := range map[string]string{
		"ttft_p95": "ttft", "ttft_from_send_p999": "ttft_from_send", "e2e_mean": "e2e", "error_rate": "error_rate",
		"min_requests_per_s": "requests_per_s", "min_output_tokens_per_s_per_gpu": "output_tokens_per_s", "usd_per_million_output_tokens": "output_tokens_per_s",
	} {
		if got := TouchedMetric(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}
