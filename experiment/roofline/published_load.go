package roofline

import "bench/experiment/published"

// Published is the expected TTFT and TPOT of a published run, with the waits that its recipe adds to a steady load.
func (s Setup) Published(f published.Figure) (ttft, tpot Bound) {
	s.Engine, s.Layout = f.Engine, Layout{ExpertParallel: f.ExpertParallel > 1}
	recipe, w := f.Recipe(), Workload{Input: f.MeanInput(), Output: f.MeanOutput()}
	if recipe.KV != "" {
		s.KVPrecision = recipe.KV
	}
	x := s.AtConcurrency(float64(f.Concurrency), w)
	x.wait("for the scheduler", recipe.Steps*x.TPOT.ExpectedMs)
	x.wait("for requests that start together", recipe.Prompts*s.PrefillMs(w.Input, 0))
	return x.TTFT, x.TPOT
}
