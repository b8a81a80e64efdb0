package workload

import (
	"math/rand/v2"
	"strings"
)

// Vocabulary turns the blocks of a prompt into what is sent: token ids, or words of which each is
// one token for the server at hand (or, where there are none, of a known mean cost).
type Vocabulary struct {
	// FirstID and IDs: token ids are drawn from [FirstID, FirstID+IDs). IDs 0 = prompts are text.
	FirstID, IDs int32
	// Words are joined by Sep. Each costs TokensPerWord tokens; a prompt costs Overhead more
	// (special tokens, chat template).
	Words         []string
	Sep           string
	TokensPerWord float64
	Overhead      int
}

// TokenIDs appends the prompt of a request.
func (v *Vocabulary) TokenIDs(dst []int32, r *Request) []int32 {
	var pcg rand.PCG
	src := rand.New(&pcg)
	for _, b := range r.Blocks {
		pcg.Seed(b.ID, streamBlock)
		for range b.Tokens {
			dst = append(dst, v.FirstID+src.Int32N(v.IDs))
		}
	}
	return dst
}

// Text is the prompt of a request as words. The overhead comes off the end, where prompts differ
// (all but those whose suffix is shorter than the overhead); a prompt shorter than its overhead is
// one word.
func (v *Vocabulary) Text(r *Request) string {
	left := max(int(float64(r.Input-v.Overhead)/v.TokensPerWord+0.5), 1)
	var s strings.Builder
	var pcg rand.PCG
	src := rand.New(&pcg)
	words := 0
	upTo := func(n int) {
		for ; words < min(n, left); words++ {
			if words > 0 {
				s.WriteString(v.Sep)
			}
			s.WriteString(v.Words[src.IntN(len(v.Words))])
		}
	}
	tokens := 0
	for _, b := range r.Blocks {
		pcg.Seed(b.ID, streamBlock)
		// Whole words of this block: cumulative, so that fractions are not lost block by block.
		tokens += b.Tokens
		upTo(int(float64(tokens)/v.TokensPerWord + 1e-9))
	}
	upTo(left) // the last block goes on: rounding, or an overhead below zero
	return s.String()
}
