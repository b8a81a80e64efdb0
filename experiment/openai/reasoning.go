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

// emptyEvent is an event of the answer without text, reasoning, tool call and token ids. It may bear a token: a
// special one, or the first bytes of a character. Servers also end an answer with an empty event; events behind that
// one bear nothing.
type emptyEvent struct {
	arrival
	after    int  // token-bearing events before it
	finishes bool // it has the finish reason
}

// placeEmpties decides by the server's usage which empty events of a complete answer bore a token. If as many tokens
// are missing as there are empty events, with or without the one that ends the answer, each bore one. Otherwise the
// times of the missing tokens are not known: if such an event came before the first text or after the last one, or
// no event has text, First and Last are Never. An answer whose events bear all tokens has nothing to place.
func (x *exchange) placeEmpties() {
	r := x.result
	missing := r.OutputTokens - x.tokens
	if !x.call.Stream || !x.usageSeen || missing <= 0 || len(x.empties) == 0 && r.Events > 0 {
		return
	}
	bearing := x.empties
	if missing != len(bearing) {
		bearing = slices.DeleteFunc(slices.Clone(bearing), func(e emptyEvent) bool { return e.finishes })
	}
	x.call.Counter.add(r.Events == 0, x.call.Prompt, missing)
	if missing == len(bearing) {
		x.insert(bearing)
		return
	}
	events := r.Events
	if events == 0 || slices.ContainsFunc(bearing, func(e emptyEvent) bool { return e.after == events }) {
		r.Last = Never
	}
	if events == 0 || slices.ContainsFunc(bearing, func(e emptyEvent) bool { return e.after == 0 }) {
		r.First, r.Gaps, r.TokensPerEvent = Never, r.Gaps[:0], nil
	}
}

func (x *exchange) insert(empties []emptyEvent) {
	r := x.result
	texts := make([]time.Duration, 0, r.Events)
	for i, at := 0, r.First; i < r.Events; i++ {
		if i > 0 {
			at += r.Gaps[i-1]
		}
		texts = append(texts, at)
	}
	tokens := r.TokensPerEvent
	r.First, r.Last, r.Gaps, r.TokensPerEvent, r.Events = Never, Never, r.Gaps[:0], nil, 0
	for i := 0; i <= len(texts); i++ {
		for ; len(empties) > 0 && empties[0].after == i; empties = empties[1:] {
			r.addToken(x.sinceEpoch(empties[0].at), 1)
			r.countStamp(empties[0].arrival)
		}
		if i < len(texts) {
			n := 1
			if tokens != nil {
				n = tokens[i]
			}
			r.addToken(texts[i], n)
		}
	}
}
