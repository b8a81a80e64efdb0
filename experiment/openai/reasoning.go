package openai

import (
	"bytes"
	"math"
	"slices"
	"time"
)

type sides struct {
	answered bool // an event had text or a tool call
	thinking bool // an event had reasoning
	before   int  // tokens of the events before the first with text or a tool call
	later    int  // tokens of the reasoning behind it
	reported bool // the server's usage has the reasoning tokens
}

// addSide records on which side a token-bearing event of n tokens is. Token ids alone are on the side of the events
// around them: reasoning, if there is any, up to the first text.
func (x *exchange) addSide(c *chunk, at time.Duration, n int) {
	s := &x.sides
	s.thinking = s.thinking || c.hasReasoning
	switch {
	case s.answered && c.hasReasoning && !c.hasAnswer:
		s.later += n
	case s.answered:
	case c.hasAnswer:
		s.answered, x.result.FirstAnswer = true, at
	default:
		s.before += n
	}
	if c.hasAnswer && !x.result.ThinkTag {
		x.result.ThinkTag = slices.ContainsFunc(c.pieces, hasThinkTag)
	}
}

// hasThinkTag reports whether a text has a tag of reasoning, as JSON has it: the server did not parse it.
func hasThinkTag(p piece) bool {
	return bytes.Contains(p.text, []byte("<think>")) || bytes.Contains(p.text, []byte("</think>"))
}

func (x *exchange) recordMore(u *moreUsage) {
	r := x.result
	if n, ok := u.reasoning(); ok && (!x.usageSeen || n <= r.OutputTokens) {
		r.ReasoningTokens, x.sides.reported = n, true
	}
	if s, ok := u.speculation(); ok {
		r.Speculation = s
	}
}

// settleSides completes the result's reasoning when the exchange has ended. Without reasoning, and with reasoning
// that the server does not stream, the first token is one of the answer.
func (x *exchange) settleSides() {
	r, s := x.result, &x.sides
	if !s.thinking {
		r.FirstAnswer = r.First
		r.HasReasoning = r.ReasoningTokens > 0
		return
	}
	r.HasReasoning = true
	if s.reported && r.ReasoningTokens > 0 || !x.call.Stream {
		return
	}
	r.ReasoningTokens, r.ReasoningEstimated = s.before+s.later, true
	if x.usageSeen && x.tokens > 0 { // events may carry several tokens
		r.ReasoningTokens = int(math.Round(float64(r.ReasoningTokens) * float64(r.OutputTokens) / float64(x.tokens)))
	}
}
