package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"bench/experiment/unit"
	"bench/experiment/workload"
)

// The looks of a row with until = "decided" are of the first n requests by arrival, once all of them have ended: the
// fast ones alone would show a better server.

const (
	UntilDecided     = "decided" // the row ends when its SLO is decided
	untilInterrupted = "stopped" // the row runs until it is interrupted
)

func (s *Spec) UntilInterrupted() bool { return s.Until == untilInterrupted }

// A row of at least one of these sizes does not keep its records in memory.
const (
	spoolsFrom         = workload.Span(30 * time.Minute)
	spoolsFromRequests = 20_000 // of about 2 KB in memory
	spoolsFastest      = 0.05   // s: a worker's requests take no less
)

func (s *Spec) SpoolsRecords() bool {
	could := max(float64(s.Requests), s.ExpectedRequests(),
		float64(s.Concurrency)*time.Duration(s.Duration).Seconds()/spoolsFastest)
	return s.UntilInterrupted() || s.Duration >= spoolsFrom || could >= spoolsFromRequests
}

func (s *Spec) checkUntil(bad func(key, problem, hint string)) {
	switch {
	case s.Until == "":
	case s.UntilInterrupted():
		if s.Open() || s.IsConversation() || s.IsColdStart() {
			bad("until", `until = "stopped" needs a closed loop of single requests`,
				"write concurrency = 8, and remove rate, session and kind")
		}
	case s.Until != UntilDecided:
		bad("until", fmt.Sprintf("unknown until %q", s.Until), `write until = "decided" or "stopped", or leave it out`)
	case !s.decidable():
		bad("until", "the row has no limit that more requests could decide",
			`write [slo] and below it ttft_p95 = "1s"; a throughput or a price is decided at the end`)
	case s.Rate.IsInf():
		bad("until", `rate = "inf" sends all requests at once: the row can't end early`,
			"write a finite rate, or leave until out")
	case s.IsConversation() || s.IsColdStart():
		bad("until", "until needs arrival times that do not depend on the answers",
			"leave it out; requests or duration end the row")
	}
}

func (s *Spec) decidable() bool {
	if slices.ContainsFunc(s.SLO.Limits, Limit.Decidable) {
		return true
	}
	return slices.ContainsFunc(s.Mix, func(c workload.Class) bool {
		return len(c.SLO) > 0 && slices.ContainsFunc(s.ClassSLO(c).Limits, Limit.Decidable)
	})
}

// Decidable reports whether more requests can decide the limit; no number of them proves an error rate of 0.
func (l Limit) Decidable() bool {
	return l.Stat != "" || l.Metric == "error_rate" && l.Value > 0 && l.Value < 1
}

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

func (s *Spec) TraceEndHint() string {
	if s.ReplaysSessions() && s.Arrival.Process != "trace" {
		return "make warmup shorter, or write repeat = true in [row.trace]"
	}
	return "make warmup shorter"
}

func (s *Spec) checkTraceEnd(bad func(key, problem, hint string)) {
	most, span, ends := s.AtMost()
	warmup := time.Duration(s.Warmup.Time)
	if !ends {
		return
	}
	switch {
	case s.Warmup.Requests >= most:
		bad("warmup", fmt.Sprintf("the trace has %s, all within the warm-up of %d: the window would have none",
			unit.Plural(most, "request"), s.Warmup.Requests), s.TraceEndHint())
	case span < warmup:
		bad("warmup",
			fmt.Sprintf("the trace ends after %s and %v, within the warm-up of %v: the window would have no request",
				unit.Plural(most, "request"), span.Round(time.Millisecond), warmup), s.TraceEndHint())
	}
}

// LeftByWarmup is the number of requests of a trace that the warm-up leaves; known is false if the server's speed
// decides it, or if the trace does not end. At a rate it is the expected number.
func (s *Spec) LeftByWarmup() (n int, known bool) {
	most, _, ends := s.AtMost()
	if !ends || s.Warmup.Time > 0 && (!s.Timed() || s.ReplaysSessions()) {
		return 0, false
	}
	sent := s.Arriving(0, time.Duration(s.Warmup.Time)) * s.RequestsPerArrival()
	return max(0, most-max(s.Warmup.Requests, int(sent))), true
}

// A row with isolate = true runs its mix, and each class alone at its share of the rate. The ratio of a class's
// percentiles is the interference from the other classes: what separate server pools, or a fair scheduler, would save.

func (s *Spec) checkIsolate(bad func(key, problem, hint string)) {
	switch {
	case !s.Isolate:
	case len(s.Mix) < 2:
		bad("isolate", "a row without classes has none to run alone",
			"write two [[row.mix]] tables or more, or leave isolate out")
	case !s.Timed() || s.Arrival.Rate() != 0:
		bad("isolate", "a class alone gets its share of the rate, but the row has no constant rate",
			"write rate = 4, or leave isolate out")
	}
}

func (s *Spec) IsolatedPoints() []Spec {
	if !s.Isolate {
		return nil
	}
	total := 0.0
	for _, c := range s.Mix {
		total += c.Weight
	}
	var out []Spec
	for _, c := range s.Mix {
		alone := *s
		share := c.Weight / total
		alone.Alone, alone.Isolate, alone.Mix = c.Name, false, []workload.Class{c}
		alone.Rate = workload.Rate(float64(s.Rate) * share)
		if s.Requests > 0 {
			alone.Requests = max(1, int(math.Round(float64(s.Requests)*share)))
		}
		alone.Point = append(slices.Clone(s.Point), Axis{"alone", c.Name})
		out = append(out, alone)
	}
	return out
}
