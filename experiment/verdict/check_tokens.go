package verdict

import (
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// checkPromptLength fails if the server counts other prompt lengths than requested.
func checkPromptLength(e *Measured) checkResult {
	l := e.Lengths
	if l.PromptTokens == nil || l.PromptRequested == nil {
		return noData
	}
	if math.Abs(l.PromptTokens.Mean-l.PromptRequested.Mean) > tolerated*l.PromptRequested.Mean {
		return failed("compare rows by the counted tokens, not by the requested ones",
			"requested %s prompt tokens, server counted %s (mean)", unit.Brief(l.PromptRequested.Mean, 4), unit.Brief(l.PromptTokens.Mean, 4))
	}
	return passed()
}

// checkOutputLength fails if answers with ignore_eos have other lengths than requested, whatever their finish
// reason.
func checkOutputLength(e *Measured) checkResult {
	counted, requested, n := 0, 0, 0
	for r := range record.Completed(e.Records) {
		if e.Spec.ClassIgnoresEOS(r.Class) {
			counted, requested, n = counted+r.OutputTokens, requested+r.OutputRequested, n+1
		}
	}
	if n == 0 {
		return noData
	}
	if off := math.Abs(float64(counted - requested)); off > tolerated*float64(requested) {
		return failed(`compare rows by the counted tokens; or use natural EOS: stop = "natural"`,
			"requested %s output tokens with ignore_eos, server counted %s (mean)",
			unit.Brief(float64(requested)/float64(n), 4), unit.Brief(float64(counted)/float64(n), 4))
	}
	return passed()
}

// checkTokenCounts fails if the server's usage is impossible or missing.
func checkTokenCounts(e *Measured) checkResult {
	if e.Summary.Requests.Completed == 0 {
		return noData
	}
	impossible, n := 0, 0
	for r := range record.Completed(e.Records) {
		n++
		if r.OutputTokens > r.OutputRequested || r.OutputTokens == 0 && !r.First.IsZero() {
			impossible++
		}
	}
	if impossible > 0 {
		return failed("ignore figures per token: the server's usage is wrong",
			"usage of %d of %d answers is impossible: more tokens than requested, or none despite text", impossible, n)
	}
	if e.Summary.Tokens.Estimated {
		return failed("enable usage on the server (stream_options.include_usage)",
			"the server did not report usage: token counts are the client's estimate")
	}
	return passed()
}

// checkTokensPerEvent fails if an event is not a token.
func checkTokensPerEvent(e *Measured) checkResult {
	x := e.Summary.TokensPerEvent
	if e.Summary.ITL == nil || x == 0 {
		return noData
	}
	if x > 1.05 || x < 0.95 {
		return failed("read tpot, which is per token", "an event has %s tokens (mean): itl is per event, not per token", unit.Brief(x, 3))
	}
	return passed()
}

// checkBuffered fails if events arrived together: a proxy buffers them, or the engine sends several at once.
// Then itl is not the time between tokens, and tpot does not exist for an answer that arrived all at once.
// After a stall a server, or a network, may send all that it had at once: that is no buffering.
func checkBuffered(e *Measured) checkResult {
	whole, n := buffered(e.disturbed.without(e.Records))
	zero, gaps := 0, 0
	for r := range record.Completed(e.Records) {
		gaps += r.Gaps.Len()
		for us := range r.Gaps.All() {
			if us == 0 {
				zero++
			}
		}
	}
	switch {
	case gaps == 0:
		return noData
	case whole > 0 && float64(whole) > tolerated*float64(n):
		return failed("disable buffering between server and client (nginx: proxy_buffering off)",
			"%d of %d answers arrived all at once: tpot and itl can't be measured", whole, n)
	case 2*zero > gaps:
		return failed("read tpot, not itl", "%d of %d events arrived together with the previous one: itl is not the time between tokens", zero, gaps)
	}
	return passed()
}

// buffered counts the streamed answers of the window whose tokens arrived all at once: less than 1 µs apart
// on average.
func buffered(records []*record.Record) (whole, of int) {
	for r := range record.Completed(records) {
		if r.Gaps.Len() < 3 {
			continue
		}
		of++
		if r.Last.Us()-r.First.Us() < int64(r.Gaps.Len()) {
			whole++
		}
	}
	return whole, of
}

const sharedHint = "find what sends the same prompts: another client, or the cache of an earlier run"

// checkPrefix compares the cached tokens that the server reports with the row's prefix state.
func checkPrefix(e *Measured) checkResult {
	if e.FailedPriming > 0 {
		return failed("read the server's log", "%d requests that prime the prefixes failed", e.FailedPriming)
	}
	reported, cached, possible := 0, 0, 0
	warm := e.Spec.HasPrefix(workload.Warm)
	for r := range record.Completed(e.Records) {
		if r.CachedTokens == nil || e.follows(r) { // a later turn has its conversation in the cache
			continue
		}
		reported++
		cached += *r.CachedTokens
		possible += e.Spec.WarmTokens(r.Class)
	}
	if warm && reported == 0 && e.Summary.Requests.Completed > 0 {
		return unverified("enable the report (vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report), or compare ttft with a cold row",
			"the row is warm, but the server does not report cached tokens")
	}
	if reported == 0 {
		return noData
	}
	if !warm && e.Spec.HasPrefix(workload.Shared) {
		return e.checkSharedPrefix()
	}
	if warm {
		if float64(cached) < 0.9*float64(possible) {
			return failed("make the cache larger or the groups fewer: prefixes were evicted",
				"the row is warm, but only %d of %d prefix tokens were cached", cached, possible)
		}
		return passed()
	}
	if allowed := reported * (e.Vocabulary.Overhead + workload.BlockTokens); cached > allowed {
		return failed(sharedHint, "the row is cold, but %d prompt tokens were cached", cached)
	}
	return passed()
}

// checkSharedPrefix fails if more tokens were cached than the row's own requests can leave. Fewer are no
// finding: the server's pool can be small.
func (e *Measured) checkSharedPrefix() checkResult {
	u := e.Reuse
	if u == nil {
		return noData
	}
	if allowed := u.PossibleTokens + u.Requests*(e.Vocabulary.Overhead+workload.BlockTokens); u.CachedTokens > allowed {
		return failed(sharedHint, "%d prompt tokens were cached, but the row's own requests allow at most %d", u.CachedTokens, u.PossibleTokens)
	}
	return passed()
}
