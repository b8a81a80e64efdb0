package series

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
)

// Question is what a twin is asked: the latencies at a load, or the operating point, of the measured requests or of others.
type Question struct {
	Load   float64 // requests/s, or requests in flight; 0 = ask for the operating point
	Input  float64 // mean prompt tokens: every prompt is longer or shorter by the same factor; 0 = as measured
	Output float64 // mean output tokens, likewise; 0 = as measured
	Prefix float64 // share of the prompts that is cached; negative = as measured
}

// Estimated is the twin's answer.
type Estimated struct {
	Twin          record.Twin
	Latencies     []record.TwinPoint // at the load
	stats.Bracket                    // the operating point, if no load was asked for
}

// AskTwin asks the twin of a series. It is refused outside of what the measured rows bear out.
func (s *Series) AskTwin(q Question, read Requests) (*Estimated, error) {
	k, probes := s.asSearch()
	if k == nil {
		return nil, errors.New("a twin needs rows at two loads and an SLO")
	}
	var rows []*record.Row
	for i := range s.Points {
		rows = append(rows, s.Points[i].Rows...)
	}
	t, err := FitTwin(rows, read)
	if err != nil {
		return nil, err
	}
	t.Ask(k, twin.Fine)
	out := &Estimated{Twin: t.data(s, k, k.Algorithm().Between(probes))}
	if out.Twin.Rejected != "" {
		return nil, errors.New("the twin is rejected: " + out.Twin.Rejected)
	}
	if err := t.inRange(q); err != nil {
		return nil, err
	}
	t.change(q)
	if q.Load > 0 {
		out.Latencies = t.latencies([]float64{q.Load}, k.Axis == "concurrency", twin.Fine)
		if len(out.Latencies) == 0 {
			return nil, fmt.Errorf("the server does not keep up with %s", loadText(k, q.Load))
		}
		return out, nil
	}
	t.Ask(k, twin.Fine)
	if t.answer.Rejected != "" {
		return nil, errors.New("no row is near the operating point: " + t.answer.Rejected)
	}
	out.Bracket, _ = t.bracket(k, stats.Bracket{})
	return out, nil
}

// inRange: step times are linear in what the rows had, and not known beyond.
func (t *Twin) inRange(q Question) error {
	const beyond = 1.3
	least, most := math.Inf(1), 0.0
	var prompts, outputs []float64
	for _, trial := range t.trials {
		least, most = min(least, trial.Load), max(most, trial.Load)
		for _, r := range trial.Requests {
			prompts, outputs = append(prompts, float64(r.Prompt)), append(outputs, float64(r.Output))
		}
	}
	if q.Load > 0 && (q.Load < least/2 || q.Load > most*beyond) {
		return fmt.Errorf("load %.4g is outside of what was measured (%.4g to %.4g): no estimate", q.Load, least, most)
	}
	for _, x := range []struct {
		name   string
		asked  float64
		values []float64
	}{{"input", q.Input, prompts}, {"output", q.Output, outputs}} {
		slices.Sort(x.values)
		low, high := x.values[0]/2, 2*x.values[len(x.values)-1]
		if x.asked > 0 && (x.asked < low || x.asked > high) {
			return fmt.Errorf("%s %.0f is outside of what was measured (%.0f to %.0f tokens): no estimate", x.name, x.asked, 2*low, high/2)
		}
	}
	return nil
}

// change gives the requests of long runs other lengths.
func (t *Twin) change(q Question) {
	source := t.source
	var prompts, outputs float64
	all := source(1, twin.Fine)
	for _, r := range all {
		prompts, outputs = prompts+float64(r.Prompt)/float64(len(all)), outputs+float64(r.Output)/float64(len(all))
	}
	factor := func(asked, mean float64) float64 {
		if asked > 0 {
			return asked / mean
		}
		return 1
	}
	in, out := factor(q.Input, prompts), factor(q.Output, outputs)
	t.source = func(load float64, n int) []twin.Request {
		all := source(load, n)
		for i := range all {
			r := &all[i]
			share := float64(r.Cached) / float64(max(1, r.Prompt))
			if q.Prefix >= 0 {
				share = q.Prefix
			}
			r.Prompt, r.Output = max(1, int(math.Round(in*float64(r.Prompt)))), max(1, int(math.Round(out*float64(r.Output))))
			r.Cached, r.Steps = int(share*float64(r.Prompt)), int(math.Round(out*float64(r.Steps)))
		}
		return all
	}
}
