package verdict

import "bench/experiment/record"

func checkTokenTimes(e *Measured) checkResult {
	if !e.Spec.Streams() || e.Summary.Requests.Completed == 0 {
		return noData
	}
	unknown, whole, n := 0, 0, 0
	for r := range record.Completed(e.Records) {
		n++
		switch {
		case e.Observed && r.FirstEvent.IsZero(): // its caller asked for no stream
			whole++
		case timeUnknown(r):
			unknown++
		}
	}
	if whole > 0 && unknown == 0 {
		return found(record.Note, "", "%d of %d answers were not streamed: no TTFT, no TPOT", whole, n)
	}
	severity := record.Caution
	switch {
	case unknown == 0:
		return passed()
	case float64(unknown) <= tolerated*float64(n):
		severity = record.Note
	}
	return found(severity,
		"use a server that lists token ids (vLLM: return_token_ids), or ask for answers of plain text",
		"%d of %d answers have no text in their first or last events: their ttft, tpot or e2e is not known", unknown,
		n).
		touching(onRequests(record.Unknown, unknown, []string{"ttft", "ttft_from_send", "tpot", "itl"}, lastToken))
}

// timeUnknown: if all completed answers are such, the failed requests are a latency's only values, and decide
// nothing.
func timeUnknown(r *record.Record) bool { return r.OK() && (r.First.IsZero() || r.Last.IsZero()) }
