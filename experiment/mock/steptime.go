package mock

import (
	"time"

	"bench/experiment/roofline"
)

func linearCost(c Config) func(*batch) time.Duration {
	return func(b *batch) time.Duration {
		return c.StepBase + time.Duration(b.decodes)*c.StepPerSeq + time.Duration(b.context)*c.StepPerContextToken +
			time.Duration(b.tokens-b.decodes)*c.StepPerPrefillToken
	}
}

func rooflineCost(s roofline.Setup) func(*batch) time.Duration {
	var chunks []roofline.Chunk // reused: one step is timed at a time
	return func(b *batch) time.Duration {
		chunks = chunks[:0]
		for _, c := range b.chunks {
			chunks = append(chunks, roofline.Chunk{Tokens: float64(c.tokens), Before: float64(c.before)})
		}
		decodes := float64(b.decodes)
		return millis(s.StepMs(chunks, decodes, float64(b.context)/max(1, decodes)))
	}
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
