package verdict

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// farOff is the share from which on lengths are another workload than the requested one.
const farOff = 0.1

// otherLength is a finding if requested and counted lengths differ by more than 1 %, in tokens of the kind. A
// latency follows a length at most by its square, as attention does; a queue near its limit does so by more.
func otherLength(kind, hint string, requested, counted float64) checkResult {
	off := math.Abs(counted - requested)
	if off <= tolerated*requested {
		return passed()
	}
	text := fmt.Sprintf("requested %s %s, server counted %s (mean)", unit.Brief(requested, 4), kind, unit.Brief(counted, 4))
	if off > farOff*requested {
		return invalid(hint, "%s", text)
	}
	way, ratio := record.Inflated, counted/requested
	if ratio < 1 {
		way, ratio = record.Lowered, 1/ratio
	}
	return caution(hint, "%s", text).touching(byFactor(way, ratio*ratio, firstToken, lastToken, betweenIt))
}

// checkPromptLength finds that the server counts other prompt lengths than requested.
func checkPromptLength(e *Measured) checkResult {
	l := e.Lengths
	if l.PromptTokens == nil || l.PromptRequested == nil {
		return noData
	}
	return otherLength("prompt tokens", "compare rows by the counted tokens, not by the requested ones", l.PromptRequested.Mean, l.PromptTokens.Mean)
}

// checkOutputLength finds that answers with ignore_eos have other lengths than requested, whatever their
// finish reason.
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
	return otherLength("output tokens with ignore_eos", `compare rows by the counted tokens; or use natural EOS: stop = "natural"`,
		float64(requested)/float64(n), float64(counted)/float64(n))
}

// checkTokenCounts finds that the server's usage is impossible or missing.
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
		return invalid("ignore figures per token: the server's usage is wrong",
			"usage of %d of %d answers is impossible: more tokens than requested, or none despite text", impossible, n)
	}
	if e.Summary.Tokens.Estimated {
		return caution("enable usage on the server (stream_options.include_usage)",
			"the server did not report usage: token counts are the client's estimate").touching(e.estimatedTokens())
	}
	return passed()
}

// estimatedTokens are the effects of counting events: an event has one token or more, and an answer has at
// most the requested tokens.
func (e *Measured) estimatedTokens() []effect {
	var decode, all, counted float64
	prompts := false
	for r := range record.Completed(e.Records) {
		most := r.OutputTokens
		if prompts = prompts || r.PromptTokens == nil; r.Estimated {
			most = r.OutputRequested
		}
		all, counted = all+float64(most), counted+float64(r.OutputTokens)
		if r.Estimated && r.OutputTokens > 1 {
			decode = max(decode, float64(most-1)/float64(r.OutputTokens-1))
		}
	}
	var out []effect
	if decode > 1 {
		out = append(out, byFactor(record.Inflated, decode, []string{"tpot"})...)
	}
	if all > counted && counted > 0 {
		out = append(out, byFactor(record.Lowered, all/counted, []string{"output_tokens_per_s"})...)
	}
	if prompts {
		out = append(out, unbounded(record.Unknown, []string{"prompt_tokens_per_s"})...)
	}
	return out
}

// checkTokensPerEvent finds that an event is not a token.
func checkTokensPerEvent(e *Measured) checkResult {
	x := e.Summary.TokensPerEvent
	if e.Summary.ITL == nil || x == 0 {
		return noData
	}
	if x > 1.05 || x < 0.95 {
		return note("read tpot, which is per token", "an event has %s tokens (mean): itl is per event, not per token", unit.Brief(x, 3))
	}
	return passed()
}

// checkBuffered finds events that arrived together: a proxy buffers them, or the engine sends several at once.
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
	bundled := 2*zero > gaps
	switch {
	case gaps == 0:
		return noData
	case whole > 0 && float64(whole) > tolerated*float64(n):
		effects := append(e.heldBack(atOnce), onRequests(record.Unknown, whole, []string{"itl"})...)
		if bundled && whole < n { // the others are bundled in part
			effects = append(e.heldBack(func(*record.Record) bool { return true }), unbounded(record.Inflated, []string{"tpot"})...)
			effects = append(effects, unbounded(record.Unknown, []string{"itl"})...)
		}
		return caution("disable buffering between server and client (nginx: proxy_buffering off)",
			"%d of %d answers arrived all at once: their tpot and itl can't be measured", whole, n).touching(effects)
	case bundled:
		return caution("read tpot, not itl", "%d of %d events arrived together with the previous one: itl is not the time between tokens", zero, gaps).
			touching(unbounded(record.Unknown, []string{"itl"}))
	}
	return passed()
}

// buffered counts the streamed answers of the window whose tokens arrived all at once.
func buffered(records []*record.Record) (whole, of int) {
	for r := range record.Completed(records) {
		if r.Gaps.Len() < 3 {
			continue
		}
		of++
		if atOnce(r) {
			whole++
		}
	}
	return whole, of
}

// atOnce reports whether the tokens of an answer arrived less than 1 µs apart on average.
func atOnce(r *record.Record) bool {
	return r.Gaps.Len() >= 3 && r.Last.Us()-r.First.Us() < int64(r.Gaps.Len())
}

// heldBack is the effect on tpot of answers whose first tokens were held back. Buffering only delays tokens, so that
// the first was made after the request was sent, and the last before it arrived.
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

const sharedHint = "find what sends the same prompts: another client, or the cache of an earlier run"

// checkPrefix compares the cached tokens that the server reports with the row's prefix state.
func checkPrefix(e *Measured) checkResult {
	if e.FailedPriming > 0 {
		return invalid("read the server's log", "%d requests that prime the prefixes failed", e.FailedPriming)
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
			"the row is warm, but the server does not report cached tokens").
			touching(unbounded(record.Inflated, firstToken, lastToken))
	}
	if reported == 0 {
		return noData
	}
	if !warm && e.Spec.HasPrefix(workload.Shared) {
		return e.checkSharedPrefix()
	}
	if warm {
		if float64(cached) < 0.9*float64(possible) {
			return invalid("make the cache larger or the groups fewer: prefixes were evicted",
				"the row is warm, but only %d of %d prefix tokens were cached", cached, possible)
		}
		return passed()
	}
	if allowed := reported * (e.overhead() + workload.BlockTokens); cached > allowed {
		return invalid(sharedHint, "the row is cold, but %d prompt tokens were cached", cached)
	}
	return passed()
}

// overhead is the number of tokens around every prompt, which are the same in all.
func (e *Measured) overhead() int {
	if e.PromptOverhead == nil {
		return 0
	}
	return *e.PromptOverhead
}

// checkSharedPrefix is invalid if more tokens were cached than the row's own requests can leave. Fewer are no
// finding: the server's pool can be small.
func (e *Measured) checkSharedPrefix() checkResult {
	u := e.Reuse
	if u == nil {
		return noData
	}
	if allowed := u.PossibleTokens + u.Requests*(e.overhead()+workload.BlockTokens); u.CachedTokens > allowed {
		return invalid(sharedHint, "%d prompt tokens were cached, but the row's own requests allow at most %d", u.CachedTokens, u.PossibleTokens)
	}
	return passed()
}
