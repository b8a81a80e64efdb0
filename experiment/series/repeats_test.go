package series

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
	fixture "bench/internal/fixturetest"
)

// runsOf are repeats of one point; each has n TTFTs about its own centre, ms.
func runsOf(n int, centres ...float64) []record.Row {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	rows := make([]record.Row, len(centres))
	for i, centre := range centres {
		rows[i] = measured("A", nil, 1, 0, i+1, 100, 1, "")
		values := make([]float64, n)
		for k := range values {
			values[k] = centre * math.Exp(0.3*rng.NormFloat64()-0.045)
		}
		rows[i].Summary.TTFT = stats.SummarizeInOrder(values, rng)
	}
	return rows
}

func TestBetweenRuns(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		centres []float64
		want    string
	}{
		{"the same", 2000, []float64{100, 100, 100}, ""},
		{"one is a fifth slower", 2000, []float64{100, 120, 100}, "the 3 repeats differ by more than their confidence intervals explain: mean ttft "},
		{"two runs", 2000, []float64{100, 140}, "the 2 repeats"},
		{"too few requests to tell", 40, []float64{100, 110, 100}, ""},
		{"clear but too small to matter", 200_000, []float64{100, 103}, ""},
		{"one run", 2000, []float64{100}, ""},
		{"no interval", 20, []float64{100, 500}, ""},
	} {
		p := FromRows(runsOf(c.n, c.centres...))[0].Points[0]
		got := ""
		if len(p.Findings) > 0 {
			got = p.Findings[0].Text
			if f := p.Findings[0]; f.Severity != record.Caution || !f.Touches("ttft") || *f.Effects[0].Bound < 1.1 {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || !p.Valid {
			t.Errorf("%s: valid %t, %q", c.name, p.Valid, got)
		}
	}
	spread := FromRows(runsOf(100, 1, 1, 1))[0].Points[0].RequestsPerS.Spread
	if spread == nil || spread.Std != 0 || spread.Max != 1 {
		t.Errorf("%+v", spread)
	}
}

// Steady runs of a process with a memory are not taken for different ones more often than is said.
func TestBetweenRunsErrs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	flagged := 0
	for range 100 {
		rows := make([]*record.Row, 3)
		for i := range rows {
			values := make([]float64, 1000)
			x := rng.NormFloat64()
			for k := range values {
				values[k] = 100 * math.Exp(0.3*x)
				x = 0.8*x + 0.6*rng.NormFloat64()
			}
			rows[i] = &record.Row{Summary: record.Summary{TTFT: stats.SummarizeInOrder(values, rng)}}
		}
		if _, ok := betweenRuns(rows); ok {
			flagged++
		}
	}
	if flagged > 2 {
		t.Errorf("%d of 100 triples of the same have a finding", flagged)
	}
}

func TestResampledKnees(t *testing.T) {
	var rows []record.Row
	for repeat := 1; repeat <= 3; repeat++ {
		for i, load := range []string{"1", "2", "4", "8"} {
			verdict := []string{"PASS", "PASS", "PASS", "FAIL"}[i]
			if i == 2 && repeat == 1 {
				verdict = "FAIL" // one of three at concurrency 4
			}
			rows = append(rows, measured("D", fixture.Concurrency(load), 0, 1<<i, repeat, []float64{100, 190, 260, 280}[i], 50, verdict))
		}
	}
	k := FromRows(rows)[0].MaxLoadWithinSLO
	// At concurrency 4 all three drawn pass in (2/3)³ of the draws; the point itself does not, so the max
	// load is at concurrency 2.
	if k.Point == nil || *k.Point != 1 || k.Resampled == nil {
		t.Fatalf("%+v", k)
	}
	if want := 1 - math.Pow(2.0/3, 3); math.Abs(k.Resampled.Share-want) > 0.12 {
		t.Errorf("share %v, want about %.2f", k.Resampled.Share, want)
	}
	if *k.Resampled.Low != 1 || *k.Resampled.High != 2 {
		t.Errorf("from point %d to point %d", *k.Resampled.Low, *k.Resampled.High)
	}
	if k := FromRows(rows[:4])[0].MaxLoadWithinSLO; k.Resampled != nil {
		t.Errorf("one repeat says nothing of its spread: %+v", k.Resampled)
	}
	if a, b := FromRows(rows)[0].Knee.Resampled, FromRows(rows)[0].Knee.Resampled; a == nil || *b.Low != *a.Low || a.Share != b.Share {
		t.Errorf("not the same twice: %+v, %+v", a, b)
	}
}
