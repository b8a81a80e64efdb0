package verdict

import (
	"fmt"

	"bench/experiment/record"
)

// checkBuffered finds events that arrived together: a proxy buffers them, or the engine sends several at once. What
// arrives at once after a stall is no buffering.
func checkBuffered(e *Measured) checkResult {
	whole, n, most := buffered(e.disturbed.without(e.Records))
	zero, gaps := 0, 0
	for r := range record.Completed(e.Records) {
		gaps += r.Gaps.Len()
		for us := range r.Gaps.All() {
			if us == 0 {
				zero++
			}
		}
	}
	bundled := 2*zero > gaps
	switch {
	case gaps == 0:
		return noData
	case whole > 0 && float64(whole) > tolerated*float64(n):
		effects := append(e.heldBack(atOnce), onRequests(record.Unknown, whole, []string{"itl"})...)
		if bundled && whole < n { // the others are bundled in part
			effects = append(e.heldBack(func(*record.Record) bool { return true }),
				unbounded(record.Inflated, []string{"tpot"})...)
			effects = append(effects, unbounded(record.Unknown, []string{"itl"})...)
		}
		text := fmt.Sprintf("%d of %d answers with %d or more events arrived all at once", whole, n, fewestEvents)
		if most <= shortAnswer {
			text += fmt.Sprintf(" (at most %d events each)", most)
		}
		return caution(bufferingHint(whole, n, most), "%s: their tpot and itl can't be measured",
			text).touching(effects)
	case bundled:
		return caution("read tpot, not itl",
			"%d of %d events arrived together with the previous one: itl is not the time between tokens", zero, gaps).
			touching(unbounded(record.Unknown, []string{"itl"}))
	}
	return passed()
}

const fewestEvents = 4

const shortAnswer = 5

func bufferingHint(whole, of, most int) string {
	switch {
	case most <= shortAnswer:
		return "measure longer answers, on a less busy machine: a few tokens can arrive in one read"
	case 2*whole < of:
		return "find what holds back some answers: a busy server, client or network; a buffering proxy holds back all"
	}
	return "disable buffering between server and client (nginx: proxy_buffering off)"
}

func buffered(records []*record.Record) (whole, of, most int) {
	for r := range record.Completed(records) {
		if r.Gaps.Len()+1 < fewestEvents {
			continue
		}
		of++
		if atOnce(r) {
			whole, most = whole+1, max(most, r.Gaps.Len()+1)
		}
	}
	return whole, of, most
}

// atOnce reports whether the tokens of an answer arrived less than 1 µs apart on average.
func atOnce(r *record.Record) bool {
	return r.Gaps.Len()+1 >= fewestEvents && !r.Last.IsZero() && r.Last.Us()-r.First.Us() < int64(r.Gaps.Len())
}

// heldBack is the effect on tpot: the first token was made after the request was sent, the last before it arrived.
func (e *Measured) heldBack(which func(*record.Record) bool) []effect {
	own := func(r *record.Record) float64 {
		tpot, ok := r.Latency("tpot", e.Spec.Streams())
		if !ok || !which(r) {
			return 0
		}
		return float64(r.Last.Us()-r.Sent.Us())/record.UsPerMs/float64(r.OutputTokens-1) - tpot
	}
	most := 0.0
	for r := range record.Completed(e.Records) {
		most = max(most, own(r))
	}
	return exactly(record.Lowered, most, own, []string{"tpot"})
}
