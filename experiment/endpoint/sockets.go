package endpoint

import (
	"sync/atomic"
	"time"

	"bench/experiment/openai"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

type socketReadings struct {
	clients []*openai.Client
	base    *openai.SocketCounts // at the first reading; nil: none yet
	last    time.Time
	took    time.Duration // of the last reading
	ended   *atomic.Bool  // the row is over: the next reading is the last one
}

// socketShare is the largest share of a core for reading the counters: with many connections samples lack them.
const socketShare = 0.005

// read is nil if there are no counters, or if it is too early for another reading.
func (s *socketReadings) read() *telemetry.Sockets {
	start := time.Now()
	if !s.ended.Load() && start.Sub(s.last) < time.Duration(float64(s.took)/socketShare) {
		return nil
	}
	var now openai.SocketCounts
	for _, c := range s.clients {
		now = now.Plus(c.Sockets())
	}
	s.last, s.took = start, time.Since(start)
	if s.base == nil {
		s.base = &now
	}
	if now.Connections == 0 {
		return nil
	}
	c := now.Minus(*s.base)
	out := &telemetry.Sockets{
		Open: c.Open, SegmentsOut: c.SegmentsOut, SegmentsIn: c.SegmentsIn, Retransmits: c.Retransmits,
		Needless:   c.Needless,
		OutOfOrder: c.OutOfOrder, WindowLimitedMs: unit.Ms(c.WindowLimited),
	}
	if c.Open > 0 {
		out.MinRTT, out.RTT = new(unit.Ms(now.MinRTT)), new(unit.Ms(now.RTT))
	}
	return out
}
