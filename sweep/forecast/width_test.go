package forecast

import (
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/workload"
)

// 18/√requests is 18 % for 10,000 requests.
func TestWidth(t *testing.T) {
	for _, tt := range []struct {
		name   string
		search experiment.Search
		want   string
	}{
		{"default budget", experiment.Search{Goal: "slo", Axis: "rate", Min: 1, Max: 64},
			"chat: within 20m 00s the answer is about 18 % wide if it is near saturation at 8/s; for 5 % write budget = \"4h30m0s\""},
		{"short budget", experiment.Search{Goal: "slo", Axis: "rate", Min: 1, Max: 64, Budget: workload.Span(10 * time.Second)},
			"chat: within 10s the answer is about 100 % wide if it is near saturation at 8/s; for 5 % write budget = \"4h30m0s\""},
		{"enough", experiment.Search{Goal: "slo", Axis: "rate", Min: 100, Max: 200}, ""},
		{"concurrency", experiment.Search{Goal: "slo", Axis: "concurrency", Min: 1, Max: 64}, ""},
		{"saturation", experiment.Search{Goal: "saturation", Axis: "rate", Min: 1, Max: 64}, ""},
	} {
		tt.search.Tolerance = 0.05
		if got := widthText(&experiment.Spec{Name: "chat", Search: &tt.search}); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if got := widthText(&experiment.Spec{Name: "chat"}); got != "" {
		t.Errorf("no search: %s", got)
	}
}
