package foreign

import (
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

var genaiBench = tool{
	name: "genai-bench",
	is:   func(o object) bool { return o.object("aggregated_metrics").has("iteration_type", "stats") },
	read: readGenaiBench,
	definitions: map[string]string{
		"ttft": "send to the first chunk with text, on the clock of the thread that reads the stream",
		"tpot": "(latency − TTFT) / (output tokens − 1), one value for a request",
		"e2e":  "send to the end of the stream",

		"requests_per_s":      "completed requests over the run",
		"output_tokens_per_s": "over the run; by the server's usage, else counted by a tokenizer",
		"error_rate":          "num_error_requests / all requests",
	},
}

// readGenaiBench has no model: it is in another file.
func readGenaiBench(o object) ([]measurement, error) {
	var m measurement
	all := o.object("aggregated_metrics")
	switch all.text("iteration_type") {
	case "num_concurrency":
		m.Spec.Concurrency = all.count("num_concurrency")
	case "request_rate":
		m.Spec.Rate = workload.Rate(max(0, all.or0("request_rate")))
	}
	s, statistics := &m.Summary, all.object("stats")
	setRequests(s, all.count("num_completed_requests"), all.count("num_error_requests"))
	n, scale := s.Requests.Completed, 1000.0
	if o.text("_time_unit") == "ms" {
		scale = 1
	}
	of := func(latency string) *stats.Summary {
		return distribution(statistics.object(latency), n, scale, map[string]string{"std": "stddev"})
	}
	s.TTFT, s.TPOT, s.E2E = of("ttft"), of("tpot"), of("e2e_latency")
	s.TTFTFromSend, s.E2EFromSend = s.TTFT, s.E2E
	s.DurationS = all.or0("run_duration")
	s.Throughput = record.Throughput{RequestsPerS: all.or0("requests_per_second"),
		OutputTokensPerS: all.or0("mean_output_throughput_tokens_per_s"),
		PromptTokensPerS: all.or0("mean_input_throughput_tokens_per_s")}
	s.Tokens = record.Tokens{Prompt: statistics.object("num_input_tokens").count("sum"),
		Output: statistics.object("num_output_tokens").count("sum"), Estimated: true}
	return []measurement{m}, nil
}
