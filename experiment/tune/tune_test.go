package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// exact is a server whose goal is a function of its values, without noise; NaN = it does not start.
func exact(s *Space, goal func(values []int) float64) func(Action) Trial {
	return func(a Action) Trial {
		t := Trial{Setting: a.Setting, Round: a.Round, Cost: 100, Log: goal(s.Values(a.Setting)), Error: 0.02}
		switch {
		case math.IsNaN(t.Log):
			t.Failed, t.Cost, t.Error = "out of memory", 10, 0
		case t.Log < a.Beat-0.1:
			t.Out, t.Bound, t.Error, t.Cost = true, a.Beat, 0.15, 30
		}
		return t
	}
}

func raced(s *Space, run func(Action) Trial) (r *Race, path string) {
	r = New(*s)
	var b strings.Builder
	for a := r.Next(); a.Done == ""; a = r.Next() {
		b.WriteString(fmt.Sprint(s.Values(a.Setting), map[bool]string{true: " confirm"}[a.Round > 0], "; "))
		r.Add(run(a))
	}
	return r, b.String()
}

// One knob after the other keeps its best value; the confirmation alternates.
func TestOrderOne(t *testing.T) {
	s := &Space{Knobs: []int{3, 2}, Order: One}
	r, path := raced(s, exact(s, func(v []int) float64 { return []float64{0, 0.3, 0.2}[v[0]] + 0.2*float64(v[1]) }))
	if want := "[0 0]; [1 0]; [2 0]; [1 1]; [0 0] confirm; [1 1] confirm; [1 1] confirm; [0 0] confirm; "; path != want {
		t.Error(path)
	}
	c := r.Certify()
	if math.Abs(c.Ratio-0.5) > 1e-9 || !c.Confirmed || math.Abs(c.RatioSD-0.02) > 1e-9 || c.Best != 3 || r.Next().Done != Certified {
		t.Errorf("%+v", c)
	}
}

// A race that is repeated from its trials comes to the same decisions, at any point.
func TestRepeated(t *testing.T) {
	s := drawServer(9)
	whole, _ := s.race(9)
	again := New(whole.space)
	for i, x := range whole.trials {
		if a := again.Next(); a.Setting != x.Setting || a.Round != x.Round {
			t.Fatalf("trial %d: %+v", i, a)
		}
		again.Add(x)
	}
	if !reflect.DeepEqual(whole.Certify(), again.Certify()) || !reflect.DeepEqual(whole.audits, again.audits) {
		t.Errorf("%+v, then %+v", whole.Certify(), again.Certify())
	}
}

// A default that does not run is no reason to stop; without any there is no best setting.
func TestDefaultDoesNotRun(t *testing.T) {
	s := &Space{Knobs: []int{2, 2}, Order: All}
	bad := func(v []int) float64 {
		if v[0] == 0 {
			return math.NaN()
		}
		return float64(v[1])
	}
	r, path := raced(s, exact(s, bad))
	if c := r.Certify(); c.Best != 3 || c.RatioSD != 0 || !c.Confirmed || r.Standing(0).State != Infeasible {
		t.Errorf("%s %+v", path, c)
	}
	r, _ = raced(s, exact(s, func([]int) float64 { return math.NaN() }))
	if r.Next().Done != NothingRuns || r.Certify().Best != -1 {
		t.Errorf("%+v", r.Next())
	}
}

// A budget keeps room for the confirmation; where it has none, the best is not confirmed.
func TestBudget(t *testing.T) {
	s := &Space{Knobs: []int{10}, Order: One, Budget: 1000}
	r, _ := raced(s, exact(s, func(v []int) float64 { return 0.05 * float64(v[0]) }))
	if c := r.Certify(); !c.Confirmed || r.Spent() != 1000 || r.Standing(9).State != NotRun || r.Next().Done != BudgetSpent {
		t.Errorf("%+v after %v s", c, r.Spent())
	}
	s.Budget = 250
	r, _ = raced(s, exact(s, func(v []int) float64 { return 0.05 * float64(v[0]) }))
	if c := r.Certify(); c.Confirmed || r.Next().Done != BudgetSpent {
		t.Errorf("%+v after %v s", c, r.Spent())
	}
}

// Main effects that are large leave most of a space to prediction, and an audit beyond its bound ends that.
func TestPrediction(t *testing.T) {
	s := &Space{Knobs: []int{6, 5, 3}, Order: All, Seed: 3}
	steep := func(v []int) float64 { return 0.4*float64(v[0]) + 0.3*float64(v[1]) + 0.2*float64(v[2]) }
	r, _ := raced(s, exact(s, steep))
	if c := r.Certify(); c.Best != 89 || len(r.predicted) < 30 || len(r.audits)*4 < len(r.predicted) || r.Distrusts() {
		t.Errorf("%+v, %d predicted, %d audited", c, len(r.predicted), len(r.audits))
	}
	// The first audit is far better than its knobs say.
	first := 0
	for _, x := range r.trials {
		if r.audits[x.Setting] {
			first = x.Setting
			break
		}
	}
	r, _ = raced(s, exact(s, func(v []int) float64 {
		if reflect.DeepEqual(v, s.Values(first)) {
			return 5
		}
		return steep(v)
	}))
	if c := r.Certify(); c.Best != first || !r.Distrusts() || len(r.predicted) > 0 {
		t.Errorf("%+v, distrusted: %v, %d predicted", c, r.Distrusts(), len(r.predicted))
	}
}

// Two knobs that do together what their sum does not are named, others are not.
func TestInteractions(t *testing.T) {
	s := &Space{Knobs: []int{3, 3, 3}, Order: All}
	rng := rand.New(rand.NewPCG(1, 1))
	r := New(*s)
	for i := range s.Size() {
		v := s.Values(i)
		x := 0.2*float64(v[0]) - 0.1*float64(v[1]) + 0.1*float64(v[2]) + 0.02*rng.NormFloat64()
		if v[0] == 2 && v[2] == 2 {
			x += 0.3
		}
		r.trials = append(r.trials, Trial{Setting: i, Log: x, Error: 0.02})
	}
	if pair, seen := r.Interaction(); !seen || pair != [2]int{0, 2} {
		t.Error(pair, seen)
	}
}

// At a fixed load nothing is raced out: an audit that is as far below as predicted is no reason to distrust.
func TestPredictionAtFixedLoad(t *testing.T) {
	s := &Space{Knobs: []int{4, 4, 4}, Order: All, Seed: 3}
	r, _ := raced(s, func(a Action) Trial {
		v := s.Values(a.Setting)
		return Trial{Setting: a.Setting, Round: a.Round, Cost: 100, Error: 0.02,
			Log: 0.4*float64(v[0]) + 0.3*float64(v[1]) + 0.2*float64(v[2])}
	})
	if c := r.Certify(); c.Best != 63 || r.Distrusts() || len(r.audits) < 2 || len(r.predicted) < 20 {
		t.Errorf("%+v, %d predicted, %d audited", c, len(r.predicted), len(r.audits))
	}
}

// Two settings that pass at the greatest load that is tried: nothing bounds the other one. One alone is at least that.
func TestAbove(t *testing.T) {
	for most, want := range map[float64]bool{0.55: true, 0.65: false} { // how many carry it; unbounded
		s := &Space{Knobs: []int{8}, Order: All}
		r, _ := raced(s, func(a Action) Trial {
			t := Trial{Setting: a.Setting, Round: a.Round, Cost: 100, Log: 0.1 * float64(a.Setting), Error: 0.02}
			if t.Log >= most {
				t.Log, t.Above = most, true
			}
			return t
		})
		if c := r.Certify(); math.IsInf(c.Excess, 1) != want || !c.Above || !c.Confirmed || len(r.predicted) > 0 {
			t.Errorf("%v: %+v", most, c)
		}
	}
	// The default alone as well: a ratio over it would be too high.
	r := New(Space{Knobs: []int{2}, Order: All})
	for _, x := range []Trial{{Log: 0.9}, {Setting: 1, Log: 1, Above: true}, {Round: 1, Log: 1, Above: true},
		{Setting: 1, Round: 1, Log: 1, Above: true}, {Setting: 1, Round: 2, Log: 1, Above: true}, {Round: 2, Log: 0.9}} {
		x.Error = 0.02
		r.Add(x)
	}
	if c := r.Certify(); c.Confirmed || c.RatioSD != 0 || !c.Above {
		t.Errorf("%+v", c)
	}
}
