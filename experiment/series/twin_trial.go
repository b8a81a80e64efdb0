package series

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/twin"
	"bench/experiment/workload"
)

// untwinned is what a row has that the model lacks; empty: nothing.
func untwinned(s *experiment.Spec) string {
	switch {
	case !s.Streams():
		return "responses that are not streamed"
	case s.HasConversations() || s.Trace != nil:
		return "conversations or a trace"
	case s.Tile != nil || s.IsColdStart() || s.UntilInterrupted() || s.Idle > 0:
		return "cold starts, pauses or rotations"
	case s.HasLeavers():
		return "users who leave"
	case s.HasModels() || s.HasEndpoints():
		return "several models or endpoints"
	case s.Rate.IsInf() || s.Open() && (!s.Arrival.IsSteady() || s.Concurrency > 0):
		return "arrivals that are not steady"
	}
	return ""
}

// TrialOf is a row as the twin sees it. ok is false without a request.
func TrialOf(r *record.Row, records []*record.Record) (t twin.Trial, ok bool) {
	if t.Load = loadOf(&r.Spec); r.Spec.Closed() {
		t.Workers = r.Spec.Concurrency
	}
	t.Cut, t.Filling = r.Summary.Requests.Unfinished > 0, r.Spec.Open() && r.Little != nil && !flowOf(r).Steady()
	records = slices.DeleteFunc(slices.Clone(records), func(x *record.Record) bool { return x.Arrival.IsZero() })
	arrival := func(x *record.Record) record.Micros { // at the server: the client's own delay is none of it
		if t.Workers == 0 && !x.Sent.IsZero() {
			return x.Sent
		}
		return x.Arrival
	}
	slices.SortStableFunc(records, func(a, b *record.Record) int {
		return cmp.Compare(arrival(a).Us(), arrival(b).Us())
	})
	const most = 20_000 // requests: a longer row is cut there, and so is its twin
	s := func(x record.Micros) float64 { return float64(x.Us()) / 1e6 }
	counted := countedHits(r)
	for _, x := range records[:min(most, len(records))] {
		q := twin.Request{Arrival: s(arrival(x)), Lag: s(arrival(x)) - s(x.Arrival), First: s(x.First),
			Last: s(x.Last), Prompt: x.PromptRequested, Output: x.OutputTokens,
			Window: x.Phase == record.PhaseWindow, Failed: !x.OK() || x.First.IsZero()}
		if x.PromptTokens != nil {
			q.Prompt = *x.PromptTokens
		}
		if x.CachedTokens != nil {
			q.Cached = min(*x.CachedTokens, q.Prompt)
		} else {
			q.Cached = int(counted * float64(q.Prompt))
		}
		if x.Session != nil {
			q.Group = *x.Session + 1
		}
		if q.Failed {
			q.Output = x.OutputRequested
			t.Requests = append(t.Requests, q)
			continue
		}
		at := x.First.Us()
		q.Events = make([]float64, 0, x.Gaps.Len())
		for gap := range x.Gaps.All() {
			at += gap
			q.Events = append(q.Events, float64(at)/1e6)
		}
		t.Requests = append(t.Requests, q)
	}
	return t, len(t.Requests) > 0
}

// countedHits is the share of prompt tokens that the server counts as cached, of one that does not report them with its
// responses, as vLLM by default: each prompt is taken to have the mean.
func countedHits(r *record.Row) float64 {
	m := r.Server.Metrics
	if r.Summary.Tokens.Cached != nil || m == nil || m.PrefixHitRate == nil || m.PrefixUnit != "tokens" {
		return 0
	}
	return min(1, *m.PrefixHitRate)
}

// sourceOf makes the requests of a long run: by the row's plan, so that rare long ones are as frequent as they are.
// Lengths that files or the server decide are drawn from the measured ones. Without trials shared prefixes count as
// cached.
func sourceOf(spec *experiment.Spec, trials []twin.Trial) twin.Source {
	var seen []twin.Request
	var cached, prompt, steps, tokens float64
	for i := range trials {
		for _, r := range trials[i].Requests {
			if !r.Failed {
				seen = append(seen, r)
				cached, prompt = cached+float64(r.Cached), prompt+float64(r.Prompt)
				steps, tokens = steps+float64(len(r.Events)), tokens+float64(r.Output-1)
			}
		}
	}
	var all []twin.Request
	if w := spec.Workload; spec.IgnoresEOS() && !fromFiles(&w) {
		if w.Open() {
			w.Rate = 1
		}
		plan := workload.NewPlan(w, spec.Seed, "twin")
		for range twin.Fine {
			q := plan.Next()
			own := twin.Request{Arrival: q.At.Seconds(), Prompt: q.Input, Output: q.Output}
			if q.Own > 0 && q.Own < q.Input && len(q.Blocks) > 0 {
				own.Cached, own.Group = q.Input-q.Own, int(q.Blocks[0].ID>>1)|1
			}
			all = append(all, own)
		}
	} else {
		plan := workload.NewPlan(workload.Workload{Rate: 1, Arrival: w.Arrival, Burstiness: w.Burstiness}, spec.Seed,
			"twin")
		rng := rand.New(rand.NewPCG(spec.Seed, twin.Fine))
		for at := range plan.Arrivals {
			x := seen[rng.IntN(len(seen))]
			if all = append(all, twin.Request{Arrival: at.Seconds(), Prompt: x.Prompt,
				Output: x.Output}); len(all) == twin.Fine {
				break
			}
		}
	}
	const settling = 800 // requests before the window
	for i := range all {
		r := &all[i]
		r.Window = i >= settling
		if len(trials) == 0 {
			continue
		}
		r.Cached = int(cached / max(1, prompt) * float64(r.Prompt))
		if n := int(math.Round(steps / max(1, tokens) * float64(r.Output-1))); n < r.Output-1 {
			r.Steps = max(1, n)
		}
	}
	return func(load float64, n int) []twin.Request {
		out := slices.Clone(all[:n])
		for i := range out {
			out[i].Arrival /= load
		}
		return out
	}
}

func fromFiles(w *workload.Workload) bool {
	return slices.ContainsFunc(w.Classes(), func(c workload.Class) bool {
		return c.Prompts != nil || c.Pairs != nil || c.Input.File != nil || c.Output.File != nil
	})
}
