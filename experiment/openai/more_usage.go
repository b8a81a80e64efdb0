package openai

// moreUsage is what at most the last chunks of an answer report beside the usual counts: the tokens of its reasoning,
// and those of speculative decoding. A count that is not reported is unknown.
type moreUsage [moreCounts]struct {
	n     int
	known bool
}

const (
	ofReasoning    = iota // usage.completion_tokens_details.reasoning_tokens
	ofOwnReasoning        // usage.reasoning_tokens, of SGLang
	predictionHits        // usage.completion_tokens_details.accepted_prediction_tokens
	predictionMiss        // usage.completion_tokens_details.rejected_prediction_tokens
	draftSteps            // vLLM's metrics.speculative_decoding.num_spec_steps
	draftTokens           // num_draft_tokens; llama.cpp's timings.draft_n
	draftAccepted         // num_accepted_draft_tokens; draft_n_accepted
	moreCounts
)

var (
	usageDetails = map[string]int{ // usage.completion_tokens_details
		"reasoning_tokens": ofReasoning, "accepted_prediction_tokens": predictionHits,
		"rejected_prediction_tokens": predictionMiss,
	}
	timingCounts = map[string]int{"draft_n": draftTokens, "draft_n_accepted": draftAccepted} // timings
	draftCounts  = map[string]int{                                                           // metrics.speculative_decoding
		"num_spec_steps": draftSteps, "num_draft_tokens": draftTokens, "num_accepted_draft_tokens": draftAccepted,
	}
)

func (c *chunk) parseMore(top map[string]any) {
	var u moreUsage
	usage := object(top["usage"])
	u[ofOwnReasoning].n, u[ofOwnReasoning].known = parseCount(usage["reasoning_tokens"])
	u.parse(object(usage["completion_tokens_details"]), usageDetails)
	u.parseTimes(top)
	c.setMore(u)
}

func (u *moreUsage) parseTimes(top map[string]any) {
	u.parse(object(top["timings"]), timingCounts)
	u.parse(object(object(top["metrics"])["speculative_decoding"]), draftCounts)
}

func (c *chunk) setMore(u moreUsage) {
	if u != (moreUsage{}) {
		c.more = &u
	}
}

func (u *moreUsage) parse(values map[string]any, counts map[string]int) {
	for key, v := range values {
		if i, known := counts[key]; known {
			if n, ok := parseCount(v); ok {
				u[i].n, u[i].known = n, true
			}
		}
	}
}

func (w *walker) usageDetailField(key []byte) (uint, bool) { return w.moreField(usageDetails, key) }

func (w *walker) draftField(key []byte) (uint, bool) { return w.moreField(draftCounts, key) }

func (w *walker) moreField(counts map[string]int, key []byte) (uint, bool) {
	i, known := counts[string(key)]
	if !known {
		return 0, w.Skip(maxDepth)
	}
	return w.moreCount(i, 0)
}

// moreCount reads null or a count of the chunk's moreUsage. The key's bit is above the bits of the object's other keys.
func (w *walker) moreCount(i int, others uint) (uint, bool) {
	bit := uint(1) << (others + uint(i))
	if w.Null() {
		return bit, true
	}
	if w.c.more == nil {
		w.more, w.c.more = moreUsage{}, &w.more
	}
	return bit, w.count(&w.more[i].n, &w.more[i].known)
}

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
