package stats

import (
	"cmp"
	"encoding/csv"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The simulations behind benchmarks/statistics.md. A sample of them runs with the other tests; all of them, by
// make simulate, write testdata/verdicts.csv.
var (
	simulateAll = flag.Bool("simulate", false, "run the whole simulations and write their tables")
	// The rules were chosen by the servers of seeds 1 and 2; seed 3 draws others, which the table has.
	simulateSeed = flag.Uint64("seed", 2, "seed of the processes, and of which servers are drawn")
)

const heldOut = 3

// cell is one process, number of requests and percentile: shares of the windows.
type cell struct {
	process    *latencyProcess
	n          int
	p          float64
	falsePass  float64 // limit at the true percentile
	falseFail  float64
	covered    float64 // the 95 % interval covers it, or the end that misses it is open
	pass, fail float64 // right, at 1.5 times the true percentile and below it by that factor
	passFar    float64 // right, at twice the true percentile
	oraclePass float64 // pass by the binomial at the true effective number
}

var simulatedPercentiles = []float64{0.5, 0.95, 0.99}

func (s *latencyProcess) simulate(n, trials int) []cell {
	cells := make([]cell, len(simulatedPercentiles))
	count := func(to *float64, yes bool) {
		if yes {
			*to += 1 / float64(trials)
		}
	}
	for k := range trials {
		from := k * (len(s.values) - n) / max(1, trials-1)
		x := s.values[from : from+n]
		in := NewInOrder(x)
		in.Bounded, in.InFlight = s.kind.bounded(), s.inFlight
		for i, p := range simulatedPercentiles {
			c, truth := &cells[i], s.quantile(p)
			c.process, c.n, c.p = s, n, p
			verdict := func(limit float64) Verdict {
				if !in.Bounded && (Overloaded(x, limit, p) || FarOver(x, limit, p)) {
					return Fail
				}
				return in.Verdict(limit, p, 0.95).Verdict
			}
			count(&c.falsePass, verdict(truth*(1-1e-9)) == Pass)
			count(&c.falseFail, verdict(truth*(1+1e-9)) == Fail)
			count(&c.pass, verdict(1.5*truth) == Pass)
			count(&c.passFar, verdict(2*truth) == Pass)
			count(&c.fail, verdict(truth/1.5) == Fail)
			worth := func(k float64) float64 { return k / s.time(p) }
			over := in.Over(1.5*truth) * float64(n)
			count(&c.oraclePass, atLeastShare(worth(float64(n)-over), worth(float64(n)), p) <= 0.025)
			iv := in.Interval(p, 0.95)
			count(&c.covered, iv.Lo <= truth*(1+1e-9) && truth*(1-1e-9) <= iv.Hi)
		}
	}
	return cells
}

func simulateCells(processes []*latencyProcess, sizes []int, trials int) (cells []cell) {
	var mu sync.Mutex
	var group sync.WaitGroup
	free := make(chan bool, 2)
	for _, s := range processes {
		group.Go(func() {
			free <- true
			defer func() { <-free }()
			for _, n := range sizes {
				out := s.simulate(n, min(trials, len(s.values)/n))
				mu.Lock()
				cells = append(cells, out...)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.SortStableFunc(cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.process.kind, b.process.kind), cmp.Compare(a.process.name, b.process.name), cmp.Compare(a.n, b.n))
	})
	return cells
}

// A sample of the table: no process is passed or failed wrongly more often than benchmarks/statistics.md has it, and the
// limits that anybody would decide are decided.
func TestVerdictsOfProcesses(t *testing.T) {
	simulation(t)
	trials, length, sizes := 50, 60_000, []int{300, 1000}
	if *simulateAll {
		trials, length, sizes = 400, 1_200_000, []int{300, 1000, 3000}
	}
	cells := simulateCells(latencyProcesses(*simulateSeed, length, *simulateAll), sizes, trials)
	sum, n, over, power := 0.0, 0.0, 0.0, map[kind][]float64{}
	for _, c := range cells {
		if c.process.kind == blind {
			continue
		}
		most := 0.05
		if c.n < 1000 {
			most = 0.08
		}
		wrong, noise := max(c.falsePass, c.falseFail), 3*math.Sqrt(most/float64(trials))
		sum, n = sum+(c.falsePass+c.falseFail)/2, n+1
		if wrong > most {
			over++
			t.Logf("%s, n=%d, p=%v: false PASS %.1f %%, false FAIL %.1f %%", c.process.name, c.n, c.p, 100*c.falsePass, 100*c.falseFail)
		}
		if wrong > 0.18+noise {
			t.Errorf("%s, n=%d, p=%v: false PASS %.1f %%, false FAIL %.1f %%", c.process.name, c.n, c.p, 100*c.falsePass, 100*c.falseFail)
		}
		if c.n == 1000 && c.p == 0.95 && !strings.HasPrefix(c.process.name, "AR") {
			if min(c.pass, c.fail) < 0.9 && c.process.kind.bounded() {
				t.Logf("%s: %.0f %% pass, %.0f %% fail", c.process.name, 100*c.pass, 100*c.fail)
			}
			power[c.process.kind] = append(power[c.process.kind], min(c.pass, c.fail))
		}
	}
	t.Logf("false verdicts %.1f %% on average; more than 5 %% (8 %% of 300 requests) in %.0f of %.0f cells", 100*sum/n, over, n)
	for i, c := range cells[:len(cells)-len(simulatedPercentiles)] { // a longer window of the same kind loses no PASS
		next := cells[i+len(simulatedPercentiles)]
		noise := 3 * math.Sqrt(0.25/float64(trials))
		if next.process == c.process && c.process.kind != blind && next.passFar < c.passFar-0.05-noise {
			t.Errorf("%s, p=%v: PASS at twice the true percentile in %.0f %% of windows of %d, %.0f %% of %d", c.process.name, c.p,
				100*c.passFar, c.n, 100*next.passFar, next.n)
		}
	}
	if over > 0.08*n {
		t.Errorf("false verdicts are more than 5 %% (8 %% of 300 requests) in %.0f of %.0f cells", over, n)
	}
	if sum/n > 0.02 {
		t.Errorf("verdicts at the true percentile are wrong in %.1f %%", 100*sum/n)
	}
	least := map[kind]float64{token: 0.95, closed: 0.9}
	if *simulateAll { // with a server on which 1,000 requests are 15 autocorrelation times
		least[token] = 0.8
	}
	for kind, least := range least {
		if x := slices.Min(power[kind]); x < least-3*math.Sqrt(0.1/float64(trials)) {
			t.Errorf("kind %s: decided at 1.5 times the true p95 in %.0f %%", kind, 100*x)
		}
	}
	if *simulateAll {
		writeCells(t, cells)
	}
}

func writeCells(t *testing.T, cells []cell) {
	name := "testdata/verdicts.csv"
	if *simulateSeed != heldOut {
		name = os.TempDir() + "/verdicts.csv"
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	w.Write([]string{"kind", "process", "requests", "percentile", "autocorrelation_times", "false_pass_pct", "false_fail_pct", "covered_or_open_pct",
		"right_pass_pct", "right_fail_pct", "right_pass_at_twice_pct", "oracle_pass_pct"})
	pct := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) }
	for _, c := range cells {
		w.Write([]string{string(c.process.kind), c.process.name, strconv.Itoa(c.n), strconv.FormatFloat(c.p, 'g', -1, 64),
			strconv.FormatFloat(float64(c.n)/c.process.time(c.p), 'f', 1, 64),
			pct(c.falsePass), pct(c.falseFail), pct(c.covered), pct(c.pass), pct(c.fail), pct(c.passFar), pct(c.oraclePass)})
	}
	w.Flush()
	if err := errors.Join(w.Error(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// trueTime is the autocorrelation time of exceeding a limit, from the variance of long batches.
func trueTime(values []float64, limit float64) float64 {
	const batches = 400
	over := make([]float64, len(values))
	share := 0.0
	for i, x := range values {
		if x > limit {
			over[i] = 1
			share += 1 / float64(len(values))
		}
	}
	means := blockMeans(over, batches)
	sum := 0.0
	for _, x := range means {
		sum += (x - share) * (x - share)
	}
	return max(1, sum/(batches-1)*float64(len(values)/batches)/(share*(1-share)))
}

func oneByOne(draw func(*rand.Rand) float64) func(int, *rand.Rand) []float64 {
	return func(n int, rng *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = draw(rng)
		}
		return out
	}
}
