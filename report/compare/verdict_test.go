package compare

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// invalid marks the first row of a run as invalid.
func flagged(r Run) Run {
	r.Rows[0].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	return r
}

// An invalid night in base neither hides a regression nor changes its figures; a base without a valid one is
// used as it is.
func TestInvalidRowOfBaseIsLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	slow, bad := quiet, quiet
	slow.tpot *= 1.2
	bad.tpot *= 3
	good, night, now := quiet.run("good", 4, r), flagged(bad.run("bad", 1, r)), slow.run("now", 4, r)
	o := Options{Gate: gate("tpot_p50 +5%")}

	alone := compared(t, side(good), side(now), o)
	c := compared(t, side(night, good), side(now), o)
	p := c.Points[0]
	if len(p.Invalid) != 1 || !p.Invalid[0].LeftOut || p.BaseRepeats != 4 {
		t.Fatalf("not valid %+v, %d repeats of base: the row is to be listed, and left out", p.Invalid, p.BaseRepeats)
	}
	if c.Gate.Verdict != stats.Fail || *c.find("tpot_p50").Change != *alone.find("tpot_p50").Change {
		t.Errorf("gate %s, change %v; without the bad night it is %v", c.Gate.Verdict, *c.find("tpot_p50").Change, *alone.find("tpot_p50").Change)
	}
	if c := compared(t, side(night), side(now), o); c.Gate.Verdict != stats.Undecided || c.Points[0].Invalid[0].LeftOut {
		t.Errorf("gate %s on an invalid base", c.Gate.Verdict)
	}
}

// A regression fails although a row of new is invalid, unless the finding is about the figure and no other row
// shows it: then it is suspected, and no option passes it.
func TestRegressionOfInvalidRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	slow := quiet
	slow.tpot *= 1.2
	base := side(quiet.run("base", 4, r))
	finding := func(about string) record.Finding {
		if about == "" { // an effect that is not stated can be on any figure
			return record.Finding{Code: "stall", Severity: record.Invalid}
		}
		return record.Finding{Code: "stall", Severity: record.Invalid, Effects: []record.Effect{{Metric: about, Direction: record.Inflated, Unit: record.UnitMs}}}
	}
	for _, test := range []struct {
		about     string
		rows      int
		want      stats.Verdict
		suspected bool
	}{{"ttft", 4, stats.Fail, false}, {"tpot", 1, stats.Fail, false}, {"tpot", 4, stats.Undecided, true}, {"", 4, stats.Undecided, true}} {
		now := slow.run("now", 4, r)
		for i := range test.rows {
			now.Rows[i].Findings = []record.Finding{finding(test.about)}
		}
		c := compared(t, base, side(now), Options{Gate: gate("tpot_p50 +5%"), UndecidedPasses: true})
		x := c.Gate.Cases[0]
		if x.Verdict != test.want || x.Suspected != test.suspected || c.Gate.Passes || !strings.Contains(x.Why, "worse by +") || !strings.Contains(x.Why, "A-r1 of now (stall)") {
			t.Errorf("%s in %d rows: %+v", test.about, test.rows, x)
		}
	}
}

// Repeats that ran side by side are compared in pairs: what disturbs both cancels.
func TestPairsCancelWhatBothShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	base, now := quiet.run("a", 6, r), quiet.run("b", 6, r)
	for i := range base.Rows {
		for k, run := range []Run{base, now} {
			tpot := *run.Rows[i].Summary.TPOT
			tpot.P50 = 12 * (1 + 0.1*float64(i)) * (1 + 0.03*float64(k)) * (1 + 0.002*r.NormFloat64())
			run.Rows[i].Summary.TPOT = &tpot
			run.Rows[i].Spec.Repeat = i + 1
		}
	}
	base.Records, now.Records = nil, nil
	m := compared(t, side(base), side(now), Options{Paired: true}).find("tpot_p50")
	if m.Test != ByPairs || m.Verdict != Worse || *m.Change < 0.025 || *m.Change > 0.035 || m.Spread.Source != stats.SpreadOfPairs {
		t.Errorf("%+v", m)
	}
	if m := compared(t, side(base), side(now), Options{}).find("tpot_p50"); m.Verdict != Inconclusive {
		t.Errorf("without pairs the drift hides it: %s", m.Describe())
	}
}

// Several starts of the server within a night are one night: only between parts of one run is each start one.
func TestStartsOfANight(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	run := quiet.run("base", 6, r)
	for i := range run.Rows {
		at := run.Manifest.StartedAt.Add(time.Duration(i) * time.Minute)
		run.Rows[i].StartedAt = at
		if i%2 == 0 {
			run.Manifest.Servers = append(run.Manifest.Servers, record.ServerStart{N: 1 + i/2, Command: []string{"vllm"}, StartedAt: at})
		}
	}
	for parts, want := range map[bool]int{false: 1, true: 3} {
		p := pair{parts: parts}
		for i := range run.Rows {
			p.base = append(p.base, sample{run: &run, row: &run.Rows[i]})
		}
		if groups := p.byRun(p.base, newFigure("tpot_p50").scaled(p.base)); len(groups) != want || len(groups[0]) != 6/want {
			t.Errorf("parts %t: %v", parts, groups)
		}
	}
}

// What new lost altogether has no ratio, and never passes.
func TestFigureThatIsGone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	base := side(quiet.run("base", 3, r))
	for zeros := 1; zeros <= 3; zeros += 2 {
		now := quiet.run("now", 3, r)
		for i := range zeros {
			now.Rows[i].Summary.Throughput.RequestsPerS = 0
		}
		c := compared(t, base, side(now), Options{Gate: gate("requests_per_s -5%"), UndecidedPasses: true})
		if x := c.Gate.Cases[0]; c.Gate.Passes || !x.Suspected || !strings.Contains(x.Why, "0 in a repeat of new") {
			t.Errorf("%d repeats without a request: %+v", zeros, x)
		}
	}
	now := quiet.run("now", 3, r)
	for i := range now.Rows {
		now.Rows[i].Summary.TPOT = nil
	}
	if c := compared(t, base, side(now), Options{Gate: gate("tpot_p50 +5%"), UndecidedPasses: true}); c.Gate.Passes {
		t.Errorf("no TPOT any more: %+v", c.Gate)
	}
	now = quiet.run("now", 3, r)
	now.Rows[0].Summary.TPOT, now.Rows[1].Summary.TPOT = nil, nil
	if c := compared(t, base, side(now), Options{Gate: gate("tpot_p50 +50%")}); c.Gate.Verdict != stats.Undecided {
		t.Errorf("one of three repeats has it: %+v", c.Gate)
	}
}

// A point whose requests all failed is named as failed, and the sweep's exit code is its alarm.
func TestPointThatFailed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	now := quiet.run("now", 3, r)
	for i := range now.Rows {
		s := &now.Rows[i].Summary
		s.TPOT, s.Requests.Completed, s.Requests.Failed = nil, 0, s.Requests.Planned
	}
	c := compared(t, side(quiet.run("base", 3, r)), side(now), Options{Gate: gate("tpot_p50 +5%"), UndecidedPasses: true})
	if x := c.Gate.Cases[0]; !c.Gate.Passes || !x.Failed || x.Suspected || !strings.Contains(x.Why, "every request of new failed") {
		t.Errorf("%+v", x)
	}
}

// Totals without single requests: two of them say nothing on a p99.
func TestPercentilesOfTotals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	of := func(name string) Run {
		run := quiet.run(name, 1, r)
		run.Records = nil
		for _, l := range []*stats.Summary{run.Rows[0].Summary.TTFT, run.Rows[0].Summary.TPOT, run.Rows[0].Summary.E2E} {
			l.CI95 = nil
		}
		return run
	}
	c := compared(t, side(of("a")), side(of("b")), Options{})
	if m := c.find("ttft_p99"); m.Change != nil || m.RawChange == nil || !strings.Contains(m.Why, "no single requests") {
		t.Errorf("%s", m.Describe())
	}
	if m := c.find("ttft_p50"); m.Change == nil {
		t.Errorf("the median: %s", m.Describe())
	}
	if m := compared(t, side(of("a"), of("b"), of("c")), side(of("d"), of("e")), Options{}).find("ttft_p99"); m.Change == nil {
		t.Errorf("five runs: %s", m.Describe())
	}
}

// An invalid row of new counts, and makes the gate UNDECIDED.
func TestInvalidRowOfNewIsNotLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := compared(t, side(quiet.run("base", 4, r)), side(flagged(quiet.run("now", 4, r))), Options{Gate: gate("tpot_p50 +50%")})
	p := c.Points[0]
	if c.Gate.Verdict != stats.Undecided || p.NewRepeats != 4 || len(p.Invalid) != 1 || p.Invalid[0].LeftOut {
		t.Errorf("gate %s with %d repeats of new, invalid %+v", c.Gate.Verdict, p.NewRepeats, p.Invalid)
	}
}

// The reason names Holm if a change is significant alone and not among all gated figures.
func TestChangeThatHolmTakesAway(t *testing.T) {
	m := Metric{Name: "tpot_p50", Threshold: &experiment.Threshold{Metric: "tpot_p50", Worse: 0.03}, Change: new(0.1), P: new(0.017), Adjusted: new(0.24),
		CI95: stats.Interval{Lo: 0.09, Hi: 0.12}, within: stats.Interval{Lo: 0.09, Hi: 0.12}, figure: newFigure("tpot_p50")}
	m.contrast.Spread = 0.1
	m.judge(0.05 / 16)
	const why = "significant alone (p=0.0170), but not among all gated figures (p=0.240)"
	if m.Verdict != Inconclusive || !strings.HasPrefix(m.Why, why) || !strings.Contains(m.Describe(), why) {
		t.Errorf("%s: %s; %s", m.Verdict, m.Why, m.Describe())
	}
}

// No failure in five repeats of about 720 requests proves a rise of less than 0.5 %, and not of less than 0.1
// %: with 0.1 % more failures, no failure is about as likely as one.
func TestNoFailureIsNotNoFailures(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	base, now := side(quiet.run("base", 5, r)), side(quiet.run("now", 5, r))
	for threshold, want := range map[string]stats.Verdict{"error_rate +0.001": stats.Undecided, "error_rate +0.005": stats.Pass} {
		c := compared(t, base, now, Options{Gate: gate(threshold)})
		if m := c.find("error_rate"); c.Gate.Verdict != want || !(m.CI95.Hi > 0.001 && m.CI95.Hi < 0.005) {
			t.Errorf("%s: %s, not %s; at most %v", threshold, c.Gate.Verdict, want, m.CI95.Hi)
		}
	}
}
