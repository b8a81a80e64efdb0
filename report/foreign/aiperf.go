package foreign

import (
	"strconv"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
)

var aiperf = tool{
	name: "aiperf",
	is: func(o object) bool {
		return o.has("aiperf_version") || o.object("request_throughput").has("avg") || o.object("records").object("request_throughput").has("avg")
	},
	read: readAIPerf,
	definitions: map[string]string{
		"ttft":           "send to the first response with content",
		"tpot":           "inter_token_latency of aiperf: (request latency − TTFT) / (output tokens − 1), one value for a request",
		"itl":            "inter_chunk_latency of aiperf",
		"e2e":            "send to the last response",
		"ttft_from_send": "send to the first response with content",
		"e2e_from_send":  "send to the last response",

		"requests_per_s":      "valid requests over the whole run",
		"output_tokens_per_s": "over the whole run; tokens counted by a tokenizer on the client, by default",
		"prompt_tokens_per_s": "not reported",
		"error_rate":          "error_request_count / all requests",
	},
}

func readAIPerf(o object) ([]measurement, error) {
	if records := o.object("records"); records != nil { // older files
		for key, value := range records {
			if !o.has(key) {
				o[key] = value
			}
		}
	}
	m := measurement{name: "aiperf"}
	average := func(metric string) float64 { return o.object(metric).or0("avg") }
	s := &m.summary
	setRequests(s, int(average("request_count")), int(average("error_request_count")))
	n := s.Requests.Completed
	s.TTFT, s.TPOT = aiperfSummary(o.object("time_to_first_token"), n), aiperfSummary(o.object("inter_token_latency"), n)
	s.ITL, s.E2E = aiperfSummary(o.object("inter_chunk_latency"), n), aiperfSummary(o.object("request_latency"), n)
	s.TTFTFromSend, s.E2EFromSend = s.TTFT, s.E2E
	s.DurationS = average("benchmark_duration")
	s.Throughput = record.Throughput{RequestsPerS: average("request_throughput"), OutputTokensPerS: average("output_token_throughput")}
	s.Tokens = record.Tokens{Prompt: int(average("input_sequence_length") * float64(n)), Output: int(average("output_sequence_length") * float64(n)), Estimated: true}
	if s.DurationS > 0 {
		s.Throughput.PromptTokensPerS = float64(s.Tokens.Prompt) / s.DurationS
	}
	m.aiperfLoad(o)
	return []measurement{m}, nil
}

func (m *measurement) aiperfLoad(o object) {
	input := o.object("input_config")
	load := input.object("loadgen")
	m.cap = load.count("concurrency")
	if x, ok := load.number("request_rate"); ok && x > 0 {
		m.rate = strconv.FormatFloat(x, 'g', -1, 64)
	}
	if names, err := list[string](input.object("endpoint"), "model_names"); err == nil {
		m.model = strings.Join(names, ", ")
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999"} {
		if t, err := time.Parse(layout, o.text("start_time")); err == nil {
			m.started = t
		}
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
