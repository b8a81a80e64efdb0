package roofline

import "slices"

// chunked is the bound on TTFT with chunked prefill: each step of at most budget tokens decodes batch sequences and
// fills the rest with the prompt. step is the mean of those steps. A budget without room for the prompt counts as one
// prompt token a step.
func (s Setup) chunked(input, cached float64, budget int, batch, context float64) (ttft, step Bound, steps int) {
	input, batch, context = atLeast(1, input), atLeast(0, batch), atLeast(0, context)
	cached = min(atLeast(0, cached), input-1)
	room := atLeast(1, float64(budget)-batch)
	for at := cached; at < input; at += room {
		b := s.bound(s.step(min(room, input-at), at, batch, context), s.efficiency().TTFT)
		if b.ExpectedMs == 0 {
			return b, b, 0
		}
		ttft = ttft.plus(b)
		steps++
	}
	return ttft, ttft.dividedBy(float64(steps)), steps
}

func (b Bound) plus(more Bound) Bound {
	b.FloorMs += more.FloorMs
	b.LowMs += more.LowMs
	b.ExpectedMs += more.ExpectedMs
	b.HighMs += more.HighMs
	b.Note = more.Note
	b.Terms = slices.Clone(b.Terms)
	for _, t := range more.Terms {
		i := slices.IndexFunc(b.Terms, func(own Term) bool {
			return own.Name == t.Name && own.Hidden == t.Hidden && own.Unit == t.Unit && (own.Of == t.Of ||
				t.Name != "attention")
		})
		if i < 0 {
			b.Terms = append(b.Terms, t)
			continue
		}
		own := &b.Terms[i]
		if own.Of != t.Of {
			own.Of = "all steps"
		}
		own.Amount += t.Amount
		own.Ms += t.Ms
		own.Rate = 1e3 * own.Amount / own.Ms
	}
	return b
}

func (b Bound) dividedBy(n float64) Bound {
	b.FloorMs /= n
	b.LowMs /= n
	b.ExpectedMs /= n
	b.HighMs /= n
	b.Terms = slices.Clone(b.Terms)
	for i := range b.Terms {
		b.Terms[i].Amount /= n
		b.Terms[i].Ms /= n
	}
	return b
}
