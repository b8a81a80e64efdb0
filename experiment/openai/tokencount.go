package openai

import "sync/atomic"

// TokenCounter counts tokens while requests run: prompt tokens when the first answer token arrives, since the
// prompt has been computed by then, and answer tokens event by event. Any number of calls may share one.
type TokenCounter struct{ Prompt, Output atomic.Int64 }

// add counts n tokens of an answer; first: with its prompt. A nil counter counts nothing.
func (m *TokenCounter) add(first bool, prompt, n int) {
	if m == nil {
		return
	}
	if first {
		m.Prompt.Add(int64(prompt))
	}
	m.Output.Add(int64(n))
}
