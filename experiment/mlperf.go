package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/workload"
)

// mlperf are the p99 limits of MLPerf Inference for language models in a data centre, ms (mlcommons/inference,
// loadgen/mlperf.conf, commit b66003e; the end-to-end one from inference_policies, commit ac93e89). For gpt-oss-120b
// interactive these two differ, 15 and 20 ms: the stricter is taken.
var mlperf = map[string]map[string]float64{
	"llama2-70b/server":         {"ttft_p99": 2000, "tpot_p99": 200},
	"llama2-70b/interactive":    {"ttft_p99": 450, "tpot_p99": 40},
	"mixtral-8x7b/server":       {"ttft_p99": 2000, "tpot_p99": 200},
	"llama3.1-405b/server":      {"ttft_p99": 6000, "tpot_p99": 175},
	"llama3.1-405b/interactive": {"ttft_p99": 4500, "tpot_p99": 80},
	"llama3.1-8b/server":        {"ttft_p99": 2000, "tpot_p99": 100},
	"llama3.1-8b/interactive":   {"ttft_p99": 500, "tpot_p99": 30},
	"deepseek-r1/server":        {"ttft_p99": 2000, "tpot_p99": 80},
	"deepseek-r1/interactive":   {"ttft_p99": 1500, "tpot_p99": 15},
	"gpt-oss-120b/server":       {"ttft_p99": 3000, "tpot_p99": 80},
	"gpt-oss-120b/interactive":  {"ttft_p99": 2000, "tpot_p99": 15},
	"qwen3-vl-235b/server":      {"e2e_p99": 12_000},
}

// decodePreset puts the limits of MLPerf in, but for those that the table states itself.
func (c *SLO) decodePreset(v any, own map[string]any, bad func(key, problem, hint string)) {
	name, _ := v.(string)
	limits, ok := mlperf[name]
	if !ok {
		bad("mlperf", fmt.Sprintf("%v is none of MLPerf's limits", v), "one of "+strings.Join(slices.Sorted(maps.Keys(mlperf)), " "))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		if _, stated := own[key]; stated {
			continue
		}
		metric, stat, _ := cutStat(key)
		c.Limits = append(c.Limits, Limit{Key: key, Metric: metric, Stat: stat, Value: limits[key], Unit: "ms"})
	}
}

// scenarios of MLPerf LoadGen, as loads: one request at a time, Poisson arrivals, all at once.
var scenarios = []string{"Offline", "Server", "SingleStream"}

// LoadGen's least numbers (mlperf.conf): of queries one by one, and of samples at once; and how long a server is measured.
const (
	singleQueries  = 1024
	offlineSamples = 24_576
	serverSeconds  = 600
)

// Preset fills in what the row's workload or scenario says and the row does not, and refuses what contradicts it.
func (s *Spec) Preset(bad func(key, problem, hint string)) {
	s.presetTile(bad)
	unstated := s.Requests == 0 && s.Duration == 0
	switch s.Scenario {
	case "":
	case "SingleStream":
		if s.Rate != 0 || s.Concurrency > 1 {
			bad("scenario", "SingleStream sends one request when the one before is over", "remove rate and concurrency")
		}
		s.Concurrency = 1
		if unstated {
			s.Requests = singleQueries
		}
	case "Server":
		if s.Rate == 0 || s.Rate.IsInf() || s.Concurrency > 0 || s.Arrival.Process != "" && s.Arrival.Process != "poisson" {
			bad("scenario", "Server has Poisson arrivals at a rate, without a cap", "write rate = 4, and remove concurrency and arrival")
		}
		if unstated {
			s.Duration = workload.Span(serverSeconds * time.Second)
		}
	case "Offline":
		if s.Rate != 0 && !s.Rate.IsInf() || s.Duration > 0 {
			bad("scenario", "Offline sends all requests at once", "remove rate and duration; requests = "+strconv.Itoa(offlineSamples)+" is the default")
		}
		s.Rate = workload.Rate(math.Inf(1))
		if s.Requests == 0 { // a duration is a mistake, and told already
			s.Requests = offlineSamples
		}
	default:
		bad("scenario", "unknown scenario "+strconv.Quote(s.Scenario), "use "+strings.Join(scenarios, ", "))
	}
}
