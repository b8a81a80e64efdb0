package experiment

import (
	"strconv"
	"time"

	"bench/experiment/workload"
)

const (
	coldStart   = "cold_start"
	defaultIdle = workload.Span(10 * time.Second)
)

func (s *Spec) IsColdStart() bool { return s.Kind == coldStart }

func (s *Spec) ConnectsPerRequest() bool { return s.Connections == "new" || s.IsColdStart() }

// EffectiveLoad is the point's load. A cold start has one request at a time and an idle time before each.
func (s *Spec) EffectiveLoad() workload.Load {
	l := s.Load
	if s.IsColdStart() {
		l.Concurrency = 1
		if l.Idle == 0 {
			l.Idle = defaultIdle
		}
	}
	return l
}

func (s *Spec) checkCold(bad func(key, problem, hint string)) {
	switch s.Kind {
	case coldStart:
	case "", "load":
		if s.Idle > 0 {
			bad("idle", "only a cold start has an idle time", `write kind = "cold_start", or leave out idle`)
		}
		return
	default:
		bad("kind", "unknown kind "+strconv.Quote(s.Kind), `write kind = "load" or "cold_start"`)
		return
	}
	const alone = "a cold start sends one request at a time"
	if s.Open() {
		bad("rate", alone, "leave out rate")
	}
	if s.Concurrency > 1 {
		bad("concurrency", alone, "leave out concurrency")
	}
	if s.Requests == 0 {
		bad("", "a cold start needs a number of requests", "write requests = 5")
	}
	if s.HasConversations() {
		bad("session", alone, "leave out session")
	}
	if s.Connections == "reuse" {
		bad("connections", "a cold start opens a connection for each request", "leave out connections")
	}
}
