package bisect

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// history is a row of revisions with planted changes, on a machine that drifts.
type history struct {
	revisions int
	changes   map[int]float64 // first bad revision → ln of what it changes
	spread    float64         // of a run
	walk      float64         // sd of the drift's random walk in an hour
	trend     float64         // in an hour
	broken    float64         // share of revisions that cannot be built
	odd       float64         // share of runs with four times the spread
}

const build, run = 0.1, 1.0 / 15 // h: 6 and 4 minutes

type outcome struct {
	end          string
	belief       *Belief
	runs, builds int
}

func (h *history) level(revision int) (sum float64) {
	for at, log := range h.changes {
		if revision >= at {
			sum += log
		}
	}
	return sum
}

func (h *history) bisect(rng *rand.Rand) outcome {
	s := &Search{Revisions: h.revisions, Broken: map[int]bool{}}
	broken := map[int]bool{}
	for r := 1; r < h.revisions-1; r++ {
		broken[r] = rng.Float64() < h.broken
	}
	built := map[int]bool{}
	cost := func(r int) float64 {
		if built[r] {
			return run
		}
		return run + build
	}
	at, drift := 0.0, 0.0
	pass := func(time float64) {
		at += time
		drift += h.trend*time + h.walk*math.Sqrt(time)*rng.NormFloat64()
	}
	for {
		r, end := s.Next(at, cost)
		if end != "" {
			return outcome{end, s.Believe(), len(s.Seen), len(built)}
		}
		if !built[r] {
			pass(build)
			built[r] = true
		}
		if broken[r] {
			s.Broken[r] = true
			continue
		}
		noise := h.spread * rng.NormFloat64()
		if rng.Float64() < h.odd {
			noise *= 4
		}
		pass(run)
		s.Seen = append(s.Seen, Observation{r, at, 3 + h.level(r) + drift + noise})
	}
}

// right reports whether an answer names changes that were planted and no other.
func (h *history) right(o *outcome) bool {
	if o.end == Unchanged {
		return len(h.changes) == 0
	}
	for _, c := range o.belief.Named() {
		planted := false
		for r := c.First; r <= c.Last; r++ {
			planted = planted || h.changes[r] != 0
		}
		if !planted {
			return false
		}
	}
	return true
}

// oracle is how many runs one takes that knows the step, the spread, that there is one change and no drift, on a
// machine without any; known: also the level of good. It measures the revision whose outcome is least sure, whatever
// its build takes, and stops at the same confidence.
func (h *history) oracle(rng *rand.Rand, step float64, known bool) int {
	first := 0
	for first = range h.changes {
	}
	broken := make([]bool, h.revisions)
	for r := 1; r < h.revisions-1; r++ {
		broken[r] = rng.Float64() < h.broken
	}
	var at []int
	var seen []float64
	for {
		p, level := make([]float64, h.revisions), make([]float64, h.revisions) // by the first bad revision
		total := 0.0
		for k := 1; k < h.revisions; k++ {
			sum, squares := 0.0, 0.0
			for i, r := range at {
				x := seen[i]
				if r >= k {
					x -= step
				}
				sum, squares = sum+x, squares+x*x
			}
			if n := float64(len(at)); !known && n > 0 {
				level[k] = sum / n
				squares -= sum * sum / n
			}
			p[k] = math.Exp(-squares / 2 / h.spread / h.spread)
			total += p[k]
		}
		best, most, site, top := 0, -1.0, 0.0, 0.0
		for k := range p {
			p[k] /= total
		}
		for r := range p {
			if site += p[r]; broken[r] {
				continue
			}
			top, site = max(top, site), 0
			mean, square := 0.0, 0.0
			for k := 1; k < h.revisions; k++ {
				x := level[k]
				if r >= k {
					x += step
				}
				mean, square = mean+p[k]*x, square+p[k]*x*x
			}
			if v := square - mean*mean; v > most {
				best, most = r, v
			}
		}
		if top >= DefaultConfidence {
			return len(seen)
		}
		y := h.spread * rng.NormFloat64()
		if best >= first {
			y += step
		}
		at, seen = append(at, best), append(seen, y)
	}
}

// TestHistories plants a step of −5 % in 256 revisions, on a machine whose runs spread by 3 % and that drifts by up
// to 1 % an hour and by a random walk of 1 % in an hour; a run takes 4 minutes, a build 6. One revision in 20 cannot
// be built, one run in 30 has four times the spread. One history in ten has two changes, of which the answer has to
// name one or both and no other, and one has none. Those that end without an answer are neither right nor wrong.
func TestHistories(t *testing.T) {
	n := 20
	if os.Getenv("BENCH_LONG") != "" {
		n = 500
	}
	rng := rand.New(rand.NewPCG(1, 47))
	step := math.Log(0.95)
	answers, right, runs, oracle, sure, single := 0, 0, 0, 0, 0, 0
	kinds := map[string]int{}
	for i := range n {
		h := &history{revisions: 256, changes: map[int]float64{1 + rng.IntN(255): step}, spread: 0.03, walk: 0.01,
			trend: 0.01 * (2*rng.Float64() - 1), broken: 0.05, odd: 1.0 / 30}
		kind := "one"
		switch i % 10 {
		case 3:
			h.changes[1+rng.IntN(255)] += step
			kind = "two"
		case 7:
			h.changes = nil
			kind = "none"
		}
		o := h.bisect(rng)
		answered := o.end == Found || o.end == Unchanged
		ok := answered && h.right(&o)
		verdict := map[bool]string{true: " right", false: " wrong"}[ok]
		if !answered {
			verdict = ""
		}
		kinds[kind+" "+o.end+verdict]++
		if kind == "two" && o.end == Found && len(o.belief.Named()) == 2 {
			kinds["two of two"]++
		}
		if answered {
			answers++
			if ok {
				right++
			}
		}
		if kind == "one" {
			single++
			runs += o.runs
			oracle += h.oracle(rng, step, false)
			sure += h.oracle(rng, step, true)
		}
	}
	mean := func(n int) float64 { return float64(n) / float64(single) }
	t.Logf("%d histories: %d answers, %d right; one change: %.1f runs, oracle %.1f, with the level %.1f; %v", n,
		answers, right, mean(runs), mean(oracle), mean(sure), kinds)
	if float64(right) < 0.95*float64(answers)-1.5 { // of twenty, two wrong ones are luck
		t.Errorf("%d of %d answers are right", right, answers)
	}
	if answers < n*8/10 { // nine in ten have a change
		t.Errorf("%d of %d histories end with an answer", answers, n)
	}
	most := 2.0
	if n < 500 {
		most = 2.5 // the means of few
	}
	if mean(runs) > most*mean(oracle) {
		t.Errorf("%d runs, the oracle takes %d", runs, oracle)
	}
}

// TestAlikeEnds: runs that agree are no proof that nothing changed. With one prior the search says that it cannot know,
// with another that nothing did; it never calls a probability below the confidence an answer.
func TestAlikeEnds(t *testing.T) {
	for _, tt := range []struct {
		none, confidence float64
		want             string
	}{{0, 0.95, Inconclusive}, {0, 0.99, Inconclusive}, {0.99, 0.95, Unchanged}} {
		rng := rand.New(rand.NewPCG(3, 4))
		s := &Search{Revisions: 8, Confidence: tt.confidence, None: tt.none}
		for {
			at := float64(len(s.Seen))
			r, end := s.Next(at, func(int) float64 { return 1 })
			if end == "" {
				s.Seen = append(s.Seen, Observation{r, at, 0.02 * rng.NormFloat64()})
				continue
			}
			none := s.Believe().None
			if end != tt.want || end == Unchanged && none < tt.confidence {
				t.Errorf("%+v: %s at %.2f after %d runs", tt, end, none, len(s.Seen))
			}
			break
		}
	}
}

// TestClockSetBack: a resumed search goes on though the clock was set back by a day.
func TestClockSetBack(t *testing.T) {
	s := &Search{Revisions: 4}
	for i, at := range []float64{0, 0.1, 0.2, -24, -23.9, -23.8, -23.7} {
		s.Seen = append(s.Seen, Observation{[]int{0, 3}[i%2], at, 0.2*float64(i%2) + 0.001*float64(i)})
	}
	s.Next(-23.6, func(int) float64 { return 1 })
	if b := s.Believe(); !(b.Places[0].Probability > 0.1) {
		t.Errorf("%+v", b.Places)
	}
}
