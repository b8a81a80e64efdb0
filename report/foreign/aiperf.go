package foreign

import (
	"slices"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
)

var aiperf = tool{
	name: "aiperf",
	is:   func(o object) bool { return o.has("aiperf_version") },
	read: readAIPerf,
	definitions: map[string]string{
		"ttft": "send to the first response with content",
		"tpot": "inter_token_latency of aiperf: (request latency − TTFT) / (output tokens − 1), one value for a " +
			"request",
		"itl": "inter_chunk_latency of aiperf",
		"e2e": "send to the last response",

		"requests_per_s":      "valid requests over the whole run",
		"output_tokens_per_s": "over the whole run; tokens counted by a tokenizer on the client, by default",
		"error_rate":          "error_request_count / all requests",
	},
}

func readAIPerf(o object) ([]measurement, error) {
	m := measurement{version: o.text("aiperf_version")}
	average := func(metric string) float64 { return o.object(metric).or0("avg") }
	s := &m.Summary
	setRequests(s, int(average("request_count")), int(average("error_request_count")))
	n := s.Requests.Completed
	of := func(metric string) *stats.Summary { return aiperfSummary(o.object(metric), n) }
	s.TTFT, s.TPOT = of("time_to_first_token"), of("inter_token_latency")
	s.ITL, s.E2E = of("inter_chunk_latency"), of("request_latency")
	s.TTFTFromSend, s.E2EFromSend = s.TTFT, s.E2E
	s.DurationS, s.Concurrency.Mean = average("benchmark_duration"), average("effective_concurrency")
	s.Throughput = record.Throughput{RequestsPerS: average("request_throughput"),
		OutputTokensPerS: average("output_token_throughput"), PromptTokensPerS: average("input_token_throughput")}
	s.Tokens = record.Tokens{Prompt: int(average("total_isl")), Output: int(average("total_osl")), Estimated: true}
	m.StartedAt, _ = time.Parse("2006-01-02T15:04:05.999999", o.text("start_time")) // the file has no time zone
	m.aiperfLoad(o.object("input_config"))
	return []measurement{m}, nil
}

// aiperfLoad leaves out the load of several phases, of a schedule and of users, which no row has.
func (m *measurement) aiperfLoad(input object) {
	var names []string
	for _, model := range input.object("models").objects("items") {
		names = append(names, model.text("name"))
	}
	m.model = strings.Join(names, ", ")
	phases := slices.DeleteFunc(input.objects("phases"), func(p object) bool { return p.text("kind") == "warmup" })
	if len(phases) != 1 {
		return
	}
	switch p := phases[0]; p.text("type") {
	case "concurrency":
		m.Spec.Concurrency = max(1, p.count("concurrency")) // the file lacks the default
	case "constant", "gamma", "poisson":
		m.setRate(p)
	}
}

// aiperfSummary reads one metric in ms; nil: its unit is not one of time.
func aiperfSummary(o object, n int) *stats.Summary {
	scale, known := map[string]float64{"": 1, "ms": 1, "sec": 1000, "s": 1000, "us": 1e-3, "ns": 1e-6}[o.text("unit")]
	if !known {
		return nil
	}
	if x, ok := o.number("count"); ok {
		n = int(x)
	}
	return distribution(o, n, scale, map[string]string{"mean": "avg", "p999": "p99.9"})
}
