package foreign

import (
	"cmp"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/unit"
)

var sglang = tool{
	name: "sglang bench_serving",
	is:   func(o object) bool { return o.has("completed", "request_throughput", "total_throughput") },
	read: readSGLang,
	definitions: map[string]string{
		"ttft": "send to the first event with text, including the set-up of a new connection",
		"itl":  "gaps between events; by the native API, divided by the tokens of the event",
		"tpot": "(latency − TTFT) / (output tokens − 1); without usage from the server, requested tokens",
		"e2e":  "send to the end of the stream, closing lines included",

		"requests_per_s":      "over the whole run, including its end and a query of the server",
		"output_tokens_per_s": "over the whole run, including its end and a query of the server",
		"error_rate":          "only with --output-details",
	},
}

func readSGLang(o object) ([]measurement, error) {
	var m measurement
	m.Spec.Concurrency, m.Spec.Rate = o.count("max_concurrency"), rate(o)
	server := o.object("server_info") // null: of another engine
	m.model = cmp.Or(server.text("served_model_name"), server.text("model_path"))
	m.Summary = counts(o, 0)
	s := &m.Summary
	var err error
	if m.records, err = detailed(o); err != nil {
		return nil, err
	}
	zero := 0
	for _, r := range m.records {
		if r.OK() && r.First == r.Sent {
			r.Outcome, r.Error = "unknown", "its TTFT is 0"
			zero++
		}
	}
	m.latencies(o, "e2e_latency")
	if m.records == nil {
		m.Findings = append(m.Findings, record.Finding{Code: "foreign", Severity: record.Caution,
			Text:    "the file does not report the number of failed requests",
			Hint:    "run bench_serving with --output-details",
			Effects: []record.Effect{{Metric: metric.ErrorRate, Direction: record.Lowered, Unit: record.UnitRequests}}})
	}
	if zero > 0 {
		m.Findings = append(m.Findings, record.Finding{Code: "foreign", Severity: record.Caution,
			Text: unit.Count(zero) + " requests have a TTFT of 0 (not measured); they count as failed",
			Hint: "the server sent no text, or in a form that bench_serving does not read",
			Effects: []record.Effect{{Metric: metric.ErrorRate, Direction: record.Inflated, Bound: new(float64(zero)),
				Unit: record.UnitRequests}}})
	}
	s.E2EFromSend, s.TTFTFromSend, s.TTFE = s.E2E, s.TTFT, nil
	if x, ok := o.number("concurrency"); ok {
		s.Concurrency.Mean = x
	}
	return []measurement{m}, nil
}
