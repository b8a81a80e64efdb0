package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bench/experiment/record"
)

// ofTwo is a row whose requests go to two workers in turn. Latencies are of median 100 ms by draw; those of worker 1
// are longer by so many medians.
func ofTwo(n int, longer float64, draw func() float64) *evidence {
	e := &evidence{Row: &record.Row{Workers: make([]record.Worker, 2), Window: record.Window{EndUs: int64(n) * 1e6}}}
	for i := range 2 * n {
		ms, at := 100*draw(), int64(i)*500_000
		if i%2 == 1 {
			ms += 100 * longer
		}
		first := record.At(at + int64(1000*ms))
		e.records = append(e.records, &record.Record{I: i, Worker: new(i % 2), Phase: record.PhaseWindow, Outcome: "ok",
			Arrival: record.At(at), Ready: record.At(at), Sent: record.At(at), First: first, Last: first.Add(70_000),
			End: first.Add(70_000), Gaps: record.Pack(int64(70_000)), OutputTokens: 8})
	}
	return e
}

// The difference, in medians, from which the quartiles of two workers lie far apart in nearly all rows, and below which
// they do in nearly none: what docs/findings.md says the check can't see.
func TestSmallestDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	lognormal := func(sigma float64) func() float64 {
		return func() float64 { return math.Exp(sigma * rng.NormFloat64()) }
	}
	wait := 0.0
	queue := func() float64 { // of one server at 80 %: Lindley's recursion, in medians of the time in it
		service := rng.ExpFloat64()
		out := wait + service
		wait = max(0, out-rng.ExpFloat64()/0.8)
		return out / (5 * math.Ln2)
	}
	for _, c := range []struct {
		name     string
		draw     func() float64
		from, to float64
	}{
		{"lognormal 0.1", lognormal(0.1), 1.15, 1.25},
		{"lognormal 0.5", lognormal(0.5), 1.8, 2.3},
		{"lognormal 1", lognormal(1), 2.8, 4},
		{"queue at 80 %", queue, 2, 6},
	} {
		for _, n := range []int{200, 1000} {
			found := func(longer float64) (share float64) {
				for range 25 {
					if checkWorkers(ofTwo(n, longer, c.draw)).severity != "" {
						share += 0.04
					}
				}
				return share
			}
			none, few, most := found(0), found(c.from), found(c.to)
			t.Logf("%s, %d requests each: alike %.2f, %v medians %.2f, %v medians %.2f",
				c.name, n, none, c.from, few, c.to, most)
			if none > 0 || few > 0.2 || most < 0.8 {
				t.Errorf("%s, %d requests each", c.name, n)
			}
		}
	}
}

// Of several slow parties each is found that lies above the quartiles of all others; more than a quarter of them hide
// each other.
func TestSeveralApart(t *testing.T) {
	of := func(late ...float64) (out []int) {
		e := &evidence{Row: &record.Row{Workers: make([]record.Worker, len(late))}}
		for i := range 100 * len(late) {
			k, at := i%len(late), int64(i)*1000
			first := record.At(at + int64(1000*late[k]) + 100_000 + int64(i%7)*1000)
			e.records = append(e.records, &record.Record{I: i, Worker: &k, Phase: record.PhaseWindow, Outcome: "ok",
				Arrival: record.At(at), Sent: record.At(at), First: first, Last: first, End: first, OutputTokens: 1})
		}
		byWorker := func(r *record.Record) *int { return r.Worker }
		found, _ := apart(e, byWorker, len(late), "ttft_from_send")
		for _, d := range found {
			out = append(out, d.party)
		}
		return out
	}
	for _, c := range []struct {
		late []float64
		want []int
	}{
		{[]float64{0, 0, 0, 0}, nil},
		{[]float64{0, 0, 0, 90}, nil},
		{[]float64{0, 0, 0, 300}, []int{3}},
		{[]float64{0, 300}, []int{1}},
		{[]float64{300, 0, 300, 0}, nil},
		{[]float64{0, 0, 300, 0, 0, 0, 300, 0, 0}, []int{2, 6}},
	} {
		if got := of(c.late...); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.late, got, c.want)
		}
	}
}
