package openai

// moreUsage is what at most the last chunks of an answer report beside the usual counts: the tokens of its reasoning,
// and those of speculative decoding. A count that is not reported is unknown.
type moreUsage [moreCounts]struct {
	n     int
	known bool
}

// The counts of a moreUsage.
const (
	ofReasoning    = iota // usage.completion_tokens_details.reasoning_tokens
	ofOwnReasoning        // usage.reasoning_tokens, of SGLang
	predictionHits        // usage.completion_tokens_details.accepted_prediction_tokens
	predictionMiss        // usage.completion_tokens_details.rejected_prediction_tokens
	draftSteps            // vLLM's metrics.speculative_decoding.num_spec_steps
	draftTokens           // num_draft_tokens; llama.cpp's timings.draft_n
	draftAccepted         // num_accepted_draft_tokens; draft_n_accepted
	moreCounts
	noCount = -1
)

// usageDetail, timingCount and draftCount are the count of a key in usage.completion_tokens_details, timings and
// metrics.speculative_decoding; noCount: another key.
func usageDetail(key string) int {
	switch key {
	case "reasoning_tokens":
		return ofReasoning
	case "accepted_prediction_tokens":
		return predictionHits
	case "rejected_prediction_tokens":
		return predictionMiss
	}
	return noCount
}

func timingCount(key string) int {
	switch key {
	case "draft_n":
		return draftTokens
	case "draft_n_accepted":
		return draftAccepted
	}
	return noCount
}

func draftCount(key string) int {
	switch key {
	case "num_spec_steps":
		return draftSteps
	case "num_draft_tokens":
		return draftTokens
	case "num_accepted_draft_tokens":
		return draftAccepted
	}
	return noCount
}

// parseMore reads the counts of a chunk by encoding/json.
func (c *chunk) parseMore(top map[string]any) {
	var u moreUsage
	usage := object(top["usage"])
	u[ofOwnReasoning].n, u[ofOwnReasoning].known = parseCount(usage["reasoning_tokens"])
	u.parse(object(usage["completion_tokens_details"]), usageDetail)
	u.parseTimes(top)
	c.setMore(u)
}

// parseTimes reads the counts that stand beside the server's times.
func (u *moreUsage) parseTimes(top map[string]any) {
	u.parse(object(top["timings"]), timingCount)
	u.parse(object(object(top["metrics"])["speculative_decoding"]), draftCount)
}

func (c *chunk) setMore(u moreUsage) {
	if u != (moreUsage{}) {
		c.more = &u
	}
}

func (u *moreUsage) parse(values map[string]any, count func(key string) int) {
	for key, v := range values {
		if i := count(key); i != noCount {
			if n, ok := parseCount(v); ok {
				u[i].n, u[i].known = n, true
			}
		}
	}
}

func (w *walker) usageDetailField(key []byte) (uint, bool) {
	return w.moreCount(usageDetail(string(key)), 0)
}

func (w *walker) draftField(key []byte) (uint, bool) {
	return w.moreCount(draftCount(string(key)), 0)
}

// moreCount reads null or a count of the chunk's moreUsage; noCount: skips the value. The key's bit is above those of
// the other keys of its object.
func (w *walker) moreCount(i int, others uint) (uint, bool) {
	if i == noCount {
		return 0, w.skip(0)
	}
	bit := uint(1) << (others + uint(i))
	if w.null() {
		return bit, true
	}
	if w.c.more == nil {
		w.more, w.c.more = moreUsage{}, &w.more
	}
	return bit, w.count(&w.more[i].n, &w.more[i].known)
}

// reasoning is the number of reasoning tokens as the server reports it; false: it does not.
func (u *moreUsage) reasoning() (int, bool) {
	if own := u[ofOwnReasoning]; !u[ofReasoning].known {
		return own.n, own.known
	}
	return u[ofReasoning].n, true
}

// speculation is the speculative decoding of the answer; false: not reported, none, or impossible.
func (u *moreUsage) speculation() (Speculation, bool) {
	drafted, accepted := u[draftTokens], u[draftAccepted]
	if !drafted.known || !accepted.known {
		hits, misses := u[predictionHits], u[predictionMiss]
		accepted, drafted = hits, misses
		drafted.n, drafted.known = hits.n+misses.n, hits.known && misses.known
	}
	s := Speculation{Steps: u[draftSteps].n, Drafted: drafted.n, Accepted: accepted.n}
	return s, drafted.known && accepted.known && drafted.n > 0 && accepted.n <= drafted.n
}
