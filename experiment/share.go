package experiment

import "bench/experiment/workload"

func (s *Spec) Share(worker, of int) workload.Share {
	return workload.Share{Worker: worker, Of: of, RowConcurrency: s.EffectiveLoad().Concurrency, Seed: s.planSeed()}
}

// CannotShare is why several workers can't send the point together, and a hint; both empty: they can.
func (s *Spec) CannotShare() (problem, hint string) {
	switch {
	case s.Tile != nil:
		return "workload = \"tiling\" sends its blocks in one order, which several workers do not keep", "run this row without --workers"
	case s.IsColdStart():
		return `kind = "cold_start" sends one request at a time to an idle server`, "run this row without --workers"
	case s.Warmup.Requests > 0 && s.Duration > 0 && (s.Closed() || s.HasConversations()):
		return "the warm-up counts requests, so that each worker would end it at another moment", `write warmup as a time: warmup = "10s"`
	}
	return "", ""
}
