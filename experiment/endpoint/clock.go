package endpoint

import (
	"time"

	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (l *connectionLog) clock() record.Clock {
	c := record.Clock{Stamps: "kernel", KernelStamps: l.kernel, UserStamps: l.user, ReadLagMaxMs: unit.Ms(l.lagMax)}
	switch {
	case l.kernel == 0:
		c.Stamps = "user"
	case l.user > 0:
		c.Stamps = "mixed"
	}
	if l.kernel > 0 {
		c.ReadLagMeanMs = unit.Ms(l.lagSum) / float64(l.kernel)
	}
	return c
}

func fillConnections(c *record.Connections, setups []openai.Setup, ahead int) {
	c.Ahead, c.During = ahead, len(setups)-ahead
	part := func(of func(openai.Setup) time.Duration) *stats.Summary {
		var took []float64
		for _, s := range setups {
			if d := of(s); d > 0 {
				took = append(took, unit.Ms(d))
			}
		}
		return stats.Summarize(took)
	}
	c.DNS = part(func(s openai.Setup) time.Duration { return s.DNS })
	c.TCP = part(func(s openai.Setup) time.Duration { return s.TCP })
	c.TLS = part(func(s openai.Setup) time.Duration { return s.TLS })
}
