package series

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// long reports whether simulations run in full (BENCH_LONG=1), as the tables of benchmarks/statistics.md have them.
func long() bool { return os.Getenv("BENCH_LONG") != "" }

// simulatedCurve is a true throughput over the load.
type simulatedCurve struct {
	name string
	at   func(load float64) float64
}

var curves = []simulatedCurve{
	{"flat", func(float64) float64 { return 100 }},
	{"linear", func(x float64) float64 { return x }},
	{"hockey stick at 20", func(x float64) float64 { return min(x, 20) }},
	{"hockey stick at 32", func(x float64) float64 { return min(x, 32) }},
	{"Amdahl, 5 % serial", func(x float64) float64 { return x / (1 + 0.05*(x-1)) }},
	{"USL, peak at 70", func(x float64) float64 { return x / (1 + 0.02*(x-1) + 0.0002*x*(x-1)) }},
	{"collapse after 48", func(x float64) float64 { return min(x, max(48-0.4*(x-48), 5)) }},
}

var grids = []struct {
	name  string
	loads []float64
}{
	{"1, 2, 4 … 64", doublings(7)}, {"1, 2, 4 … 128", doublings(8)},
	{"5 even", even(5)}, {"6 even", even(6)}, {"8 even", even(8)}, {"12 even", even(12)},
}

func doublings(n int) (loads []float64) {
	for i := range n {
		loads = append(loads, math.Pow(2, float64(i)))
	}
	return loads
}

// even loads up to 96.
func even(n int) (loads []float64) {
	for i := range n {
		loads = append(loads, math.Round(96*float64(i+1)/float64(n)))
	}
	return loads
}

// noisyCurve is a closed-loop series whose runs differ from the truth by lognormal noise.
func noisyCurve(loads []float64, truth func(float64) float64, noise float64, repeats int, rng *rand.Rand) *Series {
	s := &Series{Axis: "concurrency", Closed: true}
	for _, x := range loads {
		rows := make([]*record.Row, repeats)
		for i := range rows {
			rows[i] = &record.Row{}
			rows[i].Spec.Concurrency = int(x)
			rows[i].Summary.Throughput.OutputTokensPerS = truth(x) * math.Exp(noise*rng.NormFloat64())
		}
		s.Points = append(s.Points, pointOf(s.Axis, rows))
	}
	return s
}

// kneeCounts are the results of simulated series.
type kneeCounts struct{ trials, kneedle, knee, missed, saturated int }

// simulateKnees counts the series with a knee by Kneedle alone, with a reported knee, with Kneedle's true
// knee refused, and with a saturation.
func simulateKnees(loads []float64, truth func(float64) float64, noise float64, repeats, trials int) kneeCounts {
	kneedle := func(s *Series) int {
		var output []float64
		for i := range s.Points {
			output = append(output, s.Points[i].OutputTokensPerS.Median)
		}
		if i, ok := stats.Knee(loads, output, 1); ok {
			return i
		}
		return -1
	}
	rng := rand.New(rand.NewPCG(uint64(repeats), math.Float64bits(noise)))
	want := kneedle(noisyCurve(loads, truth, 0, 1, rng))
	n := kneeCounts{trials: trials}
	for range trials {
		s := noisyCurve(loads, truth, noise, repeats, rng)
		alone, reported := kneedle(s), s.findKnee().Point
		if alone >= 0 {
			n.kneedle++
		}
		if reported != nil {
			n.knee++
		} else if alone == want && want >= 0 {
			n.missed++
		}
		if s.findSaturation().Point != nil {
			n.saturated++
		}
	}
	return n
}

// A flat or straight noisy series seldom has a knee, and a straight one is seldom saturated; eight doublings
// keep the knees of clear bends. It logs the rows of the table in benchmarks/statistics.md.
func TestSimulationKnees(t *testing.T) {
	trials := 50
	if long() {
		trials = 4000
	}
	for _, grid := range grids {
		for _, c := range curves {
			if !long() && grid.name != "1, 2, 4 … 128" && c.name != "flat" && c.name != "linear" {
				continue
			}
			for _, repeats := range []int{1, 3} {
				row := fmt.Sprintf("| %s | %s | %d |", grid.name, c.name, repeats)
				for _, noise := range []float64{0.01, 0.03, 0.05, 0.1} {
					n := simulateKnees(grid.loads, c.at, noise, repeats, trials)
					row += fmt.Sprintf(" %s → %s, refused %s, saturated %s |", n.share(n.kneedle), n.share(n.knee), n.share(n.missed), n.share(n.saturated))
					c.check(t, grid.name, noise, n)
				}
				t.Log(row)
			}
		}
	}
}

func (n kneeCounts) share(k int) string { return fmt.Sprintf("%.1f", 100*float64(k)/float64(n.trials)) }

func (c simulatedCurve) check(t *testing.T, grid string, noise float64, n kneeCounts) {
	slack := 3 * math.Sqrt(0.05*0.95*float64(n.trials))
	switch wrong := 0.05 * float64(n.trials); {
	case c.name == "flat" && float64(n.knee) > wrong+slack,
		c.name == "linear" && float64(n.knee) > 1.6*wrong+slack, // noise in proportion to the gain is no normal noise
		c.name == "linear" && noise <= 0.05 && float64(n.saturated) > wrong+slack,
		c.name != "flat" && c.name != "linear" && grid == "1, 2, 4 … 128" && float64(n.missed) > wrong:
		t.Errorf("%s, %s, noise %v: %+v", grid, c.name, noise, n)
	}
}
