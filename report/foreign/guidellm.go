package foreign

import (
	"fmt"
	"math"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

var guidellm = tool{
	name: "guidellm",
	is:   func(o object) bool { return o.has("benchmarks") },
	read: readGuideLLM,
	definitions: map[string]string{
		"ttft": "send to the first token, wall clock; nearest-rank percentiles",
		"tpot": "inter_token_latency of guidellm: (last − first token) / (output tokens − 1), weighted by " +
			"tokens; its time_per_output_token contains the TTFT and is not read",
		"e2e": "send to the end of the request, wall clock; nearest-rank percentiles",

		"requests_per_s":      "successful requests over the duration that guidellm reports",
		"output_tokens_per_s": "estimated by guidellm from evenly spaced tokens between the first and the last",
		"prompt_tokens_per_s": "estimated by guidellm from evenly spaced tokens",
		"error_rate":          "errored / (successful + errored); requests interrupted at the end are left out",
	},
}

func readGuideLLM(o object) ([]measurement, error) {
	benchmarks, err := list[object](o, "benchmarks")
	if err != nil {
		return nil, err
	}
	var out []measurement
	for i, b := range benchmarks {
		if !b.has("metrics") {
			return nil, fmt.Errorf("benchmark %d has no metrics", i+1)
		}
		m := b.guideBenchmark()
		m.version = o.object("metadata").text("guidellm_version")
		out = append(out, m)
	}
	return out, nil
}

func (b object) guideBenchmark() measurement {
	metrics := b.object("metrics")
	var m measurement
	m.guideStrategy(b.object("config"))
	totalsOf := metrics.object("request_totals")
	s := &m.Summary
	setRequests(s, totalsOf.count("successful"), totalsOf.count("errored"))
	successful := func(metric string) object { return metrics.object(metric).object("successful") }
	s.TTFT = guideSummary(successful("time_to_first_token_ms"), 1)
	s.TPOT = guideSummary(successful("inter_token_latency_ms"), 1)
	s.E2E = guideSummary(successful("request_latency"), 1000)
	s.TTFTFromSend, s.E2EFromSend = s.TTFT, s.E2E
	s.DurationS = b.or0("duration")
	s.Throughput = record.Throughput{RequestsPerS: successful("requests_per_second").or0("mean"),
		OutputTokensPerS: successful("output_tokens_per_second").or0("mean"),
		PromptTokensPerS: successful("prompt_tokens_per_second").or0("mean")}
	s.Concurrency.Mean = successful("request_concurrency").or0("mean")
	s.Tokens = record.Tokens{Prompt: int(successful("prompt_token_count").or0("total_sum")),
		Output: int(successful("output_token_count").or0("total_sum"))}
	if seconds := b.or0("start_time"); seconds > 0 {
		m.StartedAt = time.UnixMicro(int64(seconds * 1e6)).UTC()
	}
	return m
}

func (m *measurement) guideStrategy(config object) {
	m.model = config.object("backend").text("model")
	switch strategy := config.object("strategy"); strategy.text("type_") {
	case "synchronous":
		m.Spec.Concurrency = 1
	case "concurrent":
		m.Spec.Concurrency = strategy.count("streams")
	case "throughput":
		m.Spec.Rate, m.Spec.Concurrency = workload.Rate(math.Inf(1)), strategy.count("max_concurrency")
	case "constant", "poisson":
		m.setRate(strategy)
	}
}

func guideSummary(o object, scale float64) *stats.Summary {
	all := o.object("percentiles")
	if all == nil {
		all = object{}
	}
	for stat, key := range map[string]string{"mean": "mean", "std": "std_dev", "min": "min", "max": "max"} {
		all[stat] = o[key]
	}
	if _, ok := all.number("p50"); !ok {
		all["p50"] = o["median"]
	}
	return distribution(all, o.count("count"), scale, nil)
}
