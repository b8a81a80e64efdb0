package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

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
		CI95: stats.Interval{Lo: 0.09, Hi: 0.12}, figure: newFigure("tpot_p50")}
	m.base, m.changed = []stats.Repeat{{Value: 1}, {Value: 1.1}}, []stats.Repeat{{Value: 1.1}, {Value: 1.2}}
	m.judge(0.05, 0.05/16)
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
