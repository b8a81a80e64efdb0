package foreign

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

var vllm = tool{
	name: "vllm bench serve",
	is: func(o object) bool {
		return o.has("completed", "request_throughput") && o.has("total_token_throughput")
	},
	read: readVLLM,
	definitions: map[string]string{
		"ttft": "send to the first event with choices, even an empty one (bench: ttfe)",
		"itl":  "gaps between events with choices, empty ones too",
		"tpot": "(last event − first event with choices) / (output tokens − 1)",
		"e2e":  "send to the last event with choices; in some versions to the event with the usage",

		"requests_per_s":      "over the whole run, including start and end",
		"output_tokens_per_s": "over the whole run, including start and end",
		"error_rate":          "errors inside a stream are not counted",
	},
}

func readVLLM(o object) ([]measurement, error) {
	m := measurement{model: o.text("model_id")}
	m.StartedAt, _ = time.ParseInLocation("20060102-150405", o.text("date"), time.UTC) // the file has no time zone
	m.Spec.Concurrency, m.Spec.Rate = o.count("max_concurrency"), rate(o)
	if x := o.or0("burstiness"); x != 1 {
		m.Spec.Burstiness = x
	}
	if o.text("burstiness") == "inf" {
		m.Spec.Arrival.Process = "constant"
	}
	m.client, m.version, _ = strings.Cut(o.text("exported_by"), " ") // bench
	if o.has("ramp_up_strategy") {                                   // many rates
		m.Spec.Rate, m.Spec.Concurrency = 0, 0
	}
	if o.has("predicted") { // by bench
		if err := json.Unmarshal(o["predicted"], &m.predicted); err != nil {
			return nil, fmt.Errorf("predicted: %w", err)
		}
	}
	m.Summary = counts(o, o.count("failed"))
	var err error
	if m.records, err = detailed(o); err != nil {
		return nil, err
	}
	m.latencies(o, "e2el")
	if m.records == nil {
		m.Summary.TTFE = m.Summary.TTFT
	}
	m.Summary.E2EFromSend = m.Summary.E2E
	return []measurement{m}, nil
}

func (m *measurement) setRate(o object) {
	if x, ok := o.number("rate"); ok && x > 0 {
		m.Spec.Rate, m.Spec.Concurrency = workload.Rate(x), o.count("concurrency")
		if process := o.text("type") + o.text("type_"); process != "poisson" {
			m.Spec.Arrival.Process = process
		}
	}
}

// rate is 0 without one, or for "trace". "inf" with a cap is a closed loop.
func rate(o object) workload.Rate {
	if o.text("request_rate") == "inf" && o.count("max_concurrency") == 0 {
		return workload.Rate(math.Inf(1))
	}
	return workload.Rate(max(0, o.or0("request_rate")))
}

func setRequests(s *record.Summary, completed, failed int) {
	s.Requests = record.Requests{Completed: completed, Failed: failed, Errors: map[string]int{}}
	s.Requests.Planned = completed + failed
	s.Requests.Sent = s.Requests.Planned
	if failed > 0 {
		s.Requests.Errors["unknown"] = failed
	}
	if s.Requests.Planned > 0 {
		s.ErrorRate = new(float64(failed) / float64(s.Requests.Planned))
	}
}

// counts reads the totals of vLLM and SGLang, which have the same names.
func counts(o object, failed int) record.Summary {
	s := record.Summary{DurationS: o.or0("duration")}
	setRequests(&s, o.count("completed"), failed)
	s.Tokens = record.Tokens{Prompt: o.count("total_input_tokens"), Output: o.count("total_output_tokens")}
	s.Throughput = record.Throughput{RequestsPerS: o.or0("request_throughput"),
		OutputTokensPerS: o.or0("output_throughput")}
	s.Concurrency.Max = o.count("max_concurrent_requests")
	if s.DurationS > 0 {
		s.Throughput.PromptTokensPerS = float64(s.Tokens.Prompt) / s.DurationS
	}
	return s
}

// latencies are of the single requests, else the statistics of the file. e2e is the name of that latency in it.
func (m *measurement) latencies(o object, e2e string) {
	if m.records != nil {
		fromRecords(m, m.records)
		return
	}
	s := &m.Summary
	of := func(metric string) *stats.Summary {
		return totals(s.Requests.Completed, func(stat string) (float64, bool) {
			return o.statistic(stat, "_"+metric+"_ms")
		})
	}
	s.TTFT, s.TPOT, s.ITL, s.E2E = of("ttft"), of("tpot"), of("itl"), of(e2e)
}

// statistic reads a statistic under its names in Python tools: mean_ttft_ms, median_ttft_ms, p99.9_ttft_ms.
func (o object) statistic(stat, end string) (float64, bool) {
	for _, name := range pythonNames(stat) {
		if x, ok := o.number(name + end); ok {
			return x, true
		}
	}
	return 0, false
}

func pythonNames(stat string) []string {
	if names := map[string][]string{"p50": {"p50", "median"}, "p999": {"p99.9", "p999"}}[stat]; names != nil {
		return names
	}
	return []string{stat}
}

func lengths(s *record.Summary) record.Lengths {
	n := s.Requests.Completed
	if n == 0 {
		return record.Lengths{}
	}
	return record.Lengths{PromptTokens: perRequest(s.Tokens.Prompt, n), OutputTokens: perRequest(s.Tokens.Output, n)}
}

func axes(rate workload.Rate, concurrency int, l record.Lengths) []experiment.Axis {
	var out []experiment.Axis
	add := func(key, value string) { out = append(out, experiment.Axis{Key: key, Value: value}) }
	for _, x := range []struct {
		key string
		of  *stats.Summary
	}{{"input", l.PromptTokens}, {"output", l.OutputTokens}} {
		if x.of != nil {
			add(x.key, strconv.Itoa(int(math.Round(x.of.Mean))))
		}
	}
	if rate > 0 {
		text, _ := rate.MarshalJSON() // it never fails
		add("rate", strings.Trim(string(text), `"`))
	}
	if concurrency > 0 {
		add("concurrency", strconv.Itoa(concurrency))
	}
	return out
}

// detailed is nil without arrays. Without times to first token, answers were not streamed. Send times are relative to
// the first request; without them all are sent at 0, and only latencies are read.
func detailed(o object) ([]*record.Record, error) {
	var wrong error
	outputs := column[int](o, "output_lens", &wrong)
	if wrong != nil || len(outputs) == 0 {
		return nil, wrong
	}
	inputs, failures := column[int](o, "input_lens", &wrong), column[string](o, "errors", &wrong)
	ttfts, itls := column[*float64](o, "ttfts", &wrong), column[[]float64](o, "itls", &wrong)
	latencies, at := column[float64](o, "latencies", &wrong), column[float64](o, "start_times", &wrong)
	if wrong != nil {
		return nil, wrong
	}
	streamed := o.has("ttfts") || len(latencies) == 0
	for name, n := range map[string]int{"input_lens": len(inputs), "ttfts": len(ttfts), "itls": len(itls),
		"errors": len(failures), "start_times": len(at), "latencies": len(latencies)} {
		if n != len(outputs) && (n != 0 || streamed && (name == "ttfts" || name == "itls")) {
			return nil, fmt.Errorf("output_lens has %d requests, %s %d", len(outputs), name, n)
		}
	}
	first := math.Inf(1)
	for _, s := range at {
		first = min(first, s)
	}
	records := make([]*record.Record, len(outputs))
	for i := range outputs {
		r := &record.Record{I: i, Phase: record.PhaseWindow, OutputTokens: outputs[i], OutputRequested: outputs[i],
			Outcome: "ok"}
		if len(inputs) > 0 {
			r.PromptTokens, r.PromptRequested = &inputs[i], inputs[i]
		}
		sent := int64(0)
		if len(at) > 0 {
			sent = micros(at[i] - first)
		}
		r.Arrival, r.Ready, r.Sent = record.At(sent), record.At(sent), record.At(sent)
		if len(failures) > 0 {
			r.Error = failures[i]
		}
		switch {
		case r.Error != "" || outputs[i] == 0 || streamed && ttfts[i] == nil:
			r.Outcome = "unknown" // the file does not report how it failed
		case streamed:
			stamp(r, sent, *ttfts[i], itls[i])
		default:
			r.Last = record.At(sent + micros(latencies[i]))
			r.End = r.Last
		}
		records[i] = r
	}
	return records, nil
}

// stamp sets the token times of a record, each rounded by itself so that rounding errors do not add up.
func stamp(r *record.Record, sent int64, ttft float64, itls []float64) {
	first := sent + micros(ttft)
	last, exact := first, ttft
	gaps := make([]int64, len(itls))
	for i, gap := range itls {
		exact += gap
		next := sent + micros(exact)
		gaps[i], last = next-last, next
	}
	r.FirstEvent, r.First, r.Last, r.End = record.At(first), record.At(first), record.At(last), record.At(last)
	r.Gaps = record.Pack(gaps...)
}

func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }

// fromRecords summarizes the latencies of single requests and keeps the totals of the tool.
func fromRecords(m *measurement, records []*record.Record) {
	s := record.Summarize(records, record.Window{EndUs: micros(m.Summary.DurationS)}, record.Mode{Streams: true}, nil,
		0)
	to := &m.Summary
	to.TTFT, to.TTFE, to.TPOT, to.ITL, to.E2E = s.TTFT, s.TTFE, s.TPOT, s.ITL, s.E2E
	to.ITLRequests, to.TokensPerEvent = s.ITLRequests, s.TokensPerEvent
	to.Requests.Errors = s.Requests.Errors
	to.Requests.Failed = s.Requests.Failed
	to.Requests.Planned, to.Requests.Sent, to.Requests.Completed = s.Requests.Planned, s.Requests.Planned, s.Requests.Completed
	to.ErrorRate = s.ErrorRate
}
