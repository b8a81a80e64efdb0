package series

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
)

// Question is what a twin is asked: the latencies at a load, or the operating point, of the measured requests or of
// others.
type Question struct {
	Load   float64 // requests/s, or requests in flight; 0 = ask for the operating point
	Input  float64 // mean prompt tokens: every prompt is longer or shorter by the same factor; 0 = as measured
	Output float64 // mean output tokens, likewise; 0 = as measured
	Prefix float64 // share of the prompts that is cached; negative = as measured
	// Replicas of the measured server behind a router share the load; 0 = 1.
	Replicas float64
	Router   string // one of twin.Routers; empty = the first
}

// each is the load of one replica.
func (q *Question) each() float64 { return q.Load / max(1, q.Replicas) }

type Estimated struct {
	Twin          record.Twin        `json:"twin"`
	Latencies     []record.TwinPoint `json:"latencies,omitempty"` // at the requested load
	stats.Bracket                    // the operating point, without a requested load
}

// AskTwin asks the twin of a series. It is refused outside of what the measured rows bear out. other: its limits are
// not the ones by which the rows have their verdicts.
func (s *Series) AskTwin(q Question, other bool, slots int, read Requests) (*Estimated, error) {
	k, probes := s.asSearch(other || q.Load > 0)
	if k == nil {
		return nil, errors.New("a twin needs rows at two loads, and limits of latencies: [slo], or slo.ttft_p95=500ms")
	}
	t, err := FitTwin(s.Rows(), slots, read, nil)
	if err != nil {
		return nil, fmt.Errorf("no twin: %w", err)
	}
	t.Ask(k)
	var verdicts stats.Bracket
	if !other {
		verdicts = k.Algorithm().Between(probes)
	}
	out := &Estimated{Twin: t.data(s, k, verdicts)}
	if out.Twin.Rejected != "" {
		return nil, errors.New("the twin is rejected: " + out.Twin.Rejected)
	}
	if q.Load > 0 {
		out.Twin.Outside = "" // the highest load, which is not asked for
	}
	if err := cmp.Or(t.inRange(q.each()), t.change(q)); err != nil {
		return nil, err
	}
	if q.Load > 0 {
		if k.Axis == "concurrency" && q.each() != math.Round(q.each()) {
			return nil, fmt.Errorf("concurrency %v is not a whole number of requests in each server", q.Load)
		}
		t.fleet = twin.Fleet{Replicas: int(q.Replicas), Router: q.Router}
		out.Latencies = t.latencies([]float64{q.each()}, k.Axis == "concurrency", twin.Fine)[q.each()]
		for i := range out.Latencies {
			out.Latencies[i].Load = q.Load
		}
		if len(out.Latencies) == 0 {
			return nil, fmt.Errorf("the twin does not keep up with %s, or no row has such latencies",
				LoadText(k, q.Load))
		}
		return out, nil
	}
	t.Ask(k)
	if why := cmp.Or(t.answer.Rejected, t.answer.Outside); why != "" {
		return nil, errors.New("no estimate: " + why)
	}
	out.Bracket, _ = t.bracket(k, stats.Bracket{})
	return out, nil
}

// inRange: a load of one server that is far from those of the rows is not known.
func (t *Twin) inRange(load float64) error {
	above := 1.3
	if t.model.MaxSequences == 0 { // a batch limit that no row showed may be just above
		above = 1.1
	}
	least, most := math.Inf(1), 0.0
	for _, trial := range t.trials {
		least, most = min(least, trial.Load/2), max(most, trial.Load*above)
	}
	if load > 0 && (load < least || load > most) {
		return fmt.Errorf("load %.4g is outside of what the rows bear out (%.4g to %.4g): no estimate", load, least,
			most)
	}
	if why := t.nearFull(load); why != "" {
		return errors.New(why + ": no estimate")
	}
	return nil
}

func (t *Twin) change(q Question) (err error) {
	source, mine := t.source, newTraffic(t.source)
	asked := Traffic{Prompt: cmp.Or(q.Input, mine.Prompt), Output: cmp.Or(q.Output, mine.Output)}
	in, out := asked.Prompt/mine.Prompt, asked.Output/mine.Output
	if asked.Cached = in * mine.Cached; q.Prefix >= 0 {
		asked.Cached = q.Prefix * asked.Prompt
	}
	times := func(n int, factor float64) int { return max(1, int(math.Round(factor*float64(n)))) }
	t.source = func(load float64, n int) []twin.Request {
		all := source(load, n)
		for i := range all {
			r := &all[i]
			share := float64(r.Cached) / float64(max(1, r.Prompt))
			if q.Prefix >= 0 {
				share = q.Prefix
			}
			r.Prompt, r.Output = times(r.Prompt, in), times(r.Output, out)
			r.Cached = int(share * float64(r.Prompt))
			if r.Steps > 0 {
				r.Steps = times(r.Steps, out)
			}
		}
		return all
	}
	t.changed, err = t.otherLengths(&mine, &asked)
	return err
}
