package record

import (
	"slices"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/twin"
)

// Found is the result of a search: the bracket of the load.
type Found struct {
	Name    string            `json:"name"`           // the row's
	Others  []experiment.Axis `json:"axes,omitempty"` // values of the other axes
	Variant string            `json:"variant,omitempty"`
	Search  experiment.Search `json:"search"`

	stats.Bracket
	// Counted is what the verdicts of the probes alone leave possible; absent = no estimate
	Counted *stats.Bracket `json:"counted,omitempty"`
	// State is searching, found (within the tolerance, or extrapolated), budget (the answer is wider: the budget is
	// used up), above (even the highest load qualifies), below (not even the lowest does), beaten (another server
	// setting is better), none, or unprobed (evaluated again: further probes would narrow it).
	State string `json:"state"`
	// ConfirmS is the smallest budget with a verdict at the lower end, s; absent = a probe has passed near it, or none
	// is known.
	ConfirmS float64  `json:"confirm_s,omitempty"`
	Passed   *float64 `json:"passed"` // highest load of a probe that met the SLO; null = none
	// highest load of a probe of a gentle search, beyond which its answer is extrapolated; absent = another search
	ProbedUpTo float64 `json:"probed_up_to,omitempty"`
	Probes     int     `json:"probes_run"`
	TookS      float64 `json:"took_s"`
	Text       string  `json:"text"` // the result as a sentence
}

// Probed reports whether a row is a probe of the search.
func (f *Found) Probed(s *experiment.Spec) bool {
	if s.Search == nil || s.Name != f.Name || s.Variant != f.Variant {
		return false
	}
	_, others := experiment.LoadAxis(s)
	return slices.Equal(others, f.Others)
}

func (f *Found) Spent() string {
	if f.Probes >= f.Search.MaxProbes() {
		return "probes"
	}
	return "budget"
}

func (f *Found) Verdict() stats.Verdict {
	switch {
	case f.Search.Goal != experiment.GoalSLO:
		return ""
	case f.Met():
		return stats.Pass
	case f.State == "below":
		return stats.Fail
	}
	return stats.Undecided
}

func (f *Found) Met() bool {
	qualifies := f.Low != nil
	if f.Search.Goal == experiment.GoalSLO {
		qualifies = f.Passed != nil
	}
	return qualifies && f.State != "searching" && f.State != "beaten"
}

// Budget is the time that a run may take, and what it left open.
type Budget struct {
	TotalS float64      `json:"total_s"`
	SpentS float64      `json:"spent_s"`       // over all attempts
	Added  int          `json:"added_repeats"` // longer repeats of undecided points
	Open   []OpenPoint  `json:"open"`          // points whose SLO is undecided, the first to decide first
	NotRun []NotStarted `json:"not_run"`       // rows of the matrix that did not fit
}

type OpenPoint struct {
	Name  string  `json:"name"`          // of the point
	Why   string  `json:"why"`           // the limit that is open
	Need  int     `json:"need_requests"` // further requests for a verdict; 0 = more would not help
	NeedS float64 `json:"need_s"`        // duration of a repeat that is long enough; 0 = none is
}

type NotStarted struct {
	ID    string  `json:"id"`
	NeedS float64 `json:"need_s"` // its expected duration
}

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

	stats.Bracket // the operating point, at 95 %; verdicts are the ends that a search's range does not hold
	// Operating is that interval by the twin alone; absent: it has none.
	Operating *stats.Interval `json:"operating,omitempty"`
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
