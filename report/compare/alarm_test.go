package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// simulatedNights draws series of nights.
type simulatedNights struct {
	name string
	next func(r *rand.Rand, previous float64) float64
	most float64 // largest share of nights with a false alarm, in 10,000; 0 = the stated risk does not hold
}

var kindsOfNights = []simulatedNights{
	{"normal", func(r *rand.Rand, _ float64) float64 { return r.NormFloat64() }, 30},
	{"Student t(5)", func(r *rand.Rand, _ float64) float64 { return student(r, 5) }, 30},
	{"Student t(3)", func(r *rand.Rand, _ float64) float64 { return student(r, 3) }, 30},
	{"exponential", func(r *rand.Rand, _ float64) float64 { return r.ExpFloat64() }, 30},
	{"5 % with five times the sd", func(r *rand.Rand, _ float64) float64 {
		if r.Float64() < 0.05 {
			return 5 * r.NormFloat64()
		}
		return r.NormFloat64()
	}, 60},
	{"5 % worse by 6 sd", func(r *rand.Rand, _ float64) float64 {
		if r.Float64() < 0.05 {
			return 6 + r.NormFloat64()
		}
		return r.NormFloat64()
	}, 0},
	{"AR(0.5)", func(r *rand.Rand, x float64) float64 { return 0.5*x + math.Sqrt(0.75)*r.NormFloat64() }, 0},
	{"AR(0.8)", func(r *rand.Rand, x float64) float64 { return 0.8*x + 0.6*r.NormFloat64() }, 0},
}

// student draws from Student's t.
func student(r *rand.Rand, df int) float64 {
	squares := 0.0
	for range df {
		z := r.NormFloat64()
		squares += z * z
	}
	return r.NormFloat64() / math.Sqrt(squares/float64(df))
}

// series is n nights with a standard deviation of about 2 %.
func (k simulatedNights) series(n int, r *rand.Rand) []float64 {
	out := make([]float64, n)
	x := r.NormFloat64()
	for i := range out {
		x = k.next(r, x)
		out[i] = 0.02 * x
	}
	return out
}

// Quiet nights raise an alarm no more often than stated, also with heavy tails.
func TestSimulationFalseAlarms(t *testing.T) {
	trials := 10_000
	if long() {
		trials = 200_000
	}
	for _, kind := range kindsOfNights {
		row := "| " + kind.name + " |"
		for _, n := range []int{leastNights, 20, baseline} {
			r := rand.New(rand.NewPCG(14, uint64(n)))
			alarms := 0
			for range trials {
				if _, ok := outlier(kind.series(n+mostInRow, r), alarmRisk); ok {
					alarms++
				}
			}
			row += fmt.Sprintf(" %.1f |", 1e4*float64(alarms)/float64(trials))
			most := kind.most / 1e4 * float64(trials)
			if kind.most > 0 && float64(alarms) > most+3.5*math.Sqrt(most) {
				t.Errorf("%s, %d nights: %d alarms in %d", kind.name, n, alarms, trials)
			}
		}
		t.Log(row)
	}
}

// A step raises an alarm within three nights, if it is large.
func TestSimulationAlarmsOfSteps(t *testing.T) {
	trials := 400
	if long() {
		trials = 10_000
	}
	for _, n := range []int{20, baseline} {
		for _, step := range []float64{2, 3, 5, 10, 20} {
			r := rand.New(rand.NewPCG(15, uint64(n)))
			var seen [mostInRow]int
			for range trials {
				values := kindsOfNights[0].series(n+mostInRow, r)
				for i := range mostInRow {
					values[n+i] += 0.02 * step
				}
				for i, found := 0, false; i < mostInRow; i++ {
					if _, ok := outlier(values[:n+i+1], alarmRisk); ok {
						found = true
					}
					if found {
						seen[i]++
					}
				}
			}
			percent := func(k int) float64 { return 100 * float64(k) / float64(trials) }
			t.Logf("| %d nights, %g sd | %.0f %% | %.0f %% | %.0f %% |", n, step, percent(seen[0]), percent(seen[1]), percent(seen[2]))
			if n == baseline && step >= 5 && seen[2] < trials*9/10 {
				t.Errorf("a step of %g sd: %d of %d", step, seen[2], trials)
			}
		}
	}
}
