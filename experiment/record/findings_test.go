package record

import "testing"

func TestTouchedMetric(t *testing.T) {
	for key, want := range map[string]string{
		"ttft_p95": "ttft", "ttft_from_send_p999": "ttft_from_send", "e2e_mean": "e2e", "error_rate": "error_rate",
		"min_requests_per_s": "requests_per_s", "min_output_tokens_per_s_per_gpu": "output_tokens_per_s",
		"usd_per_million_output_tokens": "output_tokens_per_s",
	} {
		if got := TouchedMetric(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}
