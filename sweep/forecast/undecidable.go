package forecast

import (
	"fmt"
	"math"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
	"bench/sweep/matrix"
)

// undecidable lists the limits of a row that its requests can't pass even if none is over the limit, and those that
// need a key of [target] or [telemetry]: a line each, with the line of the matrix and what to write.
func undecidable(m *matrix.Matrix, s *experiment.Spec) []string {
	var out []string
	at := func(key string) string {
		if line := m.LineOf(s.Name, key); line > 0 {
			return fmt.Sprintf("%s:%d: ", m.File, line)
		}
		return ""
	}
	for _, l := range s.SLO.Limits {
		missing, table := missingOf(l, m.Target), "target"
		if strings.HasSuffix(l.Unit, "J") && m.Telemetry.GPU == "off" {
			missing, table = `gpu = "auto"`, "telemetry"
		}
		if missing != "" {
			out = append(out, fmt.Sprintf("%s%s can't be decided: write %s in [%s]",
				at("slo."+l.Key), l.Key, missing, table))
		}
	}
	n, about := planned(s)
	if s.Search != nil {
		n, about = mostOfSearch(s.Search), false
	}
	key, label := "", s.Label()
	if s.Search != nil {
		key, label = "rate", s.Name
	}
	for _, l := range limited(s, n) {
		if l.n == 0 || l.n >= l.need {
			continue
		}
		where, remedy := remedyFor(s, l.total())
		if k := s.Search; k != nil {
			where, remedy = key, fmt.Sprintf(": write budget = %q",
				workload.Seconds(math.Ceil(float64(l.total())/k.Max)))
		}
		const text = "%s%s: %s can't pass with %s requests%s, a PASS takes at least %s, more under queues%s"
		out = append(out, fmt.Sprintf(text, at(where), label,
			strings.Join(l.keys, ", "), countText(l.n, about || l.share < 1), l.of(), unit.Count(l.need), remedy))
	}
	return out
}

// limitedGroup are the limits of a class, or of the row, that its requests can't pass.
type limitedGroup struct {
	class string  // empty: the row
	share float64 // of the row's requests
	n     int     // its requests; 0 = the server's speed decides
	need  int     // of its requests, for a PASS
	keys  []string
}

// total is the number of requests of the whole row with which the group has as many as it needs.
func (l *limitedGroup) total() int { return int(math.Ceil(float64(l.need)/l.share - 1e-9)) }

func (l *limitedGroup) of() string {
	if l.class == "" {
		return ""
	}
	return " of class " + l.class
}

// limited are the limits by class. Those of the row hold for the classes that do not override them.
func limited(s *experiment.Spec, n int) []limitedGroup {
	var out []limitedGroup
	add := func(class string, limits []experiment.Limit, shareOf func(key string) float64) {
		own := limitedGroup{class: class}
		for _, l := range limits {
			share := shareOf(l.Key)
			need, ok := fewestForPass(l, s.SLO.At())
			if at := int(math.Round(float64(n) * share)); ok && share > 0 && at < need {
				if own.keys = append(own.keys, l.Key); own.need == 0 ||
					float64(need)/share > float64(own.need)/own.share {
					own.n, own.need, own.share = at, need, share
				}
			}
		}
		if len(own.keys) > 0 {
			out = append(out, own)
		}
	}
	add("", s.SLO.Limits, func(key string) float64 {
		return shareOf(s, func(c workload.Class) bool { return !s.ClassOverrides(c.Name, key) })
	})
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			add(c.Name, s.ClassSLO(c).Limits, func(string) float64 {
				return shareOf(s, func(o workload.Class) bool { return o.Name == c.Name })
			})
		}
	}
	return out
}

func shareOf(s *experiment.Spec, is func(workload.Class) bool) float64 {
	sum, own := 0.0, 0.0
	for _, c := range s.Classes() {
		sum += c.Weight
		if is(c) {
			own += c.Weight
		}
	}
	return own / sum
}

// fewestForPass is the smallest number of requests with which a limit can pass, however far it is; false: no number
// decides it, as of gaps, many of which are in each request.
func fewestForPass(l experiment.Limit, confidence float64) (n int, ok bool) {
	switch p, ok := l.P(); {
	case !l.Decidable() || l.Metric == "itl":
		return 0, false
	case l.Stat == "":
		return stats.FewestForShare(l.Value, confidence), true
	default:
		return stats.MinSamples(p, confidence), ok
	}
}

// mostOfSearch is the largest number of requests of all probes of a search; 0 = the server's speed decides.
func mostOfSearch(k *experiment.Search) int {
	if k.Axis != "rate" || k.Open {
		return 0
	}
	return int(k.Max * time.Duration(k.MaxTime()).Seconds())
}

// missingOf are the keys of [target] that a limit needs and does not have, with examples.
func missingOf(l experiment.Limit, t experiment.Target) string {
	var keys []string
	usd := l.Unit == "usd"
	if (usd || l.Metric == "min_output_tokens_per_s_per_gpu") && t.GPUs == 0 {
		keys = append(keys, "gpus = 1")
	}
	if usd && t.GPUHourUSD == nil {
		keys = append(keys, "gpu_hour_usd = 2.5")
	}
	return strings.Join(keys, " and ")
}

// remedyFor is what to write so that a row has so many requests, and the key that now bounds them.
func remedyFor(s *experiment.Spec, need int) (key, text string) {
	var write []string
	key = "duration"
	if s.Requests > 0 && s.Requests < need {
		key, write = "requests", append(write, fmt.Sprintf("requests = %d", need))
	}
	rate := float64(s.Rate)
	span := time.Duration(s.Duration).Seconds()
	if span > 0 && span*rate < float64(need) && rate > 0 && s.Arrival.IsSteady() {
		write = append(write, fmt.Sprintf("duration = %q", workload.Seconds(math.Ceil(float64(need)/rate))))
	}
	if len(write) == 0 {
		return key, ""
	}
	return key, ": write " + strings.Join(write, " and ")
}

// traceEndText warns that a trace can end within the warm-up, where only the server's speed decides it; empty: it
// can't.
func traceEndText(s *experiment.Spec) string {
	whole, _, ends := s.AtMost()
	if _, known := s.LeftByWarmup(); !ends || known || s.Repeat > 1 {
		return ""
	}
	return fmt.Sprintf("%s: the trace ends after %s: if all are answered within the warm-up of %v, the window has none; %s",
		s.Label(), unit.Plural(whole, "request"), time.Duration(s.Warmup.Time), s.TraceEndHint())
}
