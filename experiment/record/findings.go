package record

import (
	"cmp"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
)

type Verdict struct {
	Metric  string        `json:"metric"` // as in the matrix: ttft_p95, error_rate, min_output_tokens_per_s
	Class   string        `json:"class,omitempty"`
	Limit   float64       `json:"limit"`
	Unit    string        `json:"unit"`    // ms, share, 1/s, tokens/s, usd, J, tokens/J
	Value   *float64      `json:"value"`   // null = +∞ (too many failed requests), or not measured
	Verdict stats.Verdict `json:"verdict"` // PASS, FAIL, UNDECIDED
	// Interval of the value as measured, at Confidence; absent = none. PASS: all of it is within the limit; FAIL: it is
	// beyond it.
	Interval   *stats.Interval `json:"interval,omitempty"`
	Confidence float64         `json:"confidence,omitempty"`
	// Disturbed is the interval that the effects of the findings leave possible; absent = as measured.
	Disturbed *stats.Interval `json:"interval_disturbed,omitempty"`
	// probability that the limit is met; absent = decided, or unknown
	Within *float64 `json:"p_pass,omitempty"`
	// further requests for a decision; 0 = decided, or more would not help
	Need     int     `json:"need"`
	NeedS    float64 `json:"need_s,omitempty"` // the same at this load, s
	Why      string  `json:"why"`              // one line of text
	Observed int     `json:"observed"`         // number of requests
	// codes of the findings without whose effects the limit, or more requests for it, would have a verdict
	OpenedBy []string `json:"opened_by,omitempty"`
	// Effective is the number of independent requests that these are worth for the verdict; 0 = not a percentile.
	Effective float64 `json:"effective,omitempty"`
	// Overload: the row fails because the server does not keep up or is far over the limit, not by counts.
	Overload bool `json:"overload,omitempty"`
	// Twin: the interval is that of the twin of all loads; in reports alone.
	Twin bool `json:"twin,omitempty"`
	// Higher is a higher load, whose PASS the row has, as its own requests are too few; 0 = none; in reports alone.
	Higher float64 `json:"higher_load,omitempty"`
}

func SameLimit(a, b Verdict) bool {
	return a.Metric == b.Metric && a.Class == b.Class && a.Limit == b.Limit
}

func (v *Verdict) WasOpenedBy(f *Finding) bool {
	latency := TouchedMetric(v.Metric)
	if latency == metric.E2EPerToken {
		latency = "e2e"
	}
	return slices.Contains(v.OpenedBy, f.Code) && f.Touches(latency)
}

// Severity is how much a finding takes from a row's figures.
type Severity string

const (
	Invalid Severity = "invalid" // a figure is wrong: the row is left out of every answer
	Caution Severity = "caution" // the row was disturbed: the effects are stated, and verdicts account for them
	Note    Severity = "note"    // how figures can be misread: verdicts stand
)

type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Hint     string   `json:"hint"`
	Effects  []Effect `json:"effects,omitempty"` // absent = none on a measured metric
}

func Codes(findings []Finding, s Severity) []string {
	codes := []string{}
	for _, f := range findings {
		if f.Severity == s && !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func SortFindings(findings []Finding) {
	order := []Severity{Invalid, Caution, Note}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
}

func (f *Finding) Touches(metric string) bool {
	return slices.ContainsFunc(f.Effects, func(x Effect) bool { return x.Metric == metric })
}

// Effect is how far a finding can have moved one metric. Several effects on one metric add up.
type Effect struct {
	Metric    string    `json:"metric"` // ttft, e2e, output_tokens_per_s, concurrency, …
	Direction Direction `json:"direction"`
	Bound     *float64  `json:"bound"` // null = no bound
	Unit      string    `json:"unit"`  // of the bound: ms, x (a factor), or requests
}

const MetricConcurrency = "concurrency"

// TouchedMetric is the metric that the key of a limit is about: ttft for ttft_p95, output_tokens_per_s for its price
// and energy.
func TouchedMetric(key string) string {
	name, _ := metric.Cut(strings.TrimSuffix(key, "_per_gpu"))
	if metric.PerToken(name) || name == metric.TokensPerJoule {
		return metric.OutputTokensPerS
	}
	return name
}

// Units of an Effect's bound.
const (
	UnitMs       = "ms"       // each value moved by at most so many ms
	UnitFactor   = "x"        // each value moved by at most this factor
	UnitRequests = "requests" // at most so many requests are touched, by any amount
)

type Direction string

const (
	Inflated Direction = "inflated" // the measured value is above the true one
	Lowered  Direction = "lowered"  // the measured value is below the true one
	Unknown  Direction = "unknown"  // either
)

// Checks lists the codes of all checks by result.
type Checks struct {
	Passed      []string `json:"passed"`
	Failed      []string `json:"failed"`       // it has a finding, of any severity
	NotPossible []string `json:"not_possible"` // the row lacks the data
	// the row depends on it, and the server does not report it: a caution
	Unverified []string `json:"unverified,omitempty"`
}

func (v Checks) Total() int {
	return len(v.Passed) + len(v.Failed) + len(v.NotPossible) + len(v.Unverified)
}

type Steadiness struct {
	Metric string `json:"metric"` // of Cut: ttft, or e2e without streaming
	// Cut is the number of requests at the window's start that MSER-5 would leave out; null = too few
	// requests. It is a finding only if these requests differ enough from the others.
	Cut    *int                   `json:"mser5_cut"`
	Trends map[string]stats.Trend `json:"trends,omitempty"` // of ttft, tpot, e2e and in_flight through the window
}

// Code is a finding that bench can make: users match on its name, so it never changes.
type Code struct {
	Name    string
	Meaning string // what happened, in one line
	Effect  string // the severity, and what it does to the figures
	Remedy  string // what to do
}

// FindingCodes are all codes, by name. A code is for what a reader does: checks that ask for the same share one, and
// the text of a finding names its cause.
var FindingCodes = []Code{
	{"accuracy", "too few answers to the known questions before the rows were correct",
		"invalid if the interval of the share is below min_correct, else caution",
		"ask a question by hand: chat template, precision, kernel flags"},
	{"answers", "too few answers were valid or correct, or a schema could not be used",
		"invalid if the interval of the share is below min_valid or min_correct, else caution without an effect",
		"read the reasons; set min_valid, or stop = \"natural\"; correct the schema"},
	{"arrivals", "requests were not sent as the arrival process requires",
		"invalid if number, gaps or dispersion differ; caution if client lag bunched them: latencies and throughputs shift by the " +
			"work of the requests that were overdue together; rounded trace times inflate TTFT and E2E",
		"a larger client machine, a longer duration; jitter for a trace"},
	{"between_runs", "repeats of a point differ by more than their intervals explain, and by more than 5 %",
		"caution: latencies by highest ÷ lowest mean; the verdict is the worst repeat's",
		"quote the spread; find what changed between the repeats"},
	{"buffered", "several tokens arrived at once: whole answers, or events with the one before",
		"caution: ITL in either direction; TPOT too low for answers that arrived whole. Note if events only carry several tokens",
		"proxy_buffering off in nginx; else read TPOT, not ITL"},
	{"client_bound", "the client was late: lag, CPU, CPU steal, a pause, or load beyond its self-test",
		"caution: TTFT and E2E inflated by each request's lag; TPOT and ITL in either direction; concurrency too low",
		"a larger, idle client machine, or a lower load; bench selftest --save finds its limit"},
	{"client_machine", "packets were lost, connections opened late, timestamps missed, or the machine was busy",
		"caution: TTFT and E2E inflated for as many requests; beside a busy local server, all by its wait for CPU",
		"a quiet machine and network; find other work (top) and losses (ss -tin)"},
	{"closed_loop", "a limit on TTFT or E2E stands on a closed loop, where clients wait for the server",
		"note: verdicts stand, but users who do not wait would queue", "limit users' latency in a row with a rate"},
	{"concurrency", "fewer requests than requested were in flight on average, by over 10 %",
		"caution: the point counts as the concurrency that it reached; more than requested is invalid, a bug of bench",
		"more cores for the client, or longer answers"},
	{"disturbed", "a row is twice as slow as the twin of its neighbours expects, and a higher load is not",
		"caution; the twin leaves the row out", "repeat the row on a quiet machine"},
	{"errors", "requests failed, or had not ended when the row did",
		"invalid above 1 % failed, or without a request; note for requests that had not ended: they rank as infinitely slow",
		"read the server's log; at HTTP 429 raise its rate limit or lower the load; else a longer grace or duration"},
	{"faster_than_bound", "TPOT p50 is below the roofline's floor",
		"invalid: model, hardware, GPUs or precision in [target] are not the server's", "correct [target]"},
	{"foreign", "the file is another tool's, without bench's checks",
		"note; caution if failures are not reported, or a TTFT of 0 counts as failed", "SGLang: --output-details"},
	{"gateway", "a gateway such as LiteLLM answers in the server's place",
		"note: its time is in every latency", "measure the server itself as well"},
	{"gpu_power", "power was read of fewer or other GPUs than the row has",
		"caution: the row has no energy figures; note if more GPUs were active than the row has",
		"set [telemetry] gpu to the exporter of the server's machine; correct gpus in [target]"},
	{"gpu_throttled", "GPU clocks were throttled by heat or power supply in over 1 % of readings",
		"caution: latencies inflated, throughput lowered by highest ÷ lowest clock", "check cooling and power supply"},
	{"heterogeneous", "the row pools requests of several kinds", "note: a percentile over all describes none of them",
		"declare classes ([[row.mix]]), and limit each ([row.mix.slo])"},
	{"output_length", "answers ended early despite ignore_eos, or have another mean length than requested",
		"invalid if over 1 % ended early or the mean is off by 10 %; caution from 1 %: latencies by the squared ratio",
		"set the server's own field in [target.extra_body], or stop = \"natural\""},
	{"prefix_cache", "the prefix cache was not in the state that the row states",
		"invalid: hits in a cold row, under 90 % of the possible hits in a warm one; caution if hits are not reported",
		"find other clients, evictions, routing; report cached tokens (vLLM --enable-prompt-tokens-details, " +
			"SGLang --enable-cache-report)"},
	{"prompts", "prompts have another length than requested, were refused, or were cached at their first use",
		"caution from 1 %: latencies by the squared ratio; invalid from 10 %; refused prompts are left out; repeats are a note",
		"compare by counted tokens; remove refused lines; cache_salt = true; a longer file"},
	{"rate_not_achieved", "the server completed fewer requests than arrived",
		"caution: TTFT and E2E too low, since a longer row has a longer queue", "lower the rate"},
	{"reasoning", "answers ended within their reasoning, or reasoning came as content",
		"caution above 1 %: such answers rank as infinitely slow in limits on TTFO, or TTFO is too low; else note",
		"raise output; start the server with its reasoning parser; reasoning_tokens in [mock] for predictions"},
	{"recording", "the recording of live traffic lacks requests or answers",
		"caution if they are missing or unreadable; note for refused requests and slow callers",
		"a faster disk; requests of at most 64 MiB"},
	{"replicas", "one replica differs from the first, or is far slower than the others",
		"caution for another model, version or setting; note for another speed",
		"give all the same flags and hardware, or measure each alone"},
	{"server_logs", "the server that bench started logs a line for every second request or more",
		"note: logging costs it CPU",
		"vLLM --disable-uvicorn-access-log, SGLang --log-level-http warning, llama.cpp --log-disable"},
	{"server_stalled", "nothing arrived for over a second with requests in flight, or the server restarted",
		"caution: latencies inflated after a restart; a stall is the server's own and has no effect",
		"read the server's log of that time"},
	{"sessions_cut", "over 10 % of the sessions were still open when the row ended",
		"caution: session times too low, percentiles that the open ones could reach are lower bounds",
		"a longer duration, or shorter sessions"},
	{"shadow", "the candidate's figures differ by more than its speed: load, cache, dropped copies, errors",
		"caution; note if only the first server's answers call tools",
		"raise or lower --share; a longer --shadow-warmup"},
	{"shared_server", "the server had another client's work, or was not idle when the row began",
		"caution: latencies inflated by the ratio of requests; invalid if more than half were another client's",
		"a server for this run alone; a longer settle"},
	{"synthetic_speculation",
		"the server drafts tokens of synthetic prompts, which it accepts otherwise than real text",
		"caution: figures hold for this text alone", "send real prompts ([row.prompts])"},
	{"token_counts", "the server's usage is missing or impossible",
		"invalid if it is impossible, and the client's count is used; without usage TPOT is inflated and output tok/s lowered",
		"enable usage (stream_options.include_usage); report wrong usage to the server's maker"},
	{"token_times", "first or last tokens came in events without text or token ids",
		"caution above 1 %: those answers have no TTFT, TPOT or E2E; else note",
		"a server that lists token ids, or answers of plain text"},
	{"unsteady", "the queue grew, the warm-up was too short, or latency drifted through the window",
		"caution: a growing queue lowers TTFT and E2E; a short warm-up and drift move them; note without a warm-up",
		"a longer warmup, a lower rate, or find what changes on the server"},
	{"users_left", "users left, as the row plans it", "note; caution if all did: no request is left to measure",
		"if the server computes their answers for over a second: let it notice closed connections"},
	{"workers", "a load worker is far slower than the others, ended at another time, or started late",
		"caution: latencies of its requests inflated; waits under a shared cap inflate TTFT; a late start is a note",
		"run without that worker; duration in place of requests; a higher cap; workers nearer to the leader"},
}
