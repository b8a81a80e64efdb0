package predict

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mathext"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
	"bench/report"
)

var limited = [2]string{"ttft", "e2e"}

// steadyState is a p95 in ms, and the autocorrelation time of exceeding it.
type steadyState struct{ p95, time float64 }

// steady is that of n requests behind 3,000 others, served by the engine alone.
func (d *drawnServer) steady(t testing.TB, rate float64, n int) (out [2]steadyState) {
	const settling = 3000
	m, p, err := planned(t, fmt.Sprintf("%srate = %g\nrequests = 1\n", d.matrix+d.row, rate))
	if err != nil {
		t.Fatal(err)
	}
	spec := &m.Points[0]
	simulator, err := newEngine(p.servers[""].config, spec, thoughts{})
	if err != nil {
		t.Fatal(err)
	}
	e := simulator.(*engine)
	var latencies [2][]float64 // by arrival
	for k := range latencies {
		latencies[k] = make([]float64, settling+n)
	}
	serve := func(until time.Duration) {
		for r := e.sim.Next(until); r != nil; r = e.sim.Next(until) {
			i, _ := strconv.Atoi(r.ID)
			for k, due := range []int64{r.DueNS[0], r.DueNS[len(r.DueNS)-1]} {
				latencies[k][i] = float64(due-r.ArrivalNS) / 1e6
			}
		}
	}
	plan := workload.NewPlan(spec.Workload, 1, "truth")
	for i := range settling + n {
		q := plan.Next()
		serve(q.At)
		e.sim.Add(mock.Job{ID: strconv.Itoa(i), At: q.At, Prompt: e.prompt(&q), Output: q.Output})
	}
	serve(math.MaxInt64)
	for k, values := range latencies {
		values = values[settling:]
		p95, over := stats.Quantile(slices.Sorted(slices.Values(values)), 0.95), make([]float64, n)
		for i, x := range values {
			if x > p95 {
				over[i] = 1
			}
		}
		out[k] = steadyState{p95, stats.DependenceOf(over).Time}
	}
	return out
}

// oracle is a binomial test at 2.5 % of a p95 whose exceedances have a known autocorrelation time.
func oracle(records []*record.Record, metric string, limit, time float64) stats.Verdict {
	over, within := 0.0, 0.0
	for _, r := range records {
		switch ms, _ := r.Latency(metric, true); {
		case r.Phase != record.PhaseWindow:
		case ms > limit:
			over += 1 / time
		default:
			within += 1 / time
		}
	}
	switch { // so many or more
	case within > 0 && mathext.RegIncBeta(within, over+1, 0.95) <= 0.025:
		return stats.Pass
	case over > 0 && mathext.RegIncBeta(over, within+1, 0.05) <= 0.025:
		return stats.Fail
	}
	return stats.Undecided
}

// byLimit judges a row under another limit, as bench report --slo does: by its own requests, and with the twin.
func byLimit(t testing.TB, run *report.Run, row int, limit string) (own, twin record.Verdict) {
	slo, decided := fixture.SLO(t, limit), errors.New("no twin is needed")
	run.Manifest.Client.Commit = "this"
	err := run.EvaluateAgain(report.Evaluation{Commit: "this", Limits: func(s *experiment.Spec) { s.SLO = slo },
		Rows: func(rows []record.Row) error {
			if own = rows[row].SLO[0]; own.Verdict != stats.Undecided {
				return decided
			}
			return nil
		}})
	if err == nil {
		return own, run.Live()[row].SLO[0]
	}
	if err != decided {
		t.Fatal(err)
	}
	return own, own
}

// TestPower: what rows decide at 1.5 times their true p95 and at 1/1.5 of it, and wrongly at the truth: by their own
// requests, with the twin of their series, and by an oracle. Loads are 0.3 to 0.95 of the saturating one. POWER=FROM-TO
// takes these servers (POWER_OTHER=1: that no twin is), POWER_TRUTH so many requests for a truth; four times as many
// from 0.7 of saturation on.
func TestPower(t *testing.T) {
	var from, to, loads, truth, sizes, factors = uint64(309), uint64(310), 2, 2000, []int{300}, []float64{1.5}
	if list := os.Getenv("POWER"); list != "" {
		loads, truth, sizes, factors = 5, 40_000, []int{300, 1000}, []float64{1.5, 1 / 1.5, 1}
		fmt.Sscanf(list, "%d-%d", &from, &to)
		fmt.Sscan(os.Getenv("POWER_TRUTH"), &truth)
	}
	all, decided, wrong := map[string]int{}, 0, 0
	for seed := from; seed < to; seed++ {
		d := drawServer(seed)
		if os.Getenv("POWER_OTHER") != "" {
			d = otherServer(seed)
		}
		d.matrix, _, _ = strings.Cut(d.matrix, "[slo]") // rows with an open limit would be lengthened
		closed := drawnServer{matrix: d.matrix, row: strings.Replace(d.row, "arrival = \"poisson\"\n", "", 1)}
		_, row, _ := closed.run(t, "concurrency = 600\nwarmup = 1000\nrequests = 3000\n")
		rng, most, rates := rand.New(rand.NewPCG(seed, 10)), row.Summary.Throughput.RequestsPerS, ""
		for i := range loads {
			rates += fmt.Sprintf("%.4g,", most*(0.3+0.65/float64(loads)*(float64(i)+rng.Float64())))
		}
		truths := map[float64][2]steadyState{}
		for _, n := range sizes {
			_, _, dir := d.keep(t, fmt.Sprintf("warmup = %d\nrequests = %d\nrate = [%s]\n", n/5, n, rates))
			run, err := report.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			for i := range run.Rows {
				rate := float64(run.Rows[i].Spec.Rate)
				band, times := "low", 1
				if rate > 0.7*most {
					band, times = "high", 4
				}
				if truths[rate][0].p95 == 0 {
					truths[rate] = d.steady(t, rate, times*truth)
				}
				records, _ := run.Requests(&run.Rows[i])
				for k, metric := range limited {
					p95, time := truths[rate][k].p95, truths[rate][k].time
					for _, factor := range factors {
						own, twin := byLimit(t, run, i, fmt.Sprintf("%s_p95 = \"%.6gms\"", metric, factor*p95))
						key := fmt.Sprintf("%s p95 × %-5.3g n = %d, %s load, ", metric, factor, n, band)
						all[key+"own "+string(own.Verdict)]++
						all[key+"twin "+string(twin.Verdict)]++
						all[key+"oracle "+string(oracle(records, metric, factor*p95, time))]++
						if twin.Twin {
							decided++
						}
						if v := twin.Verdict; v == stats.Pass && factor <= 1 || v == stats.Fail && factor >= 1 {
							t.Logf("    %s%s at %.3f of saturation, by twin %v: %s; true p95 %.5g ms, time %.3g", key, v, rate/most,
								twin.Twin, twin.Why, p95, time)
							if twin.Twin {
								wrong++
							}
						}
					}
				}
			}
		}
		t.Logf("%d %s, saturated at %.3g/s: the twin decides %d, %d wrongly", seed, d.kind, most, decided, wrong)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%s: %d", key, all[key])
	}
	if decided == 0 || wrong > decided/20 {
		t.Errorf("the twin decides %d, %d wrongly", decided, wrong)
	}
}
