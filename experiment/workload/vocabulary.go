package workload

import (
	"math/rand/v2"
	"strings"
)

// Vocabulary turns the blocks of a prompt into what is sent: token ids, or words. A word is one token for the
// server's tokenizer, or costs a known mean number of tokens.
type Vocabulary struct {
	// FirstID and IDs: token ids are drawn from [FirstID, FirstID+IDs). IDs 0 = prompts are text.
	FirstID, IDs int32
	// Words are joined by Sep. Each costs TokensPerWord tokens; a prompt costs Overhead tokens more (special
	// tokens, chat template).
	Words         []string
	Sep           string
	TokensPerWord float64
	Overhead      int
}

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

// Text is the prompt of a request as words. It is shorter by the overhead, at its end: this leaves shared
// beginnings equal, unless a suffix is shorter than the overhead. A prompt shorter than its overhead is one
// word.
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
		// The number of words is computed from cumulative tokens, so that fractions do not add up over
		// blocks.
		tokens += b.Tokens
		upTo(int(float64(tokens)/v.TokensPerWord + 1e-9))
	}
	upTo(left) // the last block is extended, because of rounding or an overhead below zero
	return s.String()
}
