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
	"bench/sweep"
)

// undecidable lists the limits of a row that its requests can't pass even if none is over the limit, and those that
// need a key of [target]: a line each, with the line of the matrix and what to write.
func undecidable(m *sweep.Matrix, s *experiment.Spec) []string {
	var out []string
	at := func(key string) string {
		if line := m.LineOf(s.Name, key); line > 0 {
			return fmt.Sprintf("%s:%d: ", m.File, line)
		}
		return ""
	}
	for _, l := range s.SLO.Limits {
		if missing := missingOf(l, m.Target); missing != "" {
			out = append(out, fmt.Sprintf("%s%s can't be decided: write %s in [target]",
				at("slo."+l.Key), l.Key, missing))
		}
	}
	n, about := planned(s)
	if s.Search != nil {
		n, about = mostOfSearch(s.Search), false
	}
	var keys []string
	most := 0
	for _, l := range s.SLO.Limits {
		p, ok := quantile(l)
		if _, need := stats.Decide(0, 0, p, 0.99); ok && n > 0 && n < need {
			keys, most = append(keys, l.Key), max(most, need)
		}
	}
	if len(keys) == 0 {
		return out
	}
	key, remedy := remedyFor(s, most)
	label := s.Label()
	if k := s.Search; k != nil {
		label = s.Name
		key, remedy = "rate", fmt.Sprintf(": write budget = %q", workload.Seconds(math.Ceil(float64(most)/k.Max)))
	}
	return append(out, fmt.Sprintf("%s%s: %s can't pass with %s requests, a PASS takes at least %s%s",
		at(key), label, strings.Join(keys, ", "), countText(n, about), unit.Count(most), remedy))
}

// mostOfSearch is the largest number of requests of all probes of a search; 0 = the server's speed decides.
func mostOfSearch(k *experiment.Search) int {
	if k.Axis != "rate" {
		return 0
	}
	return int(k.Max * time.Duration(k.MaxTime()).Seconds())
}

// quantile is the percentile that a limit bounds: 0.95 of an error rate of 5 %; false: it bounds none.
func quantile(l experiment.Limit) (p float64, ok bool) {
	switch {
	case !l.Decidable():
		return 0, false
	case l.Stat == "":
		return 1 - l.Value, true
	}
	return l.P()
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
