package openai

import "sync/atomic"

// Meter counts tokens as they come, for who wants rates while requests run: those of prompts when the first token of the answer
// is there, since the prompt is computed by then, and those of answers one event at a time. Any number of calls may share one.
type TokenCounter struct{ Prompt, Output atomic.Int64 }

// came counts n tokens of an answer, the first ones or later ones.
func (m *TokenCounter) add(first bool, prompt, n int) {
	if m == nil {
		return
	}
	if first {
		m.Prompt.Add(int64(prompt))
	}
	m.Output.Add(int64(n))
}
