package roofline

import (
	"errors"
	"fmt"
	"math"
)

// Speculation is speculative decoding: tokens are drafted, in no time, and then verified in one step of the model
// (Leviathan et al., arXiv 2211.17192).
type Speculation struct {
	Tokens     int     // drafted per step
	Acceptance float64 // probability that a drafted token is accepted, given that the previous ones were
}

func (p Speculation) Check() error {
	var errs []error
	if p.Tokens < 1 || p.Tokens > 64 {
		errs = append(errs, fmt.Errorf("the number of drafted tokens is %d, not within 1 to 64", p.Tokens))
	}
	if !(p.Acceptance >= 0 && p.Acceptance <= 1) {
		errs = append(errs, fmt.Errorf("acceptance is %g, not within 0 to 1", p.Acceptance))
	}
	return errors.Join(errs...)
}

type Speculated struct {
	Drafted       int     `json:"drafted_tokens"`
	Acceptance    float64 `json:"acceptance"`
	TokensPerStep float64 `json:"tokens_per_step"` // expected, including the model's own token
	Step          Bound   `json:"step"`            // verifying
	TPOT          Bound   `json:"tpot"`            // Step over TokensPerStep
	Speedup       float64 `json:"speedup"`         // over plain decoding; below 1 it is slower
}

// tokensPerStep is (1−α^(γ+1)) / (1−α): the accepted tokens, and one more.
func (p Speculation) tokensPerStep() float64 {
	n := float64(p.Tokens) + 1
	if p.Acceptance == 1 {
		return n
	}
	return (1 - math.Pow(p.Acceptance, n)) / (1 - p.Acceptance)
}

func (s Setup) speculative(batch, context float64, with Speculation) Speculated {
	out := Speculated{Drafted: with.Tokens, Acceptance: with.Acceptance, TokensPerStep: with.tokensPerStep(),
		Step: s.Verify(batch, context, float64(with.Tokens))}
	out.TPOT = out.Step.dividedBy(out.TokensPerStep)
	if out.TPOT.ExpectedMs > 0 {
		out.Speedup = s.DecodeMs(batch, context) / out.TPOT.ExpectedMs
	}
	return out
}

// Verify is a decode step that verifies a mean number of drafted tokens of each sequence. Drafting takes no time in it.
func (s Setup) Verify(batch, context, drafted float64) Bound {
	batch, context = atLeast(1, batch), atLeast(0, context)
	p := s.decode(batch*(drafted+1), context)
	p.kv = batch * s.Model.kvRead(context, s.kvBytes(), s.kvWidth())
	p.leastKV = batch * s.Model.kvRead(context, s.kvBytes(), 1)
	p.sequences = batch
	return s.bound(p, s.efficiency().TPOT)
}

func (s Setup) DecodeSpeculated(batch, context, drafted, tokens float64, loaded Bound) (alone, underLoad Bound) {
	plain := s.Decode(batch, context)
	alone = s.Verify(batch, context, drafted).dividedBy(tokens)
	loaded.FloorMs += alone.FloorMs - plain.FloorMs
	loaded.LowMs += alone.LowMs - plain.LowMs
	loaded.ExpectedMs += alone.ExpectedMs - plain.ExpectedMs
	loaded.HighMs += alone.HighMs - plain.HighMs
	return alone, loaded
}
