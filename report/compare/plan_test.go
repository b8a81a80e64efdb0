package compare

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bench/experiment"
)

// planned runs have a night-to-night spread, and two repeats each.
func plannedRuns(n int, sd float64, r *rand.Rand) []Run {
	var runs []Run
	for i := range n {
		shift := math.Exp(sd * r.NormFloat64())
		run := Run{Name: string(rune('a' + i)), Manifest: manifest()}
		run.Manifest.StartedAt = time.Unix(0, 0).AddDate(0, 0, i)
		for repeat := range 2 {
			row, _ := quiet.repeat("A", repeat+1, shift, r)
			run.Rows = append(run.Rows, row)
		}
		runs = append(runs, run)
	}
	return runs
}

func gatePlan(t *testing.T, runs []Run, thresholds ...string) *Plan {
	t.Helper()
	var g experiment.Gate
	for i := 0; i < len(thresholds); i += 2 {
		x, problem, _ := experiment.ParseThreshold(thresholds[i], thresholds[i+1])
		if problem != "" {
			t.Fatal(problem)
		}
		g.Thresholds = append(g.Thresholds, x)
	}
	last := len(runs) - 1
	base := max(0, last-5)
	return NewPlan(runs[last], &Base{Runs: runs[base:last], Earlier: runs[:base]}, g)
}

// A large threshold is decided, one below the noise of the nights is not, whatever the recipe; what is needed
// decides, and so does the smallest threshold.
func TestPlan(t *testing.T) {
	runs := plannedRuns(24, 0.02, rand.New(rand.NewPCG(22, 1)))
	p := gatePlan(t, runs, "e2e_p50", "+30%", "tpot_p50", "+3%")
	if len(p.Figures) != 2 || p.Runs != 24 {
		t.Fatalf("%+v", p)
	}
	wide, narrow := p.Figures[0], p.Figures[1]
	if !wide.Decides || wide.Needs == nil || wide.Quiet < 0.9 {
		t.Errorf("30 %% is not decided: %+v", wide)
	}
	if narrow.Decides || narrow.Needs != nil || narrow.NightSD < 0.01 || narrow.NightSD > 0.03 {
		t.Errorf("3 %% is decided at a spread of 2 %%: %+v", narrow)
	}
	if narrow.Least < 0.05 || !narrow.decides(narrow.Present, narrow.Least) ||
		narrow.decides(narrow.Present, 0.9*narrow.Least) {
		t.Errorf("the smallest threshold is %v", narrow.Least)
	}
	if p.Recipe == nil || !wide.decides(*p.Recipe, 0.3) {
		t.Errorf("the recipe is %+v", p.Recipe)
	}
}

// Few runs show no spread; a throughput gets worse downwards.
func TestPlanOfLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 2))
	if p := gatePlan(t, plannedRuns(3, 0.01, r), "tpot_p50", "+3%"); len(p.Figures) != 1 ||
		p.Figures[0].Why == "" || p.Recipe != nil {
		t.Errorf("three runs: %+v", p)
	}
	x := PlannedFigure{Metric: "output_tokens_per_s", figure: newFigure("output_tokens_per_s")}
	if d := x.distance(0.5); math.Abs(d-math.Log(2)) > 1e-12 {
		t.Errorf("half the throughput is a distance of %v", d)
	}
}
