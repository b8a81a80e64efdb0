package openai

import (
	"cmp"
	"strconv"
	"time"
)

// Usage is what a server reports of one answer; nil: not reported.
type Usage struct{ Prompt, Cached, Output *int }

func ofPrompt(u *Usage) **int { return &u.Prompt }
func ofCached(u *Usage) **int { return &u.Cached }
func ofOutput(u *Usage) **int { return &u.Output }

// ofWritten is for the part of the prompt that the cache keeps now: a refused count of the prompt itself stays.
func ofWritten(u *Usage) **int {
	if u.Prompt != nil {
		return new(*int)
	}
	return &u.Prompt
}

// refuse takes a count of usage that is no number of tokens: kept if it is an integer.
func (c *chunk) refuse(of func(*Usage) **int, text []byte) {
	if c.refused == nil {
		c.refused = &Usage{}
	}
	if n, err := strconv.Atoi(string(text)); err == nil {
		*of(c.refused) = &n
	}
}

// promptUsage is what usage says of a prompt, perhaps on several events of a stream. It is the result's when usage of
// the output has come: before, an answer that is cut would have half of its usage.
type promptUsage struct {
	tokens, cached     int
	known, cachedKnown bool
	apart              int // of the cache, where the server counts those apart
}

// addApart adds to the chunk's prompt tokens those that the server counts apart. The last event may not repeat them.
func (x *exchange) addApart(c *chunk) {
	if c.hasApart {
		x.prompt.apart = c.apart
	}
	if c.hasPrompt {
		c.prompt += x.prompt.apart
	}
}

const (
	// bytesPerToken and ofTemplate are the most prompt tokens that a server can count for each requested one, and
	// around them: a token of synthetic text has less than 10 bytes, and a tokenizer makes at most one of each byte;
	// templates with tools reach some thousand tokens.
	bytesPerToken = 10
	ofTemplate    = 10_000
)

// refuseImpossible takes usage that cannot be true out of the chunk: more output than the request allowed, more
// cached than prompt tokens, more prompt tokens than the prompt has bytes, no number of tokens. The result keeps it
// apart.
func (x *exchange) refuseImpossible(c *chunk) {
	output := c.hasOutput && x.call.MaxTokens > 0 && c.output > x.call.MaxTokens
	prompt := c.hasPrompt && x.call.Prompt > 0 && c.prompt > bytesPerToken*x.call.Prompt+ofTemplate
	cached := c.hasCached && c.hasPrompt && c.cached > c.prompt
	refused := c.refused
	switch {
	case refused == nil && !output && !prompt && !cached:
		return
	case refused == nil:
		refused = &Usage{}
	}
	of := func(n int, has bool) *int {
		if !has {
			return nil
		}
		return &n
	}
	x.result.Impossible = &Usage{Prompt: cmp.Or(refused.Prompt, of(c.prompt, c.hasPrompt)),
		Cached: cmp.Or(refused.Cached, of(c.cached, c.hasCached)),
		Output: cmp.Or(refused.Output, of(c.output, c.hasOutput))}
	c.hasOutput = c.hasOutput && !output
	c.hasPrompt = c.hasPrompt && !prompt && refused.Prompt == nil
	c.hasCached = c.hasCached && !cached && !prompt
}

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
		{"reasoning_tokens", countOf(ofReasoning)},
		{"accepted_prediction_tokens", countOf(predictionHits)},
		{"rejected_prediction_tokens", countOf(predictionMiss)},
	}
	draftFields = fields{ // metrics.speculative_decoding
		{"num_spec_steps", countOf(draftSteps)}, {"num_draft_tokens", countOf(draftTokens)},
		{"num_accepted_draft_tokens", countOf(draftAccepted)},
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

// maxMillis bounds a time of the server: a longer one is its error.
const maxMillis = 1e10

func parseMillis(number string) (time.Duration, bool) {
	ms, err := strconv.ParseFloat(number, 64)
	if err != nil || !(ms >= 0 && ms < maxMillis) {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

// The server's times of one request in a chunk: llama.cpp's timings (prompt_ms, predicted_ms) and vLLM's metrics with
// --enable-per-request-metrics, whose time_to_first_token_ms counts from the scheduling.
var (
	timingFields = fields{
		{"prompt_ms", (*walker).prefill}, {"predicted_ms", (*walker).decoding},
		{"draft_n", countOf(draftTokens)}, {"draft_n_accepted", countOf(draftAccepted)},
	}
	metricFields = fields{
		{"queue_time_ms", (*walker).queued},
		{"time_to_first_token_ms", (*walker).prefill},
		{"generation_time_ms", (*walker).decoding},
		{"speculative_decoding", in(draftFields)},
	}
)

func (w *walker) queued() bool   { return w.millis(&w.c.times.Queue, &w.c.times.HasQueue) }
func (w *walker) prefill() bool  { return w.millis(&w.c.times.Prefill, &w.c.times.HasPrefill) }
func (w *walker) decoding() bool { return w.millis(&w.c.times.Decode, &w.c.times.HasDecode) }

func (w *walker) millis(into *time.Duration, has *bool) bool {
	from := w.At
	if c := w.next(); c != '-' && c-'0' > 9 {
		return w.skip()
	}
	ok := w.Number()
	*into, *has = parseMillis(string(w.Text[from:w.At]))
	return ok
}
