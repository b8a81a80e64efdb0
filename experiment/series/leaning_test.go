package series

import (
	"math"
	"testing"

	"bench/experiment/stats"
)

func TestLeansUpTo(t *testing.T) {
	within, beyond, unknown := stats.Probe{Load: 4, Log: -0.5}, stats.Probe{Load: 8, Log: 0.1}, stats.Probe{Load: 2, Log: math.NaN()}
	for _, tt := range []struct {
		probes      []stats.Probe
		want, below float64
	}{
		{nil, 0, 0},
		{[]stats.Probe{within, {Load: 6, Log: -0.1}}, 6, 6},
		{[]stats.Probe{within, beyond}, 0, 4},
		{[]stats.Probe{within, unknown}, 0, 4},
		{[]stats.Probe{beyond, {Load: 9, Log: -0.1}, unknown}, 0, 0},
	} {
		if got, _ := stats.Leaning(tt.probes); got != tt.below {
			t.Errorf("%v: within up to %v, want %v", tt.probes, got, tt.below)
		}
		if got := leansUpTo(tt.probes, 0); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.probes, got, tt.want)
		}
	}
}
