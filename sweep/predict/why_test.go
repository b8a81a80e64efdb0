package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"bench/report/foreign"
	"bench/report/why"
)

// planted is a change of a simulated server or of what it is sent, and the cause that it is.
type planted struct{ cause, key, was, is string }

var plants = []planted{
	{why.StepTime, "step_base", `"8ms"`, `"9.6ms"`},
	{why.StepTime, "step_per_seq", `"0.4ms"`, `"0.6ms"`},
	{why.StepTime, "step_per_context_token", `"100ns"`, `"600ns"`},
	{why.Prefill, "step_per_prefill_token", `"30us"`, `"50us"`},
	{why.Batching, "max_num_seqs", `40`, `9`},
	{why.Outputs, "output", `{ dist = "lognormal", p50 = 60, p95 = 200, max = 500 }`,
		`{ dist = "lognormal", p50 = 80, p95 = 266, max = 666 }`},
	{why.Prompts, "input", `{ dist = "lognormal", p50 = 400, p95 = 1200, max = 3000 }`,
		`{ dist = "lognormal", p50 = 600, p95 = 1800, max = 4500 }`},
	{why.Arrivals, "arrival", `"poisson"`, `"gamma"`},
}

// served is a run with the changes.
func served(t testing.TB, seed uint64, changes ...planted) (dir string) {
	values := map[string]string{"rate": "[3, 8]"}
	for _, p := range plants {
		values[p.key] = p.was
	}
	for _, p := range changes {
		values[p.key] = p.is
	}
	duration := "1m" // a study's are longer
	if os.Getenv("WHY")+os.Getenv("WHY_PAIRS") != "" {
		duration = "2m"
	}
	text := fmt.Sprintf("name = \"m\"\nseed = %d\n[target]\nendpoint = \"mock\"\n[mock]\nmodel = \"llama-3.1-8b\"\n", seed)
	row := "[slo]\nttft_p95 = \"5s\"\n[defaults]\nwarmup = \"5s\"\nduration = \"" + duration + "\"\n[[row]]\nname = \"r\"\nrun = \"all\"\n"
	for _, p := range plants {
		if strings.HasPrefix(p.key, "step") || strings.HasPrefix(p.key, "max") {
			text += p.key + " = " + values[p.key] + "\n"
		} else {
			row += p.key + " = " + values[p.key] + "\n"
		}
		if values[p.key] == `"gamma"` {
			row += "burstiness = 0.4\n"
		}
		delete(values, p.key)
	}
	row += "rate = " + values["rate"] + "\n"
	m, p, err := planned(t, text+row)
	if err != nil {
		t.Fatalf("%v\n%s", err, text+row)
	}
	return searched(t, m, p)
}

// explained is what two runs differ in, and why.
func explained(t testing.TB, a, b string) *why.Result {
	base, err := foreign.Load(a)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := foreign.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	return why.Of(base, changed, why.All)
}

// ofMedian are the causes of a median at the higher load; of the one that changes most if metric is empty.
func ofMedian(r *why.Result, metric string) (f why.Figure) {
	for _, row := range r.Rows {
		for _, x := range row.Figures {
			named := x.Metric == metric && strings.HasSuffix(row.Name, "rate=8")
			if named || metric == "" && (x.Metric == "ttft_p50" || x.Metric == "tpot_p50") && x.Rejected == "" &&
				math.Abs(x.Change.Share) > math.Abs(f.Change.Share) {
				f = x
			}
		}
	}
	return f
}

// TestWhy: a planted change is named with its share, and nothing else is. WHY=N draws more.
func TestWhy(t *testing.T) {
	n := 1
	if s := os.Getenv("WHY"); s != "" {
		fmt.Sscan(s, &n)
	}
	named, near, other, absent, cases := 0, 0, 0, 0, 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 5))
		plant := plants[rng.IntN(len(plants))]
		if n > 8 {
			plant = plants[int(seed)%len(plants)]
		}
		a := served(t, 1)
		b := served(t, 1+seed%2, plant)
		f := ofMedian(explained(t, a, b), "")
		cases++
		text := ""
		for _, p := range f.Parts {
			share := p.Share / f.Change.Share
			text += fmt.Sprintf(" %s %.0f%%", p.Cause, 100*share)
			switch {
			case p.Cause == plant.cause:
				named++
				if math.Abs(share-1) <= 0.2 {
					near++
				}
			case p.Cause == why.Unexplained:
			default:
				absent++
				if math.Abs(share) > 0.1 && (p.Low > 0 || p.High < 0) {
					other++
				}
			}
		}
		t.Logf("%2d %-20s %s %+.1f%%:%s", seed, plant.key, f.Metric, 100*f.Change.Share, text)
	}
	t.Logf("%d cases: the cause named in %d, its share within 20 %% in %d; %d of %d absent causes have a part", cases, named,
		near, other, absent)
	if absent > 0 && other > 1+absent*3/100 {
		t.Errorf("%d of %d absent causes have a part", other, absent)
	}
	if near < cases*9/10 {
		t.Errorf("the share is within 20 %% in %d of %d", near, cases)
	}
}

// TestWhyOfTwo: of two planted changes each has the mean of what it changes alone and beside the other. WHY_PAIRS=N
// draws more.
func TestWhyOfTwo(t *testing.T) {
	n := 1
	if s := os.Getenv("WHY_PAIRS"); s != "" {
		fmt.Sscan(s, &n)
	}
	near, all := 0, 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 6))
		var p, q planted
		for p.cause == q.cause {
			p, q = plants[rng.IntN(len(plants))], plants[rng.IntN(len(plants))]
		}
		base, both := served(t, 1), served(t, 1, p, q)
		r := explained(t, base, both)
		f := ofMedian(r, ofMedian(r, "").Metric)
		log := func(f why.Figure) float64 { return math.Log1p(f.Change.Share) }
		total, alone := log(f), map[string]float64{}
		for _, x := range []planted{p, q} {
			alone[x.cause] = log(ofMedian(explained(t, base, served(t, 1, x)), f.Metric))
		}
		for cause, other := range map[string]string{p.cause: q.cause, q.cause: p.cause} {
			want := (alone[cause] + total - alone[other]) / 2 / total
			got := 0.0
			for _, x := range f.Parts {
				if x.Cause == cause {
					got = x.Share / f.Change.Share
				}
			}
			if all++; math.Abs(got-want) <= 0.2 {
				near++
			}
			t.Logf("%2d %s %+.1f%% %-30s %3.0f%% of it, planted %3.0f%%", seed, f.Metric, 100*f.Change.Share, cause, 100*got, 100*want)
		}
	}
	t.Logf("%d of %d parts within 20 %% of the change", near, all)
	if near < all*9/10 {
		t.Errorf("%d of %d parts within 20 %% of the change", near, all)
	}
}
