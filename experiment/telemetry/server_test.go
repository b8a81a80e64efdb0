package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Hit rates by tier are differences over the window, by the prompt tokens that were looked up.
func TestTierRates(t *testing.T) {
	reading := func(s int64, queries, gpu, external float64) Sample {
		return Sample{Source: SourceServer, TUs: s * 1e6, Server: &ServerReading{Engine: "vllm", PrefixQueries: &queries, PrefixHits: &gpu,
			Tiers: TierHits{GPU: &gpu, External: &external}}}
	}
	samples := []Sample{reading(0, 1000, 50, 0), reading(1, 2000, 60, 100), reading(2, 4000, 80, 1900)}
	u := SummarizeServer(Source{Name: "m"}, samples, 1e6, 2e6)
	if diff := cmp.Diff([]*float64{new(0.01), nil, nil, nil, new(0.9)}, u.TierRates()); diff != "" {
		t.Error(diff)
	}
	single := Sample{Source: SourceServer, TUs: 1e6, Server: &ServerReading{Engine: "vllm", PrefixQueries: new(10.0), PrefixHits: new(5.0)}}
	for name, u := range map[string]*ServerUsage{"no metrics": nil, "one tier": SummarizeServer(Source{}, []Sample{single}, 0, 2e6)} {
		if rates := u.TierRates(); rates != nil {
			t.Errorf("%s: %v", name, rates)
		}
	}
	if n := len((&TierHits{}).List()); n != len(TierNames) {
		t.Errorf("%d tiers have %d names", n, len(TierNames))
	}
}
