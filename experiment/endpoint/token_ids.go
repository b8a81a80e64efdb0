package endpoint

import (
	"fmt"
	"math"

	"bench/experiment/openai"
	"bench/experiment/unit"
)

// idRange is the token IDs of synthetic prompts, [first, first+count); count 0 = the vocabulary is too small.
type idRange struct {
	first, count int32
	vocabulary   int // its size, as the server lists it; 0 = not listed
}

const (
	// usualFirst and usualCount are above the special and byte tokens of common vocabularies, and below the size
	// of the smallest of them (32,000, Llama 2 and Mistral).
	usualFirst = 1000
	usualCount = 30_000
	// smallestVocabulary leaves enough IDs above the byte tokens for prompts that share nothing by chance.
	smallestVocabulary = 2048
)

// idsWithin is the IDs to use with a vocabulary of a listed size; 0 = not listed. A smaller vocabulary than
// usual has its own range: without an eighth at its start, at most usualFirst, and a 32nd at its end, where some
// have special tokens, too.
func idsWithin(vocabulary int) idRange {
	switch {
	case vocabulary == 0 || vocabulary >= usualFirst+usualCount:
		return idRange{usualFirst, usualCount, vocabulary}
	case vocabulary < smallestVocabulary:
		return idRange{vocabulary: vocabulary}
	}
	first := min(usualFirst, vocabulary/8)
	return idRange{int32(first), int32(vocabulary - vocabulary/32 - first), vocabulary}
}

func (r idRange) spread() []int32 {
	ids := make([]int32, 24)
	for i := range ids {
		ids[i] = r.first + int32(int64(i)*int64(r.count-1)/int64(len(ids)-1))
	}
	return ids
}

// listedVocabulary is a model's vocabulary size as the server lists it (llama.cpp: meta.n_vocab); 0 = not listed.
func (s *Server) listedVocabulary(name string) int {
	models, _ := s.Info.Models.([]any) // nil if the server lists none
	for _, m := range models {
		model, _ := m.(map[string]any)
		meta, _ := model["meta"].(map[string]any)
		if size, ok := meta["n_vocab"].(float64); ok && model["id"] == name && size >= 1 && size <= math.MaxInt32 {
			return int(size)
		}
	}
	return 0
}

// idsRefusal is why a server takes no prompts of token IDs, by its answer to one of so many; empty: it does.
func idsRefusal(r openai.Result, sent int) string {
	switch {
	case r.Outcome.Failed():
		return "; no token IDs: " + unit.ClipBytes(r.Error, 120)
	case !counts(r):
		return "; no token IDs: the server did not count them"
	case r.PromptTokens != sent:
		return fmt.Sprintf("; no token IDs: of %d the server counted %d", sent, r.PromptTokens)
	}
	return ""
}
