package openai

import (
	"cmp"
	"strconv"
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
