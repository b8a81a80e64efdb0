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
	usageDetails = fields{ // usage.completion_tokens_details
		"reasoning_tokens":           countOf(ofReasoning),
		"accepted_prediction_tokens": countOf(predictionHits),
		"rejected_prediction_tokens": countOf(predictionMiss),
	}
	draftFields = fields{ // metrics.speculative_decoding
		"num_spec_steps": countOf(draftSteps), "num_draft_tokens": countOf(draftTokens),
		"num_accepted_draft_tokens": countOf(draftAccepted),
	}
)

func (w *walker) moreCount(i int) bool {
	n, is, ok := w.tokens()
	if is {
		if w.c.more == nil {
			w.more, w.c.more = moreUsage{}, &w.more
		}
		w.more[i].n, w.more[i].known = n, true
	}
	return ok
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
