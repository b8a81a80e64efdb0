package compare

import (
	"math/rand/v2"
	"testing"
)

// A level that moves a little every night is a drift, and one that moved once is a change.
func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	drifting, stepping := 0, 0
	const trials = 50
	for range trials {
		slope, step := make([]float64, 90), make([]float64, 90)
		for i := range slope {
			slope[i], step[i] = 10*(1+0.001*float64(i)+0.005*r.NormFloat64()), 10*(1+0.005*r.NormFloat64())
			if i >= 60 {
				step[i] *= 1.03
			}
		}
		if x := historyOfValues(slope); x.Drift != nil && x.Drift.Worse && len(x.Changes) == 0 && x.Alarm != nil && x.Alarm.PerNight > 5e-4 {
			drifting++
		}
		if x := historyOfValues(step); x.Drift == nil && len(x.Changes) == 1 {
			stepping++
		}
	}
	if drifting < trials*9/10 || stepping < trials*9/10 {
		t.Errorf("of %d drifts %d are drifts, of as many steps %d are changes", trials, drifting, stepping)
	}
}

func historyOfValues(values []float64) *Trend {
	var all []Night
	for i, x := range values {
		all = append(all, night(i, x, "0.11"))
	}
	return &NewHistory(all).Groups[0].Trends[0]
}
