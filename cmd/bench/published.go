package main

import (
	"cmp"
	"slices"

	"bench/experiment/published"
	"bench/experiment/roofline"
)

// addPublished sets the figures that others published for the setup and the lengths, near the batches, each beside
// the expected values of its own engine, layout, mean lengths and concurrency; without one, what others are for.
func addPublished(p *roofline.Prediction, s roofline.Setup, work roofline.Workload) {
	q := published.Query{Model: s.Model.ID, Precision: s.WeightPrecision(), GPU: s.Device.ID, GPUs: p.GPUs,
		Input: work.Input, Output: work.Output}
	for _, f := range publishedNear(q, p, work) {
		p.Published = append(p.Published, f.Beside(expectedOf(s, f)))
	}
	if len(p.Published) == 0 {
		p.PublishedFor = published.ShapesOf(q)
	}
	for _, f := range published.InDataSets(q) {
		p.Published = append(p.Published, f.Beside(published.Own{}))
	}
}

// expectedOf are the values that the published run should have had on this device, without the limits of the user's
// server.
func expectedOf(s roofline.Setup, f published.Figure) published.Own {
	if f.Concurrency == 0 {
		s.Layout = roofline.Layout{ExpertParallel: f.ExpertParallel > 1}
		return published.Own{OutputPerGPU: s.Peak(roofline.Workload{Input: f.MeanInput(),
			Output: f.MeanOutput()}).PerGPU}
	}
	ttft, tpot := s.Published(f)
	return published.Own{TTFTMs: ttft.ExpectedMs, TPOTMs: tpot.ExpectedMs}
}

// publishedNear are the figures near each batch, each once. Cached prompts and speculation are another workload.
func publishedNear(q published.Query, p *roofline.Prediction, work roofline.Workload) []published.Figure {
	if work.Cached > published.Tolerance*work.Input || work.Speculation != nil {
		return nil
	}
	var all []published.Figure
	for _, d := range p.Decode {
		q.Concurrency = float64(d.Batch)
		for _, f := range published.Near(q) {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b published.Figure) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.ExpertParallel, b.ExpertParallel),
			cmp.Compare(a.Concurrency, b.Concurrency))
	})
	return all
}
