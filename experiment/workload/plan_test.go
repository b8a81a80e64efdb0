package workload

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

func take(w Workload, seed uint64, salt string, n int) []Request {
	p := NewPlan(w, seed, salt)
	out := make([]Request, n)
	for i := range out {
		out[i] = p.Next()
	}
	return out
}

func prefixed(state string) Workload {
	return Workload{
		Input: Length{Dist: "uniform", Min: 60, Max: 400}, Output: Length{Dist: "lognormal", P50: 100, P95: 500}, Rate: 10,
		Prefix: &Prefix{Tokens: 50, Groups: 4, State: state},
	}
}

var mixed = Workload{Rate: 4, Arrival: Arrival{Process: "gamma"}, Burstiness: 0.5, Mix: []Class{
	{Name: "chat", Weight: 8, Input: Length{Dist: "lognormal", P50: 300, P95: 2000, Min: 40}, Output: Fixed(150), Prefix: &Prefix{Tokens: 32, Groups: 2, State: Warm}},
	{Name: "rag", Weight: 2, Input: Length{Dist: "uniform", Min: 3000, Max: 6000}, Output: Length{Dist: "normal", Mean: 200, Std: 40}},
}}

func TestPlanIsAFunctionOfItsSeeds(t *testing.T) {
	swinging := talking
	swinging.Arrival, swinging.Prefix = day, &Prefix{HitRate: 0.5, Groups: 9, Zipf: 1}
	paired := arriving(exponential, 0)
	paired.Input, paired.Output, paired.Pairs = Length{}, Length{}, &Pairs{List: [][2]int{{30, 4}, {500, 6}}}
	want := take(mixed, 7, "a", 300)
	for _, w := range []Workload{mixed, talking, swinging, paired} {
		want := take(w, 7, "a", 300)
		for _, procs := range []int{1, 2, 8} {
			before := runtime.GOMAXPROCS(procs)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if got := take(w, 7, "a", 300); !reflect.DeepEqual(got, want) {
						t.Error("another plan of the same seeds differs")
					}
				})
			}
			wg.Wait()
			runtime.GOMAXPROCS(before)
		}
	}
	if reflect.DeepEqual(take(mixed, 8, "a", 300), want) {
		t.Error("the seed changes nothing")
	}
	// The salt changes the prompts and nothing else.
	salted := take(mixed, 7, "b", 300)
	for i := range salted {
		a, b := salted[i], want[i]
		if a.Blocks[0] == b.Blocks[0] {
			t.Fatalf("request %d has the same first block under another salt", i)
		}
		a.Blocks, b.Blocks = nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("the salt changes request %d: %+v, %+v", i, a, b)
		}
	}
}

// The figures of a plan are held, so that a stored seed means the same in later versions. They come
// from this code; what they hold is that it does not change by accident.
var heldRequest = [3]any{time.Duration(130317475), 555, uint64(0x959dd1a0f81e29b6)}

func TestPlanStaysAsItWas(t *testing.T) {
	p := NewPlan(Workload{Input: Length{Dist: "uniform", Min: 1, Max: 1000}, Output: Fixed(3), Rate: 1}, 42, "salt")
	p.Next()
	r := p.Next()
	if got, want := [3]any{r.At, r.Input, r.Blocks[0].ID}, heldRequest; got != want {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestOneDimensionLeavesTheOthers(t *testing.T) {
	base := prefixed(Shared)
	changes := map[string]func(*Workload){
		"input":   func(w *Workload) { w.Input = Fixed(333) },
		"output":  func(w *Workload) { w.Output = Fixed(5) },
		"rate":    func(w *Workload) { w.Rate = 3 },
		"arrival": func(w *Workload) { w.Arrival.Process = "gamma"; w.Burstiness = 0.3 },
		"groups":  func(w *Workload) { w.Prefix.Groups = 9 },
		"state":   func(w *Workload) { w.Prefix.State = Cold },
	}
	want := take(base, 1, "", 200)
	for name, change := range changes {
		w := base
		w.Prefix = new(*base.Prefix)
		change(&w)
		same := map[string]int{}
		for i, r := range take(w, 1, "", 200) {
			for key, equal := range map[string]bool{
				"input": r.Input == want[i].Input, "output": r.Output == want[i].Output, "arrivals": r.At == want[i].At,
				"prefix": r.Blocks[0] == want[i].Blocks[0], "suffix": r.Blocks[len(r.Blocks)-1].ID == want[i].Blocks[len(want[i].Blocks)-1].ID,
			} {
				if equal {
					same[key]++
				}
			}
		}
		for key, changed := range map[string]bool{
			"input": name == "input", "output": name == "output", "arrivals": name == "rate" || name == "arrival",
			"prefix": name == "groups" || name == "state", "suffix": name == "input", // its last block stands elsewhere
		} {
			if (same[key] < 150) != changed {
				t.Errorf("changed %s: %d of 200 %s stay", name, same[key], key)
			}
		}
	}
}

func gaps(w Workload, n int) []float64 {
	w.Input, w.Output = Fixed(1), Fixed(1)
	p := NewPlan(w, 3, "")
	out := make([]float64, 0, n)
	last := time.Duration(0)
	for at := range p.Arrivals {
		out = append(out, (at - last).Seconds())
		last = at
		if len(out) == n+1 {
			break
		}
	}
	return out[1:]
}

func moments(x []float64) (mean, cv, lag1 float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	variance, cov := 0.0, 0.0
	for i, v := range x {
		variance += (v - mean) * (v - mean)
		if i > 0 {
			cov += (v - mean) * (x[i-1] - mean)
		}
	}
	return mean, math.Sqrt(variance/float64(len(x))) / mean, cov / variance
}

func TestConstantArrivalsDoNotDrift(t *testing.T) {
	for _, rate := range []float64{3, 7, 1000.0 / 3, 0.3} {
		w := Workload{Input: Fixed(1), Output: Fixed(1), Rate: Rate(rate), Arrival: Arrival{Process: "constant"}}
		i := 0
		for at := range NewPlan(w, 1, "").Arrivals {
			if want := time.Duration(math.Round(float64(i) * 1e9 / rate)); (at - want).Abs() > 1 {
				t.Fatalf("rate %v: arrival %d at %v, want %v", rate, i, at, want)
			}
			if i++; i == 20000 {
				break
			}
		}
	}
}

func TestArrivalsAreTheRequests(t *testing.T) {
	p := NewPlan(mixed, 1, "")
	for range 5 {
		p.Next()
	}
	for at := range p.Arrivals {
		r := p.Next()
		if r.At != at { // the walk began before any of these were taken
			t.Fatalf("request %d at %v, the walk says %v", r.Index, r.At, at)
		}
		if r.Index == 60 {
			break
		}
	}
}

func TestPoissonArrivals(t *testing.T) {
	const n, rate = 40000, 20.0
	g := gaps(Workload{Rate: rate}, n)
	mean, cv, lag1 := moments(g)
	if math.Abs(mean*rate-1) > 0.02 || math.Abs(cv-1) > 0.02 || math.Abs(lag1) > 0.02 {
		t.Errorf("mean %v, cv %v, lag-1 correlation %v", mean, cv, lag1)
	}
	// Kolmogorov–Smirnov against the exponential; 1.63/√n is the 1 % limit (Smirnov 1948).
	sorted := slices.Sorted(slices.Values(g))
	d := 0.0
	for i, x := range sorted {
		f := 1 - math.Exp(-x*rate)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	if d > 1.63/math.Sqrt(n) {
		t.Errorf("KS distance %v", d)
	}
	// Index of dispersion of the counts in windows of 1 s: 1 for Poisson, standard error √(2/windows).
	counts := make([]float64, int(n/rate*0.95))
	at := 0.0
	for _, x := range g {
		if at += x; int(at) < len(counts) {
			counts[int(at)]++
		}
	}
	m, c, _ := moments(counts)
	if iod := c * c * m; math.Abs(iod-1) > 4*math.Sqrt(2/float64(len(counts))) {
		t.Errorf("index of dispersion %v", iod)
	}
}

func TestGammaArrivals(t *testing.T) {
	for _, shape := range []float64{0.25, 1, 4} {
		mean, cv, lag1 := moments(gaps(Workload{Rate: 5, Arrival: Arrival{Process: "gamma"}, Burstiness: shape}, 40000))
		if math.Abs(mean*5-1) > 0.04 || math.Abs(cv*math.Sqrt(shape)-1) > 0.04 || math.Abs(lag1) > 0.02 {
			t.Errorf("burstiness %v: mean %v, cv %v, lag-1 correlation %v", shape, mean, cv, lag1)
		}
	}
	if _, cv, _ := moments(gaps(Workload{Rate: 5, Arrival: Arrival{Process: "gamma"}}, 20000)); math.Abs(cv-1) > 0.04 {
		t.Errorf("gamma without burstiness: cv %v", cv)
	}
}

func TestNoArrivalsWithoutARate(t *testing.T) {
	for _, rate := range []Rate{0, Rate(math.Inf(1))} {
		for _, r := range take(Workload{Input: Fixed(1), Output: Fixed(1), Rate: rate}, 1, "", 100) {
			if r.At != 0 {
				t.Fatalf("rate %v: request %d at %v", rate, r.Index, r.At)
			}
		}
	}
}

func TestMixWeights(t *testing.T) {
	n := map[string]int{}
	for _, r := range take(mixed, 1, "", 20000) {
		n[r.Class]++
		if r.Class == "rag" && (r.Input < 3000 || r.Input > 6000) {
			t.Fatalf("rag of %d tokens", r.Input)
		}
	}
	if math.Abs(float64(n["chat"])/20000-0.8) > 0.012 || n["chat"]+n["rag"] != 20000 {
		t.Errorf("%v", n)
	}
}

func TestMixHasNoCollisions(t *testing.T) {
	seen := map[uint64]bool{}
	for a := range uint64(300) {
		for b := range uint64(1000) {
			h := mix(mix(0, a), b)
			if seen[h] {
				t.Fatalf("mix repeats at %d, %d", a, b)
			}
			seen[h] = true
		}
	}
	salts := map[uint64]string{}
	for _, s := range []string{"", "a", "b", "aa", "ab", "ba", "\x00", "a\x00", "row-r1", "row-r2"} {
		if other, ok := salts[hash64(s)]; ok {
			t.Errorf("%q and %q hash alike", s, other)
		}
		salts[hash64(s)] = s
	}
}
