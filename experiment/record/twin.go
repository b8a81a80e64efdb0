package record

import (
	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/twin"
)

// Twin is the model of the server that was fitted to the rows of one series, and what it answers.
type Twin struct {
	Name   string            `json:"name"`           // the rows'
	Others []experiment.Axis `json:"axes,omitempty"` // values of the axes other than the load
	Axis   string            `json:"axis"`           // of the load: rate, concurrency

	Model    twin.Model `json:"model"`
	Rejected string     `json:"rejected,omitempty"` // why it is no model of this server; empty: it is accepted
	// why the rows bear no operating point out, though it is accepted
	Outside   string      `json:"outside,omitempty"`
	Disturbed []Disturbed `json:"disturbed,omitempty"` // rows that it leaves out: something beside the load slowed them
	// Residuals are those of each limited percentile at each load.
	Residuals []TwinResidual `json:"residuals"`

	stats.Bracket // the operating point, at 95 %
	// corrected by the residuals, by ascending load; absent: rejected
	Curve []TwinPoint `json:"curve,omitempty"`
}

// Disturbed is a row far slower than the twin of its neighbours.
type Disturbed struct {
	Row    string  `json:"row"`
	Metric string  `json:"metric"` // whose median that is
	Ms     float64 `json:"ms"`
	TwinMs float64 `json:"twin_ms"`
}

// TwinResidual is the difference of a row from its twin on the same arrivals.
type TwinResidual struct {
	Metric string `json:"metric"` // ttft_p95
	twin.Residual
}

// TwinPoint is an estimate of a latency at a load, in ms, with its interval of 95 %.
type TwinPoint struct {
	Load   float64 `json:"load"`
	Metric string  `json:"metric"`
	Ms     float64 `json:"ms"`
	Low    float64 `json:"low_ms"`
	High   float64 `json:"high_ms"`
}
