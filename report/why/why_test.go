package why

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bench/experiment/twin"
	"bench/report"
)

// sideWith is a side whose server is the model, whose requests have lengths times a factor, and whose client is late.
func sideWith(m twin.Model, longer, lag float64) *Side {
	rng := rand.New(rand.NewPCG(1, 2))
	var requests []twin.Request
	for at := 0.0; len(requests) < 600; at += rng.ExpFloat64() / 8 {
		requests = append(requests, twin.Request{Arrival: at + lag, Lag: lag, Prompt: 100 + rng.IntN(400),
			Output: int(longer * float64(20+rng.IntN(80))), Window: true})
	}
	return &Side{Model: m, Trials: []Trial{{Trial: twin.Trial{Load: 8, Requests: m.Run(requests, 0)}, Name: "r"}}}
}

var server = twin.Model{Base: 0.01, PerSequence: 0.0004, PerPrefillToken: 3e-5, MaxSequences: 32}

func partsOf(t *testing.T, rows []Row, metric string) (change float64, parts map[string]float64) {
	t.Helper()
	parts = map[string]float64{}
	for _, f := range rows[0].Figures {
		if f.Metric == metric {
			for _, p := range f.Parts {
				parts[p.Cause] = p.Share
			}
			return f.Change.Share, parts
		}
	}
	t.Fatalf("no %s", metric)
	return 0, nil
}

// The parts of two causes add up to the change, each cause has the mean of its two orders, and the client's lag is its
// own.
func TestExplain(t *testing.T) {
	slower := server
	slower.PerSequence *= 1.5
	a, b := sideWith(server, 1, 0), sideWith(slower, 1.3, 0)
	rows, leftOut := Explain(a, b, All)
	if len(rows) != 1 || len(leftOut) > 0 {
		t.Fatalf("%+v %v", rows, leftOut)
	}
	change, parts := partsOf(t, rows, "tpot_p50")
	log := func(s *Side) float64 {
		v, _ := s.Trials[0].Measured(limits()[2])
		return math.Log(v)
	}
	f0, f1, f2, f12 := log(a), log(sideWith(slower, 1, 0)), log(sideWith(server, 1.3, 0)), log(b)
	factor := change / math.Log1p(change)
	if step := factor * ((f1 - f0) + (f12 - f2)) / 2; math.Abs(parts[StepTime]-step) > 1e-9 {
		t.Errorf("step time %v, expected %v", parts[StepTime], step)
	}
	if lengths := factor * ((f2 - f0) + (f12 - f1)) / 2; math.Abs(parts[Outputs]-lengths) > 1e-9 {
		t.Errorf("lengths %v, expected %v", parts[Outputs], lengths)
	}
	if len(parts) != 3 || math.Abs(parts[Unexplained]) > 1e-9 ||
		math.Abs(parts[StepTime]+parts[Outputs]-change) > 1e-9 {
		t.Errorf("change %v of %v", change, parts)
	}
	rows, _ = Explain(a, sideWith(server, 1, 0.02), All)
	if change, parts := partsOf(t, rows, "ttft_p50"); len(parts) != 2 || math.Abs(parts[Client]-change) > 0.02 {
		t.Errorf("TTFT %v of %v", change, parts)
	}
}

// Equal sides have no causes, and nothing to say.
func TestNothingChanged(t *testing.T) {
	rows, _ := Explain(sideWith(server, 1, 0), sideWith(server, 1, 0), All)
	for _, f := range rows[0].Figures {
		if f.Change.Share != 0 || len(f.Parts) != 1 || f.Parts[0].Share != 0 {
			t.Errorf("%+v", f)
		}
	}
	var b strings.Builder
	r := Result{Rows: rows, LeftOut: []string{"\x1b[31mred: no twin"}}
	if err := r.Text(&b, report.Screen{}); err != nil || strings.Contains(b.String(), "\x1b") ||
		!strings.HasPrefix(b.String(), "no figure changed by more than its interval and 2 %") {
		t.Errorf("%q %v", b.String(), err)
	}
}

// The weights of all sets that lack a cause add up to one: each order counts once.
func TestShapleyWeight(t *testing.T) {
	for n := 1; n <= 8; n++ {
		sum, sets := 0.0, 1.0
		for k := range n { // sets of k of the n − 1 others
			sum += sets * shapleyWeight(k, n)
			sets *= float64(n-1-k) / float64(k+1)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("%d causes: %v", n, sum)
		}
	}
}

// A row without a partner is named.
func TestRowsOfOneSide(t *testing.T) {
	a, b := sideWith(server, 1, 0), sideWith(server, 1, 0)
	for _, side := range []*Side{a, b} {
		alone := side.Trials[0]
		alone.Name = map[*Side]string{a: "rate=2", b: "rate=3"}[side]
		side.Trials = append(side.Trials, alone)
	}
	rows, leftOut := Explain(a, b, All)
	if want := []string{"rate=2: only in A", "rate=3: only in B"}; len(rows) != 1 || !slices.Equal(leftOut, want) {
		t.Errorf("%d rows, %v", len(rows), leftOut)
	}
}
