package foreign

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/internal/yaml"
)

// inferencePerf has only reports of llm-d's form.
var inferencePerf = tool{name: "inference-perf", definitions: map[string]string{
	"ttft": "send to the first chunk with a choice, on the clock of a worker process",
	"tpot": "(end − first chunk) / (output tokens − 1); tokens counted by a tokenizer on the client",
	"itl":  "gaps between chunks; tokens that came in one chunk have gaps of 0",
	"e2e":  "send to the end of the request",

	"requests_per_s":      "successful requests over the time from the first send to the last end",
	"output_tokens_per_s": "over the time from the first send to the last end; counted by a tokenizer",
	"error_rate":          "failures / all requests; an error inside a stream may be a success",
}}

// reportTool is the tool that measured a report, with its definitions. The partial report of inference-perf names none.
func reportTool(o object) tool {
	t := inferencePerf
	switch name := o.object("scenario").object("load").object("standardized").text("tool"); name {
	case "", inferencePerf.name:
	case guidellm.name:
		t = guidellm
	case aiperf.name:
		t = aiperf
	case "vllm-benchmark":
		t = vllm
	default:
		t = tool{name: name, definitions: map[string]string{}}
		for _, metric := range []string{"ttft", "tpot", "itl", "e2e"} {
			t.definitions[metric] = "not specified by " + name
		}
		if name == "bench" { // without its own row
			t.definitions["ttft"], t.definitions["e2e"] = "from the send", "from the send"
		}
	}
	t.read = readReport
	return t
}

// objectsOf are the objects of a file, whose name can be one of YAML.
func objectsOf(name string, text []byte) iter.Seq2[object, error] {
	if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
		var err error
		if text, err = yaml.JSON(text); err != nil {
			return func(yield func(object, error) bool) { yield(nil, err) }
		}
	}
	return split(text)
}

// readReport takes bench's own row, which has what the schema lacks.
func readReport(o object) ([]measurement, error) {
	load := o.object("scenario").object("load")
	is, native := load.object("standardized"), load.object("native")
	m := measurement{version: is.text("tool_version"), model: reportModel(o)}
	if is.text("tool") == "bench" && native.object("config").text("schema") == record.SchemaRow {
		err := m.ownRow(native, o.object("scenario").objects("stack"))
		return []measurement{m}, err
	}
	m.Spec.Rate, m.Spec.Concurrency = workload.Rate(max(0, is.or0("rate_qps"))), is.count("concurrency")
	at := o.object("run").object("time")
	m.StartedAt, _ = time.Parse(time.RFC3339Nano, at.text("start"))
	// PT49.9S is 49.9s
	if took, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(at.text("duration"), "PT"))); err == nil {
		m.Summary.DurationS = took.Seconds()
	}
	m.reportFigures(o.object("results").object("request_performance").object("aggregate"), is.text("tool"))
	return []measurement{m}, nil
}

func (m *measurement) ownRow(native object, stack []object) error {
	m.client, m.origin = "bench", &record.Manifest{}
	if err := json.Unmarshal(native["config"], &m.Row); err != nil {
		return fmt.Errorf("native.config: %w", err)
	}
	m.Evidence = nil // the records are not in the file
	if err := json.Unmarshal(native["args"], m.origin); err != nil {
		return fmt.Errorf("native.args: %w", err)
	}
	m.predicted = m.origin.Predicted
	for _, component := range stack {
		if err := json.Unmarshal(component.object("native")["config"], &m.origin.Target); err != nil {
			return fmt.Errorf("the server's native.config: %w", err)
		}
	}
	return nil
}

func reportModel(o object) string {
	scenario := o.object("scenario")
	for _, component := range scenario.objects("stack") {
		if name := component.object("standardized").object("model").text("name"); name != "" {
			return name
		}
	}
	return scenario.object("load").object("native").object("config").object("server").text("model_name")
}

func (m *measurement) reportFigures(o object, tool string) {
	requests, latency, throughput := o.object("requests"), o.object("latency"), o.object("throughput")
	failed, unfinished := requests.count("failures"), requests.count("incomplete")
	s := &m.Summary
	setRequests(s, max(0, requests.count("total")-failed-unfinished), failed)
	s.Requests.Unfinished += unfinished
	n := s.Requests.Completed
	of := func(name string) *stats.Summary { // in ms; nil: the unit is not one of time
		o := latency.object(name)
		scale, known := map[string]float64{"ms": 1, "s": 1000, "ms/token": 1, "s/token": 1000}[o.text("units")]
		if !known {
			return nil
		}
		return distribution(o, n, scale, map[string]string{"std": "stddev", "p999": "p99p9"})
	}
	s.TTFT, s.E2E, s.ITL = of("time_to_first_token"), of("request_latency"), of("inter_token_latency")
	s.TTFTFromSend, s.E2EFromSend = s.TTFT, s.E2E
	if tool == "guidellm" || tool == "aiperf" { // their inter-token latency is one value for a request
		s.TPOT, s.ITL = s.ITL, nil
	} else {
		s.TPOT = of("time_per_output_token")
	}
	if tool == "vllm-benchmark" {
		s.TTFE = s.TTFT
	}
	rate := func(name string) float64 { return throughput.object(name).or0("mean") }
	s.Throughput = record.Throughput{RequestsPerS: rate("request_rate"), PromptTokensPerS: rate("input_token_rate"),
		OutputTokensPerS: rate("output_token_rate")}
	total := func(name string) int { return int(requests.object(name).or0("mean")*float64(n) + 0.5) }
	s.Tokens = record.Tokens{Prompt: total("input_length"), Output: total("output_length"), Estimated: true}
}
