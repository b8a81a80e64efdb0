package endpoint

import (
	"time"

	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// fillClock states which clock stamped the row.
func (m *measurement) fillClock() {
	c := record.Clock{Stamps: "kernel", KernelStamps: m.kernel, UserStamps: m.user, ReadLagMaxMs: unit.Ms(m.lagMax)}
	switch {
	case m.kernel == 0:
		c.Stamps = "user"
	case m.user > 0:
		c.Stamps = "mixed"
	}
	if m.kernel > 0 {
		c.ReadLagMeanMs = unit.Ms(m.lagSum) / float64(m.kernel)
	}
	m.e.Clock = c
}

// fillConnections summarizes the set-ups of connections; those opened ahead are first.
func fillConnections(c *record.Connections, setups []openai.Setup) {
	c.During = len(setups) - c.Ahead
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
