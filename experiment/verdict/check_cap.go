package verdict

import (
	"bench/experiment/record"
	"bench/experiment/unit"
)

// checkCap finds requests that waited for their worker's part of a cap while another worker could have sent them.
func checkCap(e *Measured) checkResult {
	if len(e.Workers) < 2 || e.Spec.Closed() || e.Spec.Concurrency == 0 {
		return unasked
	}
	waited, n, most := 0, 0, 0.0
	for r := range record.Completed(e.Records) {
		n++
		if ms := capWait(r); ms > 0 {
			waited++
			most = max(most, ms)
		}
	}
	switch {
	case n == 0:
		return noData
	case float64(waited) <= tolerated*float64(n):
		return passed()
	}
	return caution("run this row without --workers, or raise concurrency: only waits under the cap differ",
		"%d of %d requests waited up to %s under the cap of their worker, while another worker may have been below its own",
		waited, n, unit.Format(most, "ms")).
		touching(exactly(record.Inflated, most, capWait, fromArrival, []string{"cap_wait"}))
}

func capWait(r *record.Record) float64 {
	ms, _ := r.Latency("cap_wait", true)
	return ms
}
