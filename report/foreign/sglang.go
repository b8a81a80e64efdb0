package foreign

import (
	"bench/experiment/record"
	"bench/experiment/unit"
)

// sglang is the JSON lines of SGLang's bench_serving, with and without --output-details.
var sglang = tool{
	name: "sglang bench_serving",
	is:   func(o object) bool { return o.has("completed", "request_throughput", "total_throughput") },
	read: readSGLang,
	definitions: map[string]string{
		"ttft":           "send to the first event with text, over a connection of its own that is set up in it",
		"ttft_from_send": "send to the first event with text, over a connection of its own that is set up in it",
		"itl":            "gaps between events; by the native API, divided equally over an event's tokens",
		"tpot":           "(latency − TTFT) / (output tokens − 1); where the server sends no usage, by the tokens that were asked for",
		"e2e":            "send to the end of the stream, its closing lines included",
		"e2e_from_send":  "send to the end of the stream, its closing lines included",

		"requests_per_s":      "over the whole run, its end and a question to the server included",
		"output_tokens_per_s": "over the whole run, its end and a question to the server included",
		"prompt_tokens_per_s": "over the whole run, its end and a question to the server included",
		"error_rate":          "known only with --output-details",
	},
}

func readSGLang(o object) ([]measurement, error) {
	m := measurement{name: "sglang", slots: o.count("max_concurrency"), rate: rate(o)}
	m.model = o.object("server_info").text("served_model_name")
	m.summary = counts(o, 0)
	s := &m.summary
	records, err := detailed(o, "start_times")
	if err != nil {
		return nil, err
	}
	zero := dropZeros(records)
	if records != nil {
		m.records = records
		fromRecords(&m, records)
	} else {
		prefixes := map[string]string{"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2e_latency"}
		fromTotals(s, func(metric, stat string) (float64, bool) { return o.statistic(stat, "_"+prefixes[metric]+"_ms") })
		m.findings = append(m.findings, record.Finding{Code: "foreign_failures", Text: "the file does not say how many requests failed",
			Hint: "run bench_serving with --output-details"})
	}
	if zero > 0 {
		m.findings = append(m.findings, record.Finding{Code: "foreign_ttft", Text: unit.Count(zero) + " requests have a TTFT of 0, which means that it was not measured; they count as failed here",
			Hint: "the server sent no text, or all of it in a form that bench_serving does not read"})
	}
	s.E2EFromSend, s.TTFTFromSend, s.TTFE = s.E2E, s.TTFT, nil
	if x, ok := o.number("concurrency"); ok {
		s.Concurrency.Mean = x
	}
	m.lengths = lengths(s)
	m.axes = axes(m.rate, m.slots, m.lengths)
	return []measurement{m}, nil
}

// dropZeros marks requests that are said to have answered at the moment at which they were sent.
func dropZeros(records []*record.Record) int {
	n := 0
	for _, r := range records {
		if r.OK() && r.First == r.Sent {
			r.Outcome, r.Error = "unknown", "its TTFT is 0"
			n++
		}
	}
	return n
}
