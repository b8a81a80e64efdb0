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
	for _, b := range r.Blocks {
		src := rand.New(rand.NewPCG(b.ID, streamBlock))
		for range b.Tokens {
			dst = append(dst, v.FirstID+src.Int32N(v.IDs))
		}
	}
	return dst
}

// Text is the prompt of a request as words. The overhead comes off the end, where prompts differ
// anyway; a prompt shorter than its overhead is one word.
func (v *Vocabulary) Text(r *Request) string {
	want := float64(r.Input-v.Overhead) / v.TokensPerWord
	left := max(int(want+0.5), 1)
	var s strings.Builder
	tokens, words := 0.0, 0
	for _, b := range r.Blocks {
		src := rand.New(rand.NewPCG(b.ID, streamBlock))
		// Whole words of this block: cumulative, so that fractions are not lost block by block.
		tokens += float64(b.Tokens) / v.TokensPerWord
		for ; words < int(tokens+1e-9) && words < left; words++ {
			if words > 0 {
				s.WriteString(v.Sep)
			}
			s.WriteString(v.Words[src.IntN(len(v.Words))])
		}
	}
	for src := rand.New(rand.NewPCG(r.Blocks[len(r.Blocks)-1].ID, streamGroup)); words < left; words++ {
		if words > 0 {
			s.WriteString(v.Sep)
		}
		s.WriteString(v.Words[src.IntN(len(v.Words))])
	}
	return s.String()
}
