package record

import "testing"

// TestTokensPerStep: accepted tokens that the end of an answer cuts off make no step better than its drafts: 360 answers
// of 10 tokens in 1,557 drafts of 3, of which the engine counts 2,320 as accepted.
func TestTokensPerStep(t *testing.T) {
	s := Speculation{Drafts: new(1557.0), DraftTokens: new(3 * 1557.0), AcceptedTokens: new(2320.0)}
	s.derive(360 * 9)
	if got := *s.TokensPerStep; got < 2.08 || got > 2.09 || got > *s.AcceptanceLength || *s.DraftedPerStep != 3 {
		t.Errorf("%v tokens, %v drafted a step, acceptance length %v", got, *s.DraftedPerStep, *s.AcceptanceLength)
	}
	ngram := Speculation{Drafts: new(100.0), DraftTokens: new(300.0), AcceptedTokens: new(200.0)} // few steps find a draft
	ngram.derive(1000)
	if got := *ngram.TokensPerStep; got != 1.25 {
		t.Errorf("%v tokens a step, want 1.25", got)
	}
}
