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
