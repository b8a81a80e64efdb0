package rehearse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report/compare"
)

var gate = experiment.Gate{Thresholds: []experiment.Threshold{
	{Metric: "tpot_p50", Worse: 0.05}, {Metric: "output_tokens_per_s", Worse: 0.05},
}}

// nights measures a server whose figures follow the story exactly: two points, three repeats.
func nights(s *Story) func(context.Context, int) (compare.Run, error) {
	return func(_ context.Context, n int) (compare.Run, error) {
		name := fmt.Sprintf("night-%02d", n)
		run := compare.Run{Name: name, Run: record.Run{Manifest: record.Manifest{
			Run: name, StartedAt: time.Date(2026, 1, n, 2, 0, 0, 0, time.UTC), Target: record.TargetInfo{Model: "llama"},
		}}}
		for _, point := range []string{"A", "B"} {
			for repeat := 1; repeat <= 3; repeat++ {
				row := record.Row{ID: fmt.Sprintf("%s-r%d", point, repeat),
					Spec: experiment.Spec{Name: point, Repeat: repeat}, Checks: record.Checks{Passed: []string{"lag"}}}
				times := s.Times(n, &row.Spec)
				row.Summary.TPOT = &stats.Summary{N: 600, P50: 20 * times,
					CI95: map[string]stats.Interval{"p50": {Lo: 19.99 * times, Hi: 20.01 * times}}}
				row.Summary.Requests = record.Requests{Planned: 600, Sent: 600, Completed: 600}
				row.Summary.Throughput.OutputTokensPerS = 1000 / times
				run.Rows = append(run.Rows, row)
				run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, Name: point, State: "done"})
			}
		}
		return run, nil
	}
}

func rehearsed(t *testing.T, s Story) *Result {
	t.Helper()
	s.Nights, s.Noise, s.RepeatNoise = 24, 0.005, 0.005
	told := 0
	r, err := Rehearse(t.Context(), &s, gate, nights(&s), func(*Morning) error { told++; return nil })
	if err != nil || told != 24 || len(r.Mornings) != 24 {
		t.Fatalf("%d mornings: %v", told, err)
	}
	return r
}

func TestQuiet(t *testing.T) {
	for seed := range uint64(5) {
		r := rehearsed(t, Story{Seed: seed})
		want := "24 nights without a planted slowdown: not red; "
		if len(r.Summary) != 1 || !strings.HasPrefix(r.Summary[0], want) {
			t.Errorf("seed %d: %q", seed, r.Summary)
		}
		if len(r.Mornings[0].Base) != 0 || len(r.Mornings[9].Base) != 5 {
			t.Errorf("bases %q and %q", r.Mornings[0].Base, r.Mornings[9].Base)
		}
	}
}

// A server that is 8 % slower is red on its first night; the repair makes it quiet.
func TestSlower(t *testing.T) {
	r := rehearsed(t, Story{Planted: []Event{{Night: 14, Change: 0.08}, {Night: 20, Change: 1/1.08 - 1}}})
	m := r.Mornings[13]
	if m.Job != "red" || m.Verdict != stats.Fail || m.Truth != "+8 %" || !strings.Contains(m.Answer, "TPOT p50") {
		t.Errorf("%+v", m)
	}
	if r.Mornings[12].Job != "green" || r.Mornings[19].Truth != "-" {
		t.Errorf("%+v\n%+v", r.Mornings[12], r.Mornings[19])
	}
	if !strings.HasPrefix(r.Summary[0], "planted +8 % from night 14 on: red on night 14") ||
		!strings.HasPrefix(r.Summary[2], "18 nights without a planted slowdown: not red") {
		t.Errorf("%q", r.Summary)
	}
}

// An odd night is named, and is no cause of what comes after it.
func TestOddNight(t *testing.T) {
	r := rehearsed(t, Story{Planted: []Event{{Night: 13, Change: 0.12, Odd: true}}})
	if m := r.Mornings[12]; m.Job != "red" || m.Truth != "odd +12 %" || m.Cause != 0 || r.Mornings[13].Cause != none {
		t.Errorf("%+v", m)
	}
	if r.Summary[0] != "planted +12 % in night 13 only: red on night 13" {
		t.Errorf("%q", r.Summary)
	}
	faster := rehearsed(t, Story{Planted: []Event{{Night: 13, Change: -0.12, Odd: true}}})
	if m := faster.Mornings[12]; m.Job != "green" || faster.Summary[0] != "planted -12 % in night 13 only: not red" {
		t.Errorf("%+v\n%q", m, faster.Summary)
	}
}

// A change below the threshold is no regression of a night, but one of several: red once, dated and sized.
func TestSeveralNights(t *testing.T) {
	r := rehearsed(t, Story{Planted: []Event{{Night: 14, Change: 0.035}}})
	var red []Morning
	for _, m := range r.Mornings {
		if m.Job == "red" {
			red = append(red, m)
		}
	}
	if len(red) != 1 || red[0].Night < 15 || red[0].Night > 19 || !strings.Contains(red[0].Answer, " nights since 1") {
		t.Errorf("%+v", red)
	}
}

// What was red before hides nothing that comes after it: a repair and the same again, a small step and a larger one, a
// drift and a step.
func TestKnownHidesNothing(t *testing.T) {
	drift := []Event{}
	for n := 5; n <= 45; n++ {
		drift = append(drift, Event{n, 0.0015, false})
	}
	for name, planted := range map[string][]Event{
		"again":       {{20, 0.08, false}, {26, 1/1.08 - 1, false}, {29, 0.08, false}},
		"larger":      {{26, 0.03, false}, {34, 0.07, false}},
		"after drift": append(drift, Event{45, 0.07, false}),
	} {
		last := planted[len(planted)-1].Night
		for seed := range uint64(3) {
			s := Story{Seed: seed, Planted: planted, Nights: last + 3, Noise: 0.004, RepeatNoise: 0.004}
			r, err := Rehearse(t.Context(), &s, gate, nights(&s), func(*Morning) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if m := r.Mornings[last-1]; m.Job != "red" {
				t.Errorf("%s, seed %d: %+v", name, seed, m)
			}
		}
	}
}

// A fast night hides no regression, and neither does a slow one.
func TestOddNightHidesNothing(t *testing.T) {
	for _, odd := range []float64{-0.12, -0.05, 0.14} {
		r := rehearsed(t, Story{Planted: []Event{{Night: 13, Change: odd, Odd: true}, {Night: 14, Change: 0.08}}})
		if !strings.HasPrefix(r.Summary[1], "planted +8 % from night 14 on: red on night 14") {
			t.Errorf("odd %+.0f %%: %q", 100*odd, r.Summary)
		}
	}
}

func TestCause(t *testing.T) {
	s := Story{Planted: []Event{{5, 0.1, false}, {7, 0.2, true}, {9, -0.1, false}, {9, 0.3, true}, {11, -0.2, true},
		{12, 0.5, false}, {13, -0.1, false}}}
	var got []int
	for n := 4; n <= 13; n++ {
		got = append(got, s.cause(n))
	}
	if want := []int{none, 0, 0, 1, 0, 3, none, none, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := s.truth(9); got != "-1 %, odd +30 %" {
		t.Error(got)
	}
}

// The noise has the stated size, and what is planted does not change it.
func TestNoise(t *testing.T) {
	quiet := Story{Noise: 0.01, RepeatNoise: 0.005, Seed: 3}
	slow := quiet
	slow.Planted = []Event{{2, 0.08, false}}
	var squares float64
	const n = 4000
	for night := 1; night <= n; night++ {
		row := experiment.Spec{Name: "A", Repeat: 1}
		x := quiet.Times(night, &row)
		if night > 1 && math.Abs(slow.Times(night, &row)/x-1.08) > 1e-12 {
			t.Fatalf("night %d: %g", night, slow.Times(night, &row)/x)
		}
		squares += math.Log(x) * math.Log(x)
	}
	if sd, want := math.Sqrt(squares/n), math.Hypot(0.01, 0.005); math.Abs(sd/want-1) > 0.05 {
		t.Errorf("standard deviation %g, want %g", sd, want)
	}
}

func TestMistakes(t *testing.T) {
	for _, text := range []string{"", "8", "8%", "8@14", "8%@x", "0%@3", "-95%@3", "NaN%@3", "8%@14@15"} {
		if e, err := ParseEvent(text); err == nil {
			t.Errorf("%q: %+v", text, e)
		}
	}
	if e, err := ParseEvent("-2.5%@=14"); err != nil || e != (Event{14, -0.025, true}) {
		t.Errorf("%+v, %v", e, err)
	}
	for _, s := range []Story{{Nights: 1}, {Nights: 367}, {Nights: 9, Planted: []Event{{1, 0.1, false}}},
		{Nights: 9, Planted: []Event{{10, 0.1, true}}}} {
		if s.Check() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	failed := errors.New("no night")
	measure := func(context.Context, int) (compare.Run, error) { return compare.Run{}, failed }
	if _, err := Rehearse(t.Context(), &Story{Nights: 2}, gate, measure, nil); !errors.Is(err, failed) {
		t.Error(err)
	}
}
