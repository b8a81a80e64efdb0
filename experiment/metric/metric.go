// Package metric describes every figure once: its name, unit and words, what it is a figure of, and which way is
// better. A name is as in keys and JSON: ttft, output_tokens_per_s. A key adds a statistic to it: ttft_p95.
package metric

import (
	"slices"
	"strconv"
	"strings"
)

// Metric is a figure of requests, or of the whole window of a row.
type Metric struct {
	Name  string
	Words string // for people: TTFT, output tok/s
	Unit  string // ms, s, share, 1/s, tokens/s, tokens, usd, J, tokens/J

	Of       Of
	Span     Span
	Streamed bool // only a streamed response has it
	OfOne    bool // [slo.each] can limit it

	MoreIsBetter bool // else less is better, but for Neutral ones
	Limited      bool // an SLO can limit it without a statistic: by its name, or a minimum by min_ and its name
	Gated        bool // [gate] can limit its change
}

// Of is what a metric is a figure of.
type Of int

const (
	Window   Of = iota // one value a row
	Requests           // a latency in every row's summary: its keys have a statistic
	Values             // a value for each request or session that has it: its keys have a statistic
)

// Span is what a latency lasts to: findings about these times touch it.
type Span int

const (
	OtherSpan Span = iota // and that of TTFO, which depends on whether responses reason
	ToFirstToken
	ToLastToken
	BetweenTokens // of a token: no queue without a bound is part of it, as a full batch bounds it
)

// Names.
const (
	TTFT         = "ttft"
	TTFTFromSend = "ttft_from_send"
	TTFE         = "ttfe"
	TTFO         = "ttfo"
	TPOT         = "tpot"
	ITL          = "itl"
	E2E          = "e2e"
	E2EFromSend  = "e2e_from_send"
	CapWait      = "cap_wait"
	Lag          = "lag"
	E2EPerToken  = "e2e_per_token" // E2E over output tokens

	RequestsPerS           = "requests_per_s"
	PromptTokensPerS       = "prompt_tokens_per_s"
	OutputTokensPerS       = "output_tokens_per_s"
	OutputTokensPerSPerGPU = "output_tokens_per_s_per_gpu"
	GoodputRequestsPerS    = "goodput_requests_per_s"
	ErrorRate              = "error_rate"
	Price                  = "usd_per_million_output_tokens"
	EnergyPerToken         = "energy_j_per_output_token"
	TokensPerJoule         = "output_tokens_per_j"

	Interactivity    = "e2e_interactivity"
	AnswersValid     = "answers_valid"
	AnswersCorrect   = "answers_correct"
	AcceptanceRate   = "acceptance_rate"
	AcceptanceLength = "acceptance_length"
	TokensPerStep    = "tokens_per_step"
	SessionTime      = "session_time"
	ReasoningTokens  = "reasoning_tokens"
	OutputTokens     = "output_tokens"
)

// All are the metrics, in the order of docs/reading.md.
var All = []Metric{
	{Name: TTFT, Words: "TTFT", Unit: "ms", Of: Requests, Span: ToFirstToken, Streamed: true, OfOne: true,
		Gated: true},
	{Name: TTFTFromSend, Words: "TTFT from send", Unit: "ms", Of: Requests, Span: ToFirstToken, Streamed: true,
		Gated: true},
	{Name: TTFE, Words: "TTFE", Unit: "ms", Of: Requests, Span: ToFirstToken, Streamed: true, Gated: true},
	{Name: TTFO, Words: "TTFO", Unit: "ms", Of: Requests, Streamed: true, OfOne: true, Gated: true},
	{Name: TPOT, Words: "TPOT", Unit: "ms", Of: Requests, Span: BetweenTokens, Streamed: true, OfOne: true,
		Gated: true},
	{Name: ITL, Words: "ITL", Unit: "ms", Of: Requests, Span: BetweenTokens, Streamed: true, Gated: true},
	{Name: E2E, Words: "E2E", Unit: "ms", Of: Requests, Span: ToLastToken, OfOne: true, Gated: true},
	{Name: E2EFromSend, Words: "E2E from send", Unit: "ms", Of: Requests, Span: ToLastToken, Gated: true},
	{Name: CapWait, Words: "cap wait", Unit: "ms", Of: Requests, Gated: true},
	{Name: Lag, Words: "lag", Unit: "ms", Of: Requests, Gated: true},
	{Name: E2EPerToken, Words: "E2E per token", Unit: "ms", Of: Values},

	{Name: RequestsPerS, Words: "requests/s", Unit: "1/s", MoreIsBetter: true, Limited: true, Gated: true},
	{Name: PromptTokensPerS, Words: "prompt tok/s", Unit: "tokens/s", MoreIsBetter: true, Limited: true, Gated: true},
	{Name: OutputTokensPerS, Words: "output tok/s", Unit: "tokens/s", MoreIsBetter: true, Limited: true, Gated: true},
	{Name: OutputTokensPerSPerGPU, Words: "output tok/s/GPU", Unit: "tokens/s", MoreIsBetter: true, Limited: true,
		Gated: true},
	{Name: GoodputRequestsPerS, Words: "goodput requests/s", Unit: "1/s", MoreIsBetter: true, Limited: true,
		Gated: true},
	{Name: ErrorRate, Words: "error rate", Unit: "share", Limited: true, Gated: true},
	{Name: Price, Words: "cost", Unit: "usd", Limited: true},
	{Name: EnergyPerToken, Words: "energy per output token", Unit: "J", Limited: true, Gated: true},
	{Name: TokensPerJoule, Words: "output tok/s per W", Unit: "tokens/J", MoreIsBetter: true, Limited: true,
		Gated: true},

	{Name: Interactivity, Words: "E2E interactivity", Unit: "tokens/s", MoreIsBetter: true, Gated: true},
	{Name: AnswersValid, Words: "valid answers", Unit: "share", MoreIsBetter: true, Gated: true},
	{Name: AnswersCorrect, Words: "correct answers", Unit: "share", MoreIsBetter: true, Gated: true},
	{Name: AcceptanceRate, Words: "acceptance rate", Unit: "share", MoreIsBetter: true, Gated: true},
	{Name: AcceptanceLength, Words: "acceptance length", Unit: "tokens", MoreIsBetter: true, Gated: true},
	{Name: TokensPerStep, Words: "tokens per step", Unit: "tokens", MoreIsBetter: true, Gated: true},
	{Name: SessionTime, Words: "session time", Unit: "s", Of: Values, Gated: true},
	{Name: ReasoningTokens, Words: "reasoning tokens", Unit: "tokens", Of: Values},
	{Name: OutputTokens, Words: "output tokens", Unit: "tokens", Of: Values},
}

// Latencies are the names of those of requests, in the order of All.
var Latencies = Names(func(m Metric) bool { return m.Of == Requests })

// Shown are the latencies that tables and charts show, in their order; of others tables show what the SLO limits.
var Shown = []string{TTFT, TTFO, TPOT, ITL, E2E}

// InCSV are the latencies of the CSV, in the order of its columns.
var InCSV = []string{TTFT, TPOT, ITL, E2E, Lag, TTFO}

// Names are those of the metrics that keep accepts.
func Names(keep func(Metric) bool) (out []string) {
	for _, m := range All {
		if keep(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

// Spanning are the names of the latencies of a span.
func Spanning(s Span) []string {
	return Names(func(m Metric) bool { return m.Of == Requests && m.Span == s })
}

// ByName is a metric; of another name it has that alone.
func ByName(name string) Metric {
	if i := Order(name); i < len(All) {
		return All[i]
	}
	return Metric{Name: name}
}

// Order is the place of a metric in All; others come last.
func Order(name string) int {
	if i := slices.IndexFunc(All, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return i
	}
	return len(All)
}

// Key is the metric's in an SLO that limits it without a statistic.
func (m Metric) Key() string {
	if m.MoreIsBetter {
		return "min_" + m.Name
	}
	return m.Name
}

// IsLatency reports whether a name is one of Latencies.
func IsLatency(name string) bool { return ByName(name).Of == Requests }

// Neutral metrics have no better direction.
func (m Metric) Neutral() bool { return m.Of == Values && m.Unit == "tokens" }

// Stat is a statistic of a metric's values.
type Stat string

// P90 is the percentile of an SLO that states none.
const P90 Stat = "p90"

// Percentiles and Stats are the names of statistics.
var (
	Percentiles = []string{"p50", "p90", "p95", "p99", "p999"}
	Stats       = append(slices.Clone(Percentiles), "mean")
)

// P is the share of the values below a percentile. ok is false for another statistic.
func (s Stat) P() (p float64, ok bool) {
	digits, found := strings.CutPrefix(string(s), "p")
	if !found {
		return 0, false
	}
	p, err := strconv.ParseFloat("0."+digits, 64)
	return p, err == nil
}

// Cut takes a key apart, without min_: its metric, and its statistic if it has one.
func Cut(key string) (name string, stat Stat) {
	key = strings.TrimPrefix(key, "min_")
	if i := strings.LastIndexByte(key, '_'); i > 0 && slices.Contains(Stats, key[i+1:]) {
		return key[:i], Stat(key[i+1:])
	}
	return key, ""
}

// Words are a key for people: "TTFT p95", "output tok/s".
func Words(key string) string {
	name, stat := Cut(key)
	m := ByName(name)
	if m.Words == "" {
		m.Words = strings.ReplaceAll(name, "_", " ")
	}
	return strings.TrimSpace(m.Words + " " + string(stat))
}

// MoreIsBetter reports whether a metric gets worse when it falls.
func MoreIsBetter(name string) bool { return ByName(name).MoreIsBetter }

// PerToken reports whether a metric is what the server takes over its output tokens: it falls as output tok/s rise.
func PerToken(name string) bool { return name == Price || name == EnergyPerToken }

// IsShare reports whether differences of a metric are compared, not ratios.
func IsShare(name string) bool { return ByName(name).IsShare() }

func (m Metric) IsShare() bool { return m.Unit == "share" }
