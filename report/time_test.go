package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/reporttest"
)

// TestPercentages: they sum to 100, and each is within 1 of its share.
func TestPercentages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		parts, sum := make([]record.TimePart, 1+r.IntN(9)), 0.0
		for i := range parts {
			if r.IntN(3) > 0 {
				parts[i].Seconds = r.ExpFloat64() * 100
			}
			sum += parts[i].Seconds
		}
		total := 0
		for i, percent := range percentages(parts) {
			total += percent
			if share := 100 * parts[i].Seconds / sum; sum > 0 && (float64(percent) <= share-1 || float64(percent) >= share+1) {
				t.Fatalf("%v: %d %% for %v", parts, percent, share)
			}
		}
		if sum > 0 && total != 100 || sum == 0 && total != 0 {
			t.Fatalf("%v: %d %%", parts, total)
		}
	}
}

func TestTimeSpent(t *testing.T) {
	price := 3.6
	done := func(ended string, lastRow float64, s record.TimeSplit) record.Attempt {
		return record.Attempt{Ended: ended, Time: &s, LastRowS: lastRow}
	}
	whole := record.TimeSplit{WarmupS: 220, WindowS: 580, DrainS: 198, OwnS: 2, TotalS: 1000}
	cut := record.TimeSplit{PrepareS: 50, WindowS: 100, LostS: 50, TotalS: 200}
	kept := record.TimeSplit{PrepareS: 7, TotalS: 7}
	for _, tt := range []struct {
		name     string
		gpus     int
		price    *float64
		attempts []record.Attempt
		want     string
	}{
		{"one attempt", 2, &price, []record.Attempt{done("done", 998, whole)},
			"16m 40s: window 58 %, warm-up 22 %, drain 20 %; 2,000 GPU-seconds to the answer, 2.00 USD"},
		{"no price", 1, nil, []record.Attempt{done("done", 998, whole)},
			"16m 40s: window 58 %, warm-up 22 %, drain 20 %; 998 GPU-seconds to the answer"},
		{"gpus not specified", 0, &price, []record.Attempt{done("done", 998, whole)}, "16m 40s: window 58 %, warm-up 22 %, drain 20 %"},
		{"resumed", 1, nil, []record.Attempt{done("interrupted", 100, cut), done("done", 900, whole)},
			"20m 00s: window 57 %, warm-up 18 %, drain 17 %, preparing 4 %, cut rows 4 %; 1,100 GPU-seconds to the answer"},
		{"the last attempt kept every row", 1, nil, []record.Attempt{done("done", 998, whole), done("done", 0, kept)},
			"16m 47s: window 57 %, warm-up 22 %, drain 20 %, preparing 1 %; 998 GPU-seconds to the answer"},
		{"killed", 1, nil, []record.Attempt{done("", 100, cut)},
			"at least 3m 20s: window 50 %, preparing 25 %, cut rows 25 %; 100 GPU-seconds to the answer"},
		{"no row yet", 1, nil, []record.Attempt{done("interrupted", 0, kept)}, "7s: preparing 100 %"},
		{"an attempt without its time", 1, nil, []record.Attempt{{Ended: "interrupted"}, done("done", 998, whole)}, "not recorded"},
		{"another tool's run", 1, nil, nil, "not recorded"},
	} {
		run := &Run{Run: record.Run{Manifest: record.Manifest{Target: record.TargetInfo{GPUs: tt.gpus}, GPUHourUSD: tt.price, Attempts: tt.attempts}}}
		got := timeSpent(run, &Analysis{})
		if line := got.line(); line != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, line, tt.want)
		}
	}
}

// TestTimeOfWorkloads: the time of a workload is the sum over its rows, and not recorded if one of them lacks it.
func TestTimeOfWorkloads(t *testing.T) {
	run := &Run{Run: record.Run{Manifest: record.Manifest{Target: record.TargetInfo{GPUs: 4}}}}
	for i, c := range []int{1, 2} {
		row := fixture.Shape{Name: "A", Axes: fixture.Axis("concurrency", fmt.Sprint(c)), Concurrency: c, N: 50, TTFT: 10, TPOT: 1, Output: 100}.Row()
		row.Time = &record.TimeSplit{WarmupS: 1, WindowS: float64(10 * (i + 1)), TotalS: float64(10*(i+1) + 1)}
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, Name: "A", State: "done"})
	}
	o := run.Analyze()
	if w := o.Time.Workloads; len(w) != 1 || w[0].Workload != "A" || w[0].Split == nil || w[0].Split.WindowS != 30 || w[0].Server.WallS != 32 || *w[0].Server.GPUSeconds != 128 || w[0].Server.USD != nil {
		t.Errorf("got %+v", w)
	}
	run.Rows[0].Time = nil
	if w := run.Analyze().Time.Workloads; w[0].Split != nil || w[0].Server != nil {
		t.Errorf("with a row without its time: %+v", w)
	}
}
