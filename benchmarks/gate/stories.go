package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment/stats"
	"bench/report/compare"
)

// told are nights in a row, each judged as deploy/bench-nightly judges it: what a gate holds back, what it knows, and
// alarms count.
var told = recipe("in a row, 5 x 3", 3,
	Setting{Name: "nights 0.5 %, repeats 0.5 %", Night: 0.005, Repeat: 0.005},
	Setting{Name: "nights 0.7 %, repeats 1 %", Night: 0.007, Repeat: 0.01},
	Setting{Name: "nights 1 %, repeats 0.5 %", Night: 0.01, Repeat: 0.005},
	Setting{Name: "nights 2 %, repeats 1 %", Night: 0.02, Repeat: 0.01},
	Setting{Name: "two modes 2 % apart, 10 nights each", Nights: dwelling(10, 4), Night: 0.005, Repeat: 0.005},
	Setting{Name: "two modes 4 % apart, 20 nights each", Nights: dwelling(20, 8), Night: 0.005, Repeat: 0.005},
	Setting{Name: "one weekday 2 % slower", Nights: weekday(4), Night: 0.005, Repeat: 0.005},
	Setting{Name: "a sine of 28 nights, 1 %", Nights: sine(28, 2), Night: 0.005, Repeat: 0.005},
	Setting{Name: "0.1 % a night", Nights: drift(0.2), Night: 0.005, Repeat: 0.005},
	Setting{Name: "Student t(3), 0.5 %", Nights: each(student(3)), Night: 0.005, Repeat: 0.005},
)

// dwelling nights stay in one of two modes, for this mean number of nights.
func dwelling(nights, apart float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out, slow := make([]float64, n), r.Float64() < 0.5
		for i := range out {
			if r.Float64() < 1/nights {
				slow = !slow
			}
			out[i] = r.NormFloat64()
			if slow {
				out[i] += apart
			}
		}
		return out
	}
}

func weekday(slower float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out, day := make([]float64, n), r.IntN(7)
		for i := range out {
			out[i] = r.NormFloat64()
			if (day+i)%7 == 0 {
				out[i] += slower
			}
		}
		return out
	}
}

func sine(period, amplitude float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out, phase := make([]float64, n), 2*math.Pi*r.Float64()
		for i := range out {
			out[i] = r.NormFloat64() + amplitude*math.Sin(phase+2*math.Pi*float64(i)/period)
		}
		return out
	}
}

// teller judges nights in a row.
type teller struct {
	setting *Setting
	earlier []compare.Candidate // the latest first
}

func (t *teller) night(run compare.Run) (*compare.Comparison, error) {
	o := compare.Options{Gate: t.setting.gate(), UndecidedPasses: true}
	c, err := compare.ChooseBase(run, t.earlier, 5, nil).Compare(run, o)
	if err != nil {
		return nil, err
	}
	run.Gate = c.Record(run.Name)
	t.earlier = append([]compare.Candidate{{Name: run.Name, Read: func() (compare.Run, error) { return run, nil }}}, t.earlier...)
	return c, nil
}

// tale counts verdicts of the gate: on quiet nights, and on regressions that begin after each number of beginnings.
type tale struct {
	nights, red, undecided int
	found                  map[string][2]int // by regression: red at once, within three nights
	trials                 int
}

var (
	quietNights = 40
	beginnings  = []int{6, 12, 30}
	regressions = []change{{Name: "+5 %", Size: 0.05}, {Name: "+8 %", Size: 0.08}}
)

func tell(s Setting, trials int, seed uint64) (tale, error) {
	t := tale{found: map[string][2]int{}, trials: trials}
	for i := range trials {
		w := world{&s, rand.New(rand.NewPCG(seed, uint64(i))), false}
		var runs []compare.Run
		for k, level := range w.levels(quietNights) {
			run := w.run(k, s.New, s.Repeat, level)
			run.Manifest.Run = run.Name
			runs = append(runs, run)
		}
		quiet := &teller{setting: &s}
		for k, run := range runs {
			if slices.Contains(beginnings, k) {
				if err := t.plant(quiet, runs[k:], k); err != nil {
					return t, err
				}
			}
			c, err := quiet.night(run)
			if err != nil {
				return t, err
			}
			if k >= 5 {
				t.nights++
				t.red += count(!c.Gate.Passes)
				t.undecided += count(c.Gate.Verdict == stats.Undecided)
			}
		}
	}
	return t, nil
}

func (t *tale) plant(quiet *teller, runs []compare.Run, after int) error {
	for _, r := range regressions {
		now := teller{quiet.setting, slices.Clone(quiet.earlier)}
		key := fmt.Sprintf("%s after %d", r.Name, after)
		found := t.found[key]
		for k, run := range runs[:3] {
			c, err := now.night(r.plantNight(run))
			if err != nil {
				return err
			}
			if !c.Gate.Passes {
				found[0] += count(k == 0)
				found[1]++
				break
			}
		}
		t.found[key] = found
	}
	return nil
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// tellAll writes a table of all settings: red nights by 100 quiet ones, and regressions found at once, within three nights.
func tellAll(out io.Writer, trials int, seed uint64) error {
	fmt.Fprint(out, "nights | red of 100 | UNDECIDED")
	var keys []string
	for _, r := range regressions {
		for _, n := range beginnings {
			keys = append(keys, fmt.Sprintf("%s after %d", r.Name, n))
			fmt.Fprintf(out, " | %s", keys[len(keys)-1])
		}
	}
	fmt.Fprintln(out, "\n---|---|---"+fmt.Sprintf("%.*s", 4*len(keys), "|---|---|---|---|---|---|---"))
	for _, s := range told {
		t, err := tell(s.defaults(), trials, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
		fmt.Fprintf(out, "%s | %.1f | %.0f %%", s.Name, share(t.red, t.nights), share(t.undecided, t.nights))
		for _, key := range keys {
			fmt.Fprintf(out, " | %.0f, %.0f %%", share(t.found[key][0], t.trials), share(t.found[key][1], t.trials))
		}
		fmt.Fprintln(out)
	}
	return nil
}
