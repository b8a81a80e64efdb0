package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
)

// tenantCase is a server with few slots and two tenants: gold asks for little, bulk for much.
type tenantCase struct {
	schedule   string
	slots      int
	gold, bulk [2]int  // input and output tokens
	goldRate   float64 // per second
	bulkRate   float64
	seconds    float64
	overloaded bool
}

func drawTenants(seed uint64) tenantCase {
	rng := rand.New(rand.NewPCG(seed, 46))
	between := func(a, b float64) float64 { return a * math.Pow(b/a, rng.Float64()) }
	c := tenantCase{schedule: []string{"fcfs", "round-robin", "vtc"}[seed%3], slots: int(between(3, 16)),
		gold: [2]int{int(between(20, 200)), int(between(4, 12))}, bulk: [2]int{int(between(50, 400)), int(between(8, 24))},
		overloaded: seed%2 == 1, seconds: 1}
	utilization := between(0.4, 0.8)
	if c.overloaded {
		utilization = between(1.2, 1.8)
	}
	share := between(0.05, 0.25) // of the work, gold's
	c.goldRate, c.bulkRate = utilization*share/c.work(c.gold), utilization*(1-share)/c.work(c.bulk)
	c.seconds = 200 / c.goldRate
	return c
}

const stepMs, seqMs, prefillMs = 4, 0.3, 0.01

// work is the time that a request keeps a full server busy, s.
func (c tenantCase) work(lengths [2]int) float64 {
	return (float64(lengths[1])*(stepMs/float64(c.slots)+seqMs) + float64(lengths[0])*prefillMs) / 1000
}

// run is a window of this length, in virtual time.
func (c tenantCase) run(t *testing.T, seconds float64, seed int) *record.Run {
	t.Helper()
	rate := c.goldRate + c.bulkRate
	m, p, err := planned(t, fmt.Sprintf(`name = "m"
[target]
model = "llama-3.1-8b"
[mock]
schedule = %q
max_num_seqs = %d
queue = 10000000
step_base = "%gms"
step_per_seq = "%gms"
step_per_prefill_token = "%gms"
[[row]]
name = "r"
seed = %d
isolate = true
rate = %g
arrival = "poisson"
warmup = "%.0fs"
duration = "%.0fs"
[[row.mix]]
name = "gold"
weight = %g
input = { dist = "uniform", min = %d, max = %d }
output = { dist = "uniform", min = %d, max = %d }
headers = { X-LLM-D-Inference-Fairness-Id = "gold" }
[[row.mix]]
name = "bulk"
weight = %g
input = { dist = "uniform", min = %d, max = %d }
output = { dist = "uniform", min = %d, max = %d }
headers = { x-llm-d-inference-fairness-id = "bulk" }
`, c.schedule, c.slots, float64(stepMs), seqMs, prefillMs, seed, rate, math.Min(seconds/5, 60), seconds,
		c.goldRate, c.gold[0]/2, c.gold[0]*3/2, c.gold[1]/2, c.gold[1]*3/2,
		c.bulkRate, c.bulk[0]/2, c.bulk[0]*3/2, c.bulk[1]/2, c.bulk[1]*3/2))
	if err != nil {
		t.Fatal(err)
	}
	m.Points = slices.DeleteFunc(m.Points, func(s experiment.Spec) bool { return s.Alone == "bulk" })
	run, err := p.Night(t.Context(), "n", fmt.Sprint("salt", seed), nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// tenantFigures are gold's figures, and Jain's index, with their intervals.
func tenantFigures(t *testing.T, run *record.Run) map[string]record.Bounded {
	t.Helper()
	out := map[string]record.Bounded{}
	s := run.Rows[0].Service
	if s == nil || s.Jain == nil || s.Classes[0].Class != "gold" {
		t.Fatalf("%+v", s)
	}
	out["tokens"], out["output"], out["jain"] = s.Classes[0].Tokens, s.Classes[0].Output, *s.Jain
	for _, x := range series.Interferences(run.Rows) {
		if x.Class == "gold" {
			out["slowdown "+x.Metric] = record.Bounded{Value: x.Ratio, CI95: x.CI95}
		}
	}
	return out
}

// A fair schedule protects gold beside a flood, and first come first served does not.
func TestTenants(t *testing.T) {
	c := tenantCase{slots: 8, gold: [2]int{60, 8}, bulk: [2]int{400, 24}, goldRate: 8, seconds: 12}
	c.bulkRate = 1.3 * (1 - c.goldRate*c.work(c.gold)) / c.work(c.bulk)
	for _, x := range []struct {
		schedule    string
		least, most float64
	}{{"fcfs", 100, 1e4}, {"vtc", 4, 12}} {
		c.schedule = x.schedule
		f := tenantFigures(t, c.run(t, c.seconds, 1))
		slowed, jain := f["slowdown ttft"], f["jain"]
		t.Logf("%-4s TTFT p95 × %.1f [%.1f, %.1f], Jain %.3f [%.3f, %.3f]", x.schedule, slowed.Value, slowed.CI95.Lo,
			slowed.CI95.Hi, jain.Value, jain.CI95.Lo, jain.CI95.Hi)
		if slowed.Value < x.least || slowed.Value > x.most || (jain.Value > 0.995) != (x.schedule == "vtc") {
			t.Errorf("want a factor of %v to %v", x.least, x.most)
		}
	}
}

// The intervals of a window contain what a window of thirty times its length, with other arrivals, has.
func TestTenantsTruth(t *testing.T) {
	if os.Getenv("BENCH_LONG") == "" {
		t.Skip("minutes: BENCH_LONG=1")
	}
	cases := 102
	if n, err := strconv.Atoi(os.Getenv("BENCH_LONG")); err == nil && n > 1 {
		cases = n
	}
	inside, all, unbounded := map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(cases) {
		c := drawTenants(seed)
		own, truth := tenantFigures(t, c.run(t, c.seconds, int(2*seed+1))), tenantFigures(t, c.run(t, 30*c.seconds, int(2*seed+2)))
		for name, x := range own {
			if c.overloaded && c.schedule == "fcfs" && (name == "slowdown ttft" || name == "slowdown e2e") {
				continue // the queue grows with the window
			}
			y := truth[name].Value
			name = map[bool]string{true: "overloaded ", false: ""}[c.overloaded] + name
			if math.IsInf(x.CI95.Hi, 0) || x.CI95.Lo == 0 {
				unbounded[name]++
				continue
			}
			all[name]++
			if x.CI95.Lo <= y && y <= x.CI95.Hi {
				inside[name]++
			} else {
				t.Logf("%3d %-11s %-24s %.4f [%.4f, %.4f], truth %.4f", seed, c.schedule, name, x.Value, x.CI95.Lo, x.CI95.Hi, y)
			}
		}
	}
	sum, n := 0, 0
	for name := range all {
		t.Logf("%-26s %3d of %3d, %d unbounded", name, inside[name], all[name], unbounded[name])
		sum, n = sum+inside[name], n+all[name]
	}
	t.Logf("%d of %d: %.1f %%", sum, n, 100*float64(sum)/float64(n))
	if float64(sum) < 0.93*float64(n) {
		t.Error("too few")
	}
}
