package series

import (
	"math"
	"testing"

	"bench/experiment/stats"
)

func TestLeansUpTo(t *testing.T) {
	within, beyond, unknown := stats.Probe{Load: 4, Log: -0.5}, stats.Probe{Load: 8, Log: 0.1}, stats.Probe{Load: 2, Log: math.NaN()}
	for _, tt := range []struct {
		probes []stats.Probe
		want   float64
	}{
		{nil, 0},
		{[]stats.Probe{within, {Load: 6, Log: -0.1}}, 6},
		{[]stats.Probe{within, beyond}, 0},
		{[]stats.Probe{within, unknown}, 0},
	} {
		if got := leansUpTo(tt.probes); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.probes, got, tt.want)
		}
	}
}
