package record

import "bench/experiment/stats"

// Tune is the race of the settings of a server: of each what is known, and how sure the best one is.
type Tune struct {
	Goal    string   `json:"goal"`           // max_load, or a figure such as ttft_p95
	Axis    string   `json:"axis,omitempty"` // of max_load: rate, concurrency
	Order   string   `json:"order"`          // one, all
	Knobs   []string `json:"knobs"`          // those with several values
	BudgetS float64  `json:"budget_s,omitempty"`
	SpentS  float64  `json:"spent_s"` // server time, with starts
	Starts  int      `json:"starts"`
	// State is racing, confirming, certified, budget (spent before the end) or nothing runs.
	State string `json:"state"`

	Default   string          `json:"default"` // setting, as the variant of its rows
	Best      string          `json:"best"`    // empty = none runs
	Estimate  *float64        `json:"estimate"`
	AtMax     bool            `json:"at_search_max,omitempty"` // estimate and ratio are the least that it can have
	Interval  *stats.Interval `json:"interval,omitempty"`      // at 95 %, by the confirmation if it has run
	Confirmed bool            `json:"confirmed"`               // A B B A has run
	// Ratio of the best setting over the default, by the confirmation; null = none, or the default is the best.
	Ratio         *float64        `json:"ratio"`
	RatioInterval *stats.Interval `json:"ratio_interval,omitempty"`
	// Excess is the share by which another setting can be better at most, at 95 %; null = nothing bounds it.
	Excess      *float64       `json:"excess_share"`
	Interaction []string       `json:"interaction,omitempty"`      // the two knobs whose effects least are a sum
	Distrusted  bool           `json:"prediction_ended,omitempty"` // an audited setting was above its bound
	Settings    []TunedSetting `json:"settings"`                   // in the order of the matrix
}

type TunedSetting struct {
	Variant string   `json:"variant"`
	Values  []string `json:"values"` // of the knobs
	// State is measured, raced_out (it does not reach the best one), predicted (left out by the model of main effects),
	// audited (left out, and measured for proof), infeasible (its server does not run) or not_run.
	State    string          `json:"state"`
	Reason   string          `json:"reason,omitempty"`
	Estimate *float64        `json:"estimate,omitempty"` // of the goal; with bound a rough one
	Interval *stats.Interval `json:"interval,omitempty"`
	Bound    *float64        `json:"bound,omitempty"`         // that it does not reach
	AtMax    bool            `json:"at_search_max,omitempty"` // estimate is the least that it can have
	CostS    float64         `json:"cost_s,omitempty"`
}
