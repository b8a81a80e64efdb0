package verdict

import (
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

func checkPromptLength(e *Measured) checkResult {
	l := e.Lengths
	if l.PromptTokens == nil || l.PromptAsked == nil {
		return noData
	}
	if math.Abs(l.PromptTokens.Mean-l.PromptAsked.Mean) > tolerated*l.PromptAsked.Mean {
		return failed("compare rows by the counted tokens, not by the asked ones",
			"prompts had %s tokens on average, %s were asked for", unit.Brief(l.PromptTokens.Mean, 4), unit.Brief(l.PromptAsked.Mean, 4))
	}
	return passed()
}

// checkOutputLength asks the counts themselves: a server can say that it wrote all and count otherwise. It looks at the answers that
// were forced; classes that end by themselves have the length they like.
func checkOutputLength(e *Measured) checkResult {
	wrote, forced, n := 0, 0, 0
	for r := range record.Completed(e.Records) {
		if e.Spec.ClassForced(r.Class) {
			wrote, forced, n = wrote+r.OutputTokens, forced+r.OutputAsked, n+1
		}
	}
	if n == 0 {
		return noData
	}
	if off := math.Abs(float64(wrote - forced)); off > tolerated*float64(forced) {
		return failed(`compare rows by the counted tokens; or let the answers end where they like, with stop = "natural"`,
			"answers had %s tokens on average, %s were forced", unit.Brief(float64(wrote)/float64(n), 4), unit.Brief(float64(forced)/float64(n), 4))
	}
	return passed()
}

func checkTokenCounts(e *Measured) checkResult {
	if e.Summary.Requests.Completed == 0 {
		return noData
	}
	impossible, n := 0, 0
	for r := range record.Completed(e.Records) {
		n++
		if r.OutputTokens > r.OutputAsked || r.OutputTokens == 0 && !r.First.IsZero() {
			impossible++
		}
	}
	if impossible > 0 {
		return failed("do not use the figures per token: the server's usage is wrong",
			"%d of %d answers have more tokens than were allowed, or none although text came", impossible, n)
	}
	if e.Summary.Tokens.Estimated {
		return failed("let the server send usage (stream_options.include_usage)", "the server did not count its tokens: counts are the client's estimate")
	}
	return passed()
}

func checkTokensPerEvent(e *Measured) checkResult {
	x := e.Summary.TokensPerEvent
	if e.Summary.ITL == nil || x == 0 {
		return noData
	}
	if x > 1.05 || x < 0.95 {
		return failed("read tpot, which is per token", "an event carries %s tokens on average: itl is per event, not per token", unit.Brief(x, 3))
	}
	return passed()
}

// checkBuffered asks whether events came one by one. Something between server and client may hold them
// back (a proxy), or an engine may send several at once; then itl is not the time between tokens, and
// where a whole answer came at once tpot is none either.
func checkBuffered(e *Measured) checkResult {
	whole, n := buffered(e.Records)
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
		return failed("turn buffering off between server and client (nginx: proxy_buffering off)",
			"%d of %d answers came all at once: tpot and itl can't be measured", whole, n)
	case 2*zero > gaps:
		return failed("read tpot, not itl", "%d of %d events came together with the one before: itl is not the time between tokens", zero, gaps)
	}
	return passed()
}

// buffered counts the streamed answers of the window whose tokens came all at once, less than a
// microsecond apart on average.
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

// checkPrefix compares the cached tokens that the server told with what the row means.
func checkPrefix(e *Measured) checkResult {
	if e.FailedPriming > 0 {
		return failed("look at the server's log", "%d requests that should have warmed the prefixes failed", e.FailedPriming)
	}
	told, cached, possible := 0, 0, 0
	warm := e.Spec.HasPrefix(workload.Warm)
	for r := range record.Completed(e.Records) {
		if r.CachedTokens == nil || e.follows(r) { // a later turn is to find its conversation
			continue
		}
		told++
		cached += *r.CachedTokens
		possible += e.Spec.WarmTokens(r.Class)
	}
	if warm && told == 0 && e.Summary.Requests.Completed > 0 {
		return unverified("let the server tell: vLLM has --enable-prompt-tokens-details, SGLang --enable-cache-report; or compare ttft with a cold row",
			"a warm row, but the server does not say how many prompt tokens it found in its cache")
	}
	if told == 0 {
		return noData
	}
	if !warm && e.Spec.HasPrefix(workload.Shared) {
		return e.checkSharedPrefix()
	}
	if warm {
		if float64(cached) < 0.9*float64(possible) {
			return failed("make the cache larger or the groups fewer: the prefixes do not stay resident",
				"a warm row, but the server found %d of %d prefix tokens in its cache", cached, possible)
		}
		return passed()
	}
	if allowed := told * (e.Vocabulary.Overhead + workload.BlockTokens); cached > allowed {
		return failed("something shares prompts with this row: another client, or a cache from before",
			"a cold row, but the server found %d prompt tokens in its cache", cached)
	}
	return passed()
}

// checkSharedPrefix asks whether a cache found more than the row's own requests could have left in it. That it found less is the
// server's own matter: its pool may be small.
func (e *Measured) checkSharedPrefix() checkResult {
	u := e.Reuse
	if u == nil {
		return noData
	}
	if allowed := u.PossibleTokens + u.Requests*(e.Vocabulary.Overhead+workload.BlockTokens); u.CachedTokens > allowed {
		return failed("something shares prompts with this row: another client, or a cache from before",
			"the server found %d prompt tokens in its cache, and the row's own requests leave %d at the most", u.CachedTokens, u.PossibleTokens)
	}
	return passed()
}

func checkRoofline(e *Measured) checkResult {
	if e.Roofline == nil || e.Summary.TPOT == nil {
		return noData
	}
	if floor := e.Roofline.TPOT.FloorMs; e.Summary.TPOT.P50 < floor {
		return failed("check model, hardware, gpus and precision in [target]; speculative decoding and caches also beat this bound",
			"tpot p50 %s ms is below the bound of %s ms: faster than the memory allows", unit.Brief(e.Summary.TPOT.P50, 3), unit.Brief(floor, 3))
	}
	return passed()
}
