package foreign

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	"bench/report"
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
	s := &m.Summary
	if m.records != nil { // the totals are the tool's
		of := record.Summarize(m.records, record.Window{EndUs: micros(s.DurationS)}, record.Mode{Streams: true}, nil, 0)
		s.TTFT, s.TTFE, s.TPOT, s.ITL, s.E2E = of.TTFT, of.TTFE, of.TPOT, of.ITL, of.E2E
		s.ITLRequests, s.TokensPerEvent = of.ITLRequests, of.TokensPerEvent
		q, r := &s.Requests, &of.Requests
		q.Planned, q.Sent, q.Completed, q.Failed, q.Errors = r.Planned, r.Planned, r.Completed, r.Failed, r.Errors
		s.ErrorRate = of.ErrorRate
		return
	}
	of := func(metric string) *stats.Summary {
		return totals(s.Requests.Completed, func(stat string) (x float64, ok bool) {
			for _, name := range pythonNames(stat) {
				if x, ok = o.number(name + "_" + metric + "_ms"); ok {
					break
				}
			}
			return x, ok
		})
	}
	s.TTFT, s.TPOT, s.ITL, s.E2E = of("ttft"), of("tpot"), of("itl"), of(e2e)
}

// pythonNames are those of a statistic in Python tools, as in mean_ttft_ms, median_ttft_ms, p99.9_ttft_ms.
func pythonNames(stat string) []string {
	if names := map[string][]string{"p50": {"p50", "median"}, "p999": {"p99.9", "p999"}}[stat]; names != nil {
		return names
	}
	return []string{stat}
}

func axes(rate workload.Rate, concurrency int, l record.Lengths) []experiment.Axis {
	var out []experiment.Axis
	add := func(key, value string) { out = append(out, experiment.Axis{Key: key, Value: value}) }
	if l.PromptTokens != nil {
		add("input", strconv.Itoa(int(math.Round(l.PromptTokens.Mean))))
	}
	if l.OutputTokens != nil {
		add("output", strconv.Itoa(int(math.Round(l.OutputTokens.Mean))))
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

// LoadStated is Load, but what a file of vLLM or SGLang states stands before what Load makes of its lists of requests:
// its users read it. A statistic that is stated, but is not a number, is +Inf.
func LoadStated(path string) (*report.Run, error) {
	run, err := Load(path)
	if err != nil || run.Files != nil || run.Manifest.Matrix != vllm.name && run.Manifest.Matrix != sglang.name {
		return run, err
	}
	text, err := record.ReadRegular(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	i := 0
	for o, err := range objectsOf(path, text) {
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if i < len(run.Rows) { // each object is a row
			o.state(&run.Rows[i].Summary)
		}
		i++
	}
	return run, nil
}

func (o object) state(s *record.Summary) {
	if o.has("completed", "failed") {
		s.Requests.Completed, s.Requests.Failed = o.count("completed"), o.count("failed")
	}
	if s.Requests.Completed == 0 { // its statistics are 0, of nothing
		return
	}
	for end, of := range map[string][]**stats.Summary{"_ttft_ms": {&s.TTFT, &s.TTFTFromSend}, "_itl_ms": {&s.ITL},
		"_tpot_ms": {&s.TPOT}, "_e2el_ms": {&s.E2E, &s.E2EFromSend}, "_e2e_latency_ms": {&s.E2E, &s.E2EFromSend}} {
		if stated := o.over(*of[0], end); stated != nil {
			for _, x := range of {
				*x = stated
			}
		}
	}
}

// over is a summary with the statistics of an object in place of its own; nil: there is none.
func (o object) over(s *stats.Summary, end string) (stated *stats.Summary) {
	if s == nil {
		s = &stats.Summary{Mean: math.NaN(), P50: math.NaN(), P99: math.NaN()}
	}
	of := *s
	for stat, x := range map[string]*float64{"mean": &of.Mean, "p50": &of.P50, "p99": &of.P99} {
		for _, name := range pythonNames(stat) {
			if !o.has(name + end) {
				continue
			}
			stated = &of
			var ok bool
			if *x, ok = o.number(name + end); !ok {
				*x = math.Inf(1)
				break
			}
		}
	}
	return stated
}
