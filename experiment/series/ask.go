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

// Estimated is the twin's answer.
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
	t, err := s.FitTwin(slots, read)
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
	if err := t.inRange(q); err != nil {
		return nil, err
	}
	t.change(q)
	if q.Load > 0 {
		if k.Axis == "concurrency" && q.each() != math.Round(q.each()) {
			return nil, fmt.Errorf("concurrency %v is not a whole number of requests in each server", q.Load)
		}
		t.fleet = twin.Fleet{Replicas: int(q.Replicas), Router: q.Router}
		out.Latencies = t.latencies([]float64{q.each()}, k.Axis == "concurrency", twin.Fine)
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

// inRange: step times are linear in what the rows had, and not known beyond.
func (t *Twin) inRange(q Question) error {
	above, longer := 1.3, 2.0
	if t.model.MaxSequences == 0 { // a batch limit that no row showed may be just above
		above = 1.1
	}
	least, most := math.Inf(1), 0.0
	var prompts, outputs, n float64
	for _, trial := range t.trials {
		least, most = min(least, trial.Load), max(most, trial.Load)
		for _, r := range trial.Requests {
			prompts, outputs, n = prompts+float64(r.Prompt), outputs+float64(r.Output), n+1
		}
	}
	if q.Load > 0 && (q.each() < least/2 || q.each() > most*above) {
		return fmt.Errorf("load %.4g is outside of what the rows bear out (%.4g to %.4g): no estimate", q.each(), least/2,
			most*above)
	}
	if why := t.nearFull(q.each()); why != "" {
		return errors.New(why + ": no estimate")
	}
	for _, x := range []struct {
		name        string
		asked, mean float64
	}{{"input", q.Input, prompts / n}, {"output", q.Output, outputs / n}} {
		if x.asked > 0 && (x.asked < x.mean/longer || x.asked > x.mean*longer) {
			return fmt.Errorf("%s %.0f is outside of what the rows bear out (%.0f to %.0f tokens): no estimate", x.name,
				x.asked, x.mean/longer, x.mean*longer)
		}
	}
	return nil
}

// unknownLengths is the error of the step times for other lengths: of the logarithm of the change.
const unknownLengths = 0.15

// change gives the requests of long runs other lengths.
func (t *Twin) change(q Question) {
	source := t.source
	var prompts, outputs, cached float64
	all := source(1, twin.Fine)
	for _, r := range all {
		cached += float64(r.Cached) / float64(len(all))
		prompts, outputs = prompts+float64(r.Prompt)/float64(len(all)), outputs+float64(r.Output)/float64(len(all))
	}
	factor := func(asked, mean float64) float64 {
		if asked > 0 {
			return asked / mean
		}
		return 1
	}
	in, out := factor(q.Input, prompts), factor(q.Output, outputs)
	t.changed = unknownLengths * math.Hypot(math.Log(in), math.Log(out))
	if q.Prefix >= 0 {
		t.changed = math.Hypot(t.changed, unknownLengths*math.Abs(q.Prefix-cached/prompts))
	}
	t.source = func(load float64, n int) []twin.Request {
		all := source(load, n)
		for i := range all {
			r := &all[i]
			share := float64(r.Cached) / float64(max(1, r.Prompt))
			if q.Prefix >= 0 {
				share = q.Prefix
			}
			r.Prompt, r.Output = max(1, int(math.Round(in*float64(r.Prompt)))), max(1,
				int(math.Round(out*float64(r.Output))))
			r.Cached = int(share * float64(r.Prompt))
			if r.Steps > 0 {
				r.Steps = max(1, int(math.Round(out*float64(r.Steps))))
			}
		}
		return all
	}
}
