package record

import (
	"bench/experiment/stats"
)

// Verdict is the verdict on one limit of an SLO.
type Verdict struct {
	Metric   string   `json:"metric"` // as in the matrix: ttft_p95, error_rate, min_output_tokens_per_s
	Class    string   `json:"class,omitempty"`
	Limit    float64  `json:"limit"`
	Unit     string   `json:"unit"`     // ms, share, 1/s, tokens/s, usd
	Value    *float64 `json:"value"`    // null = +∞ (too many failed requests), or not measured
	Verdict  string   `json:"verdict"`  // PASS, FAIL, UNDECIDED
	Need     int      `json:"need"`     // further requests for a decision; 0 = decided, or more would not help
	Why      string   `json:"why"`      // one line of text
	Observed int      `json:"observed"` // number of requests
}

// Finding is a failed check: a reason not to trust a row, and what to do.
type Finding struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Checks lists the codes of all checks by result.
type Checks struct {
	Passed      []string `json:"passed"`
	Failed      []string `json:"failed"`
	NotPossible []string `json:"not_possible"`         // the row lacks the data
	Unverified  []string `json:"unverified,omitempty"` // the row depends on it, and the server does not report it
}

// Valid reports whether no check failed or is unverified.
func (v Checks) Valid() bool { return len(v.Failed) == 0 && len(v.Unverified) == 0 }

// Total is the number of checks.
func (v Checks) Total() int {
	return len(v.Passed) + len(v.Failed) + len(v.NotPossible) + len(v.Unverified)
}

// Steadiness is how a row's figures changed through the window.
type Steadiness struct {
	Metric string `json:"metric"` // of Cut: ttft, or e2e without streaming
	// Cut is the number of requests at the window's start that MSER-5 would leave out; null = too few
	// requests. It is a finding only if these requests differ enough from the others.
	Cut    *int                   `json:"mser5_cut"`
	Trends map[string]stats.Trend `json:"trends,omitempty"` // of ttft, tpot, e2e and in_flight through the window
}
