package record

import (
	"cmp"
	"slices"
)

// Decoding is the server's batch as the client observes it: the requests between their first and last token.
type Decoding struct {
	batch   float64 // mean number of decoding requests at a token, its own included; 0 = none, as without streaming
	context float64 // mean tokens of prompt and answer so far, at a token

	perStep, drafted float64 // tokens that a step of a request yields, and drafts; 0 = one, without a draft
}

func (d Decoding) Speculated(s *Speculation) Decoding {
	d.perStep, d.drafted = s.Step()
	return d
}

// ObserveDecoding averages over tokens, not over time: a step with a long prefill takes as long as ten decode steps.
func ObserveDecoding(records []*Record, w Window) Decoding {
	busy := changes(records)
	var tokens, batch, context float64
	for _, r := range records {
		if !r.decoded() {
			continue
		}
		i, _ := slices.BinarySearchFunc(busy, r.First.us, func(c change, us int64) int { return cmp.Compare(c.us, us) })
		at, each, n := r.First, float64(r.OutputTokens)/float64(r.Gaps.Len()+1), 1.0
		for us := range r.Gaps.All() {
			at.us += us
			n++
			for i+1 < len(busy) && busy[i+1].us < at.us {
				i++
			}
			if w.has(at) {
				tokens++
				batch += float64(busy[i].n)
				context += float64(r.Prompt()) + n*each
			}
		}
	}
	if tokens == 0 {
		return Decoding{}
	}
	return Decoding{batch: batch / tokens, context: context / tokens}
}

func (r *Record) decoded() bool { return r.First.ok && r.Last.ok && r.Last.us > r.First.us }

type change struct {
	us int64
	n  int
}

func changes(records []*Record) []change {
	var all []change
	for _, r := range records {
		if r.decoded() {
			all = append(all, change{r.First.us, 1}, change{r.Last.us, -1})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.us, b.us) })
	out := all[:0]
	n := 0
	for _, c := range all {
		n += c.n
		if len(out) > 0 && out[len(out)-1].us == c.us {
			out[len(out)-1].n = n
		} else {
			out = append(out, change{c.us, n})
		}
	}
	return out
}
