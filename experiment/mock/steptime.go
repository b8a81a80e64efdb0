package mock

import (
	"time"

	"bench/experiment/roofline"
)

// linearCost is the step time by the Step fields of c.
func linearCost(c Config) func(*batch) time.Duration {
	return func(b *batch) time.Duration {
		return c.StepBase + time.Duration(b.decodes)*c.StepPerSeq + time.Duration(b.context)*c.StepPerContextToken +
			time.Duration(b.tokens-b.decodes)*c.StepPerPrefillToken
	}
}

// rooflineCost is the step time by roofline arithmetic. Pure decode steps and single chunks are computed
// directly. A mixed step reads the weights once for all tokens, plus the caches of the decoding sequences;
// several chunks count as one chunk with the same number of attention pairs.
func rooflineCost(s roofline.Setup) func(*batch) time.Duration {
	return func(b *batch) time.Duration {
		decodes, tokens := float64(b.decodes), float64(b.tokens)
		if len(b.chunks) == 0 {
			return millis(s.DecodeMs(decodes, float64(b.context)/decodes))
		}
		pairs := 0.0
		for _, c := range b.chunks {
			pairs += float64(c.tokens) * (float64(c.before) + float64(c.tokens)/2)
		}
		before := max(0, pairs/tokens-tokens/2)
		took := s.PrefillMs(before+tokens, before)
		if decodes > 0 {
			took += s.DecodeMs(decodes, float64(b.context)/decodes) - s.DecodeMs(decodes, 0)
		}
		return millis(took)
	}
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
