package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bench/experiment/record"
)

// watched is the history of one figure with these values, on the scale of comparison, one of `live`.
func watched(values []float64, live int) (*Trend, *Alarm) {
	f := newFigure("ttft_p99")
	g := &Group{}
	t := &Trend{Point: "A", Metric: "ttft_p99"}
	for i, x := range values {
		n := night(i, f.unscale(x), "1")
		g.Nights = append(g.Nights, n)
		t.Nights = append(t.Nights, TrendNight{Run: n.Run, At: n.StartedAt, Valid: true,
			Value: Value{X: f.unscale(x)}, night: i})
	}
	g.test(t, live)
	return t, t.Alarm
}

// Fresh change-points of quiet nights seldom raise an alarm, looked at night by night. It logs rows of
// docs/nightly.md.
func TestSimulationFreshChanges(t *testing.T) {
	trials := 4
	if long() {
		trials = 700
	}
	for _, kind := range kindsOfNights {
		const before, looks = 60, 30
		r := rand.New(rand.NewPCG(16, 1))
		alarms := 0
		for range trials {
			values := kind.series(before+looks, r)
			was := true
			for n := before; n <= len(values); n++ {
				_, a := watched(values[:n], 1)
				fresh := a != nil && a.Expected == nil
				if fresh && !was {
					alarms++
				}
				was = fresh
			}
		}
		t.Logf("| %s | %.1f |", kind.name, 1e4*float64(alarms)/float64(trials*looks))
		if kind.most > 0 && float64(alarms) > 1+3*kind.most/1e4*float64(trials*looks) {
			t.Errorf("%s: %d alarms in %d nights", kind.name, alarms, trials*looks)
		}
	}
}

// A step of three standard deviations mostly raises an alarm within a week.
func TestSimulationStepsRaiseAlarms(t *testing.T) {
	trials := 15
	if long() {
		trials = 2000
	}
	for _, live := range []int{1, 20} {
		for _, step := range []float64{2, 3, 4, 5} {
			r := rand.New(rand.NewPCG(16, 2))
			var seen [7]int
			for range trials {
				values := kindsOfNights[0].series(baseline+len(seen), r)
				for i := range seen {
					values[baseline+i] += 0.02 * step
				}
				for i, found := 0, false; i < len(seen); i++ {
					_, a := watched(values[:baseline+i+1], live)
					if found = found || a != nil; found {
						seen[i]++
					}
				}
			}
			row := fmt.Sprintf("| %d figures, %g sd |", live, step)
			for _, n := range seen {
				row += fmt.Sprintf(" %.0f |", 100*float64(n)/float64(trials))
			}
			t.Log(row)
			if live == 1 && step >= 3 && seen[6] < trials*7/10 {
				t.Errorf("a step of %g sd: %d of %d within seven nights", step, seen[6], trials)
			}
		}
	}
}

// A fresh change stays an alarm until ten nights show the new level; then nights are quiet again.
func TestFreshChangeIsAnAlarm(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 3))
	values := kindsOfNights[0].series(70, r)
	for i := 40; i < len(values); i++ {
		values[i] += 0.2
	}
	for _, c := range []struct {
		nights int
		alarm  bool
	}{{40, false}, {45, true}, {50, true}, {51, false}} {
		_, a := watched(values[:c.nights], 1)
		if (a != nil) != c.alarm {
			t.Fatalf("after %d nights the alarm is %+v", c.nights, a)
		}
		if a != nil && (!a.Worse || a.Expected != nil || a.Nights != c.nights-40 || a.Run != "40") {
			t.Errorf("after %d nights the alarm is %+v", c.nights, a)
		}
	}
	var nightsOf []Night
	for i, x := range values {
		nightsOf = append(nightsOf, night(i, newFigure("ttft_p99").unscale(x), "1"))
	}
	if q := NewHistory(nightsOf).Groups[0].Quiet; q != 20 {
		t.Errorf("%d quiet nights, want the 20 after the ten of the alarm", q)
	}
	if q := NewHistory(nightsOf[:35]).Groups[0].Quiet; q != 25 {
		t.Errorf("%d quiet nights, want the 25 that could raise an alarm", q)
	}
}

// A caution leaves a figure watched and marks it; an invalid finding leaves out the figures that it touches,
// or all if it states no effect, but not the share of failed requests that it counts.
func TestWhatTouchesAFigure(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	row, _ := quiet.repeat("A", 1, 1, r)
	second, _ := quiet.repeat("A", 2, 1, r)
	point := func(findings ...record.Finding) NightPoint {
		row.Findings = findings
		return nightPoint("A", []sample{{run: &Run{}, row: &row}}, trended)
	}
	on := func(metric string) []record.Effect {
		return []record.Effect{{Metric: metric, Direction: record.Unknown, Unit: record.UnitFactor}}
	}
	p := point(record.Finding{Code: "client_bound", Severity: record.Caution, Effects: on("ttft")})
	if v := p.Figures["ttft_p50"]; len(v.Invalid) > 0 || !slices.Equal(v.Cautions, []string{"client_bound"}) ||
		p.Figures["tpot_p50"].Cautions != nil {
		t.Errorf("a caution on ttft: %+v", p.Figures)
	}
	p = point(record.Finding{Code: "token_times", Severity: record.Invalid, Effects: on("tpot")})
	if len(p.Figures["tpot_p50"].Invalid) != 1 || p.Figures["ttft_p50"].Invalid != nil {
		t.Errorf("invalid for tpot: %+v", p.Figures)
	}
	p = point(record.Finding{Code: "errors", Severity: record.Invalid})
	if len(p.Figures["ttft_p50"].Invalid) != 1 || p.Figures["error_rate"].Invalid != nil {
		t.Errorf("failed requests: %+v", p.Figures)
	}
	both := nightPoint("A", []sample{{run: &Run{}, row: &row},
		{run: &Run{}, row: &second}}, trended).Figures["ttft_p50"]
	if both.LeftOut != 1 || both.Repeats != 1 || both.Invalid != nil {
		t.Errorf("one of two repeats is invalid: %+v", both)
	}
}
