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
func undecidable(m *sweep.Matrix, s *experiment.Spec, v *Speed) []string {
	var out []string
	at := func(key string) string {
		if line := m.LineOf(s.Name, key); line > 0 {
			return fmt.Sprintf("%s:%d: ", m.File, line)
		}
		return ""
	}
	for _, l := range s.SLO.Limits {
		if missing := missingOf(l, m.Target); missing != "" {
			out = append(out, fmt.Sprintf("%s%s can't be decided: write %s in [target]", at("slo."+l.Key), l.Key, missing))
		}
	}
	n, about := v.planned(s)
	if s.Search != nil {
		n, about = mostOfProbe(s), false
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
	key, remedy := remedyFor(s, v, most)
	return append(out, fmt.Sprintf("%s%s: %s can't pass with %s requests, a PASS takes at least %s%s",
		at(key), s.Label(), strings.Join(keys, ", "), countText(n, about), unit.Count(most), remedy))
}

// mostOfProbe is the number of requests in the window of a search's probe with the highest load; 0 = the server's
// speed decides.
func mostOfProbe(s *experiment.Spec) int {
	byTime := 0
	if s.Search.Axis == "rate" {
		byTime = int(s.Search.Max * time.Duration(s.Duration).Seconds())
	}
	if s.Requests == 0 || byTime == 0 {
		return max(s.Requests, byTime)
	}
	return min(s.Requests, byTime)
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
func remedyFor(s *experiment.Spec, v *Speed, need int) (key, text string) {
	var write []string
	key = "duration"
	if s.Requests > 0 && s.Requests < need {
		key, write = "requests", append(write, fmt.Sprintf("requests = %d", need))
	}
	rate := float64(s.Rate)
	if s.Rate == 0 && v.RequestMs != nil && s.Concurrency > 0 && !s.HasConversations() {
		rate, _ = v.perS(s.Concurrency, meanTokens(s))
	}
	if d := time.Duration(s.Duration).Seconds(); d > 0 && d*rate < float64(need) && rate > 0 && s.Arrival.IsSteady() && s.Search == nil {
		write = append(write, fmt.Sprintf("duration = %q", workload.Seconds(math.Ceil(float64(need)/rate))))
	}
	if len(write) == 0 {
		return key, ""
	}
	return key, ": write " + strings.Join(write, " and ")
}
