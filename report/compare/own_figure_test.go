package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// drafting is a run of n repeats of 200 requests each. A step drafts three tokens; requests are accepted with a rate of
// their own, which is on average as given. The counts are the server's: no request has any.
func drafting(name string, rate, valid float64, n int, r *rand.Rand) Run {
	run := Run{Name: name, Run: record.Run{Manifest: manifest()}}
	const requests, steps = 200, 40
	for i := range n {
		row := record.Row{ID: "A-r" + string(rune('1'+i)), Spec: experiment.Spec{Name: "A", Repeat: i + 1}}
		accepted, in := 0.0, 0
		for range requests {
			own := min(1, max(0, rate+0.15*r.NormFloat64()))
			accepted += 3*steps*own + math.Sqrt(3*steps*own*(1-own))*r.NormFloat64()
			if r.Float64() < valid {
				in++
			}
		}
		drafts, share := float64(requests*steps), float64(in)/requests
		row.Summary.Requests = record.Requests{Planned: requests, Completed: requests}
		row.Summary.Answers = &record.Answers{Valid: &record.Share{Checked: requests, In: in, Share: share, Effective: requests}}
		row.Speculation = &record.Speculation{Source: record.SpeculationOfServer, Drafts: new(drafts), DraftTokens: new(3 * drafts),
			AcceptedTokens: &accepted, AcceptanceRate: new(accepted / (3 * drafts)), AcceptanceLength: new(1 + accepted/drafts),
			TokensPerStep: new(1 + accepted/drafts)}
		run.Rows = append(run.Rows, row)
	}
	return run
}

// TestPlantedShares: planted changes of drafts and of valid answers are found and lie in their intervals; equal runs are
// not called different more often than the risk.
func TestPlantedShares(t *testing.T) {
	truth := map[string]float64{metric.AcceptanceRate: 0.1, metric.AcceptanceLength: 2.8/2.5 - 1, metric.TokensPerStep: 2.8/2.5 - 1,
		metric.AnswersValid: -0.3}
	r := rand.New(rand.NewPCG(5, 8))
	const trials = 36
	for _, repeats := range []int{1, 3} {
		alarms, covered, found := map[string]int{}, map[string]int{}, map[string]int{}
		for range trials {
			base := drafting("base", 0.5, 0.9, repeats, r)
			same := compared(t, side(base), side(drafting("new", 0.5, 0.9, repeats, r)), Options{spreads: spreads(0.005)})
			other := compared(t, side(base), side(drafting("new", 0.6, 0.6, repeats, r)), Options{spreads: spreads(0.005)})
			for name, by := range truth {
				m := other.find(name)
				if v := same.find(name).Verdict; v == Worse || v == Better {
					alarms[name]++
				}
				if m.CI95.Lo <= by && by <= m.CI95.Hi {
					covered[name]++
				}
				if want := map[bool]Verdict{true: Better, false: Worse}[by > 0]; m.Verdict == want {
					found[name]++
				}
			}
		}
		for name := range truth { // the risk is 5 %
			if alarms[name] > trials/12 || covered[name] < trials*11/12 {
				t.Errorf("%d repeats: %s: %d of %d equal pairs differ, %d changes covered", repeats, name, alarms[name], trials, covered[name])
			}
		}
		if n := found[metric.AnswersValid]; n < trials*9/10 {
			t.Errorf("%d repeats: %d of %d found", repeats, n, trials)
		}
	}
}

// TestFiguresWithoutVerdict: what the rows do not carry is shown as a raw change with its reason, and reasoning has no
// better or worse.
func TestFiguresWithoutVerdict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	with := func(name string, cut int, tokens float64) Run {
		run := drafting(name, 0.5, 0.9, 1, r)
		row := &run.Rows[0]
		times, thoughts := make([]float64, 100), make([]float64, 200)
		for i := range times {
			times[i] = tokens + 0.1*r.NormFloat64()
		}
		for i := range thoughts {
			thoughts[i] = 10 * (tokens + 0.1*r.NormFloat64())
		}
		row.Sessions = &record.Sessions{Started: 100 + cut, Completed: 100, Cut: cut, Time: stats.Summarize(times)}
		row.Summary.Reasoning = &record.Reasoning{Requests: 200, Tokens: stats.Summarize(thoughts)}
		return run
	}
	base, changed := with("base", 0, 10), with("new", 5, 20)
	*changed.Rows[0].Speculation.Drafts /= 2 // drafts of six tokens
	c := compared(t, side(base), side(changed), Options{})
	for name, why := range map[string]string{"session_time_p90": "5 of 105 sessions of a repeat", metric.AcceptanceRate: "drafts have 3 and 6 tokens"} {
		if m := c.find(name); m.Verdict != Inconclusive || m.Change != nil || m.RawChange == nil || !strings.Contains(m.Why, why) {
			t.Errorf("%s: %s, raw %v", name, m.Describe(), m.RawChange)
		}
	}
	if m := c.find("session_time_p50"); m.Verdict != Worse { // 5 % without a time move the median little
		t.Error(m.Describe())
	}
	if m := c.find("reasoning_tokens_p50"); m.Verdict != Changed || !m.Neutral || m.NoWorseThan != nil || m.CI95.Lo > 1 || m.CI95.Hi < 1 {
		t.Error(m.Describe())
	}
}

// TestInvalidAnswersFail: a row that is invalid because of its answers is what their gate is for.
func TestInvalidAnswersFail(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	base, changed := drafting("base", 0.5, 0.95, 3, r), drafting("new", 0.5, 0.5, 3, r)
	for i := range changed.Rows {
		changed.Rows[i].Findings = []record.Finding{{Code: "answers", Severity: record.Invalid}}
	}
	g := gate("answers_valid -0.05", "acceptance_length -5%")
	c := compared(t, side(base), side(changed), Options{Gate: g})
	if valid, drafts := c.find(metric.AnswersValid), c.find(metric.AcceptanceLength); valid.Gate != stats.Fail || drafts.Gate != stats.Undecided {
		t.Errorf("valid answers %s, drafts %s", valid.Gate, drafts.Gate)
	}
}

// spreads is a spread between runs that other runs of the machine have shown, of every figure.
func spreads(sd float64) map[string]stats.RunSpread {
	out := map[string]stats.RunSpread{}
	for _, f := range figures(experiment.Gate{}, nil) {
		out[f.key] = stats.RunSpread{SD: sd, DF: 4, Source: stats.SpreadOfMachine}
	}
	return out
}
