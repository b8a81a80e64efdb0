package series

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/twin"
)

// Traffic is what a fleet is to serve: requests at any rate, and their mean lengths.
type Traffic struct {
	Source         twin.Source
	Prompt, Output float64 // tokens, mean
	Cached         float64 // of the prompt
}

// TrafficOf is the traffic of an open row that can be planned: synthetic lengths, with no conversations.
func TrafficOf(s *experiment.Spec) (Traffic, error) {
	if why := untwinned(s); why != "" && !s.Closed() {
		return Traffic{}, errors.New("cannot be sized: it has " + why)
	}
	if w := s.Workload; fromFiles(&w) {
		return Traffic{}, errors.New("cannot be sized: no server has counted the tokens of its file: measure it, " +
			"then size the run")
	}
	own := opened(s)
	own.Stop = "forced"
	return newTraffic(sourceOf(own, nil)), nil
}

// opened is the row of a closed loop with arrivals.
func opened(s *experiment.Spec) *experiment.Spec {
	own := *s
	own.Concurrency = 0
	if !own.Open() {
		own.Rate = 1
	}
	return &own
}

func newTraffic(source twin.Source) Traffic {
	t := Traffic{Source: source}
	all := source(1, twin.Fine)
	n := float64(len(all))
	for i := range all {
		t.Prompt += float64(all[i].Prompt) / n
		t.Output += float64(all[i].Output) / n
		t.Cached += float64(all[i].Cached) / n
	}
	return t
}

// Traffic is that of the rows that the twin was fitted to.
func (t *Twin) Traffic() Traffic { return newTraffic(t.arrivals) }

// Each yields the rows that the twin was fitted to, as it sees them.
func (t *Twin) Each(yield func(*record.Row, *twin.Trial) bool) {
	for i := range t.trials {
		if !yield(t.rows[i], &t.trials[i]) {
			return
		}
	}
}

// Model is the fitted model, and Limits are what it was asked for.
func (t *Twin) Model() twin.Model { return t.model }

func (t *Twin) Limits() []twin.Limit { return t.limits }

// Carries is the highest rate of one of a fleet's replicas, and Rejected or Outside if the rows do not bear it out.
// other is traffic that the rows did not have; nil = theirs.
func (t *Twin) Carries(fleet twin.Fleet, other *Traffic) (o twin.Operating, err error) {
	own := *t
	if other != nil {
		mine := t.Traffic()
		if own.changed, err = t.otherLengths(&mine, other); err != nil {
			return o, err
		}
		own.arrivals = other.Source
	}
	own.trials = t.asRates()
	least, most := own.around(&experiment.Search{Max: math.Inf(1)})
	return own.model.Operating(own.trials, twin.Question{Limits: own.limits, Min: least, Max: most, Source: own.arrivals,
		Requests: twin.Fine, Changed: own.changed, Fleet: fleet}), nil
}

// Between are the rates that the measured figures alone bound: the highest within the limits, and the lowest that
// exceeds one; 0 and +Inf: none does.
func (t *Twin) Between() (within, beyond float64) {
	trials := t.asRates()
	limits := map[float64]map[int]bool{} // seen at a rate
	beyond = math.Inf(1)
	for i, residuals := range t.model.Residuals(trials, t.limits...) {
		for _, r := range residuals {
			if limits[r.Load] == nil {
				limits[r.Load] = map[int]bool{}
			}
			if limits[r.Load][i] = true; r.Measured > t.limits[i].Value {
				beyond = min(beyond, r.Load)
			}
		}
	}
	for rate, seen := range limits {
		if len(seen) == len(t.limits) && rate < beyond {
			within = max(within, rate)
		}
	}
	return within, beyond
}

// otherLengths is the error of the step times for other lengths than the measured ones, of the logarithm of the change:
// they are linear in what the rows had, and not known beyond. Drawn lengths have no whole mean.
func (t *Twin) otherLengths(measured, other *Traffic) (float64, error) {
	const longer, unknown = 2, 0.15
	for _, x := range []struct {
		name        string
		asked, mean float64
	}{{"input", other.Prompt, measured.Prompt}, {"output", other.Output, measured.Output}} {
		if x.asked < math.Floor(x.mean/longer) || x.asked > math.Ceil(x.mean*longer) {
			return 0, fmt.Errorf("%s %.0f is outside of what the rows bear out (%.0f to %.0f tokens): no estimate",
				x.name, x.asked, x.mean/longer, x.mean*longer)
		}
	}
	// of prompts of one length in step with each other, the front end explains as much as their tokens
	const unclear, much = 0.5, 0.1 // of a prompt token's time, its standard error; of ln(computed tokens)
	computed := 0.0
	if asked, had := other.Prompt-other.Cached, measured.Prompt-measured.Cached; asked != had {
		computed = math.Log(asked / had)
	}
	m := &t.model
	if known := m.Errors.PerPrefillToken > 0 && m.Errors.PerPrefillToken < unclear*m.PerPrefillToken; !known &&
		!(math.Abs(computed) <= much) {
		return 0, errors.New("the rows do not show the time per prompt token: no estimate")
	}
	in, out := math.Log(other.Prompt/measured.Prompt), math.Log(other.Output/measured.Output)
	return unknown * math.Hypot(math.Hypot(in, out), other.Cached/other.Prompt-measured.Cached/measured.Prompt), nil
}

// asRates are the trials at the rates that they had: those of a closed loop are what it completed.
func (t *Twin) asRates() []twin.Trial {
	out := slices.Clone(t.trials)
	for i := range out {
		if x := &out[i]; x.Workers > 0 {
			x.Load = completedPerS(x.Requests)
		}
	}
	return out
}

func completedPerS(requests []twin.Request) float64 {
	first, last, n := math.Inf(1), 0.0, 0.0
	for _, r := range requests {
		if r.Window && !r.Failed {
			first, last, n = min(first, r.Last), max(last, r.Last), n+1
		}
	}
	if n < 2 || last <= first {
		return 1e-9
	}
	return (n - 1) / (last - first)
}

// TwinOfTrials fits a twin to trials that are not rows; spec has its limits, and source what it is asked to serve.
func TwinOfTrials(trials []twin.Trial, spec *experiment.Spec, source twin.Source) (*Twin, error) {
	t := &Twin{trials: trials, source: source, arrivals: source}
	if err := t.Limit(spec); err != nil {
		return nil, err
	}
	var err error
	t.model, err = twin.Fit(trials, 0)
	return t, err
}
