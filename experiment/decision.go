package experiment

import "bench/experiment/stats"

// Decision is the decision record of a run: what was tested, which point is accepted and why the others are not, and what to
// measure next. It holds no figure that is not in the rows.
type Decision struct {
	Target   []Stated `json:"target"`   // what was tested, as declared and as the server said
	Contract []string `json:"contract"` // the limits; empty: none is stated

	Accepted *Operating `json:"accepted"` // null: no point is valid and meets its contract
	Rejected []Rejected `json:"rejected"`

	Walk   []Step     `json:"walk"`   // TTFT, TPOT, throughput, cost; it ends at the first that fails
	Advice string     `json:"advice"` // what to do now, in one sentence
	Next   *NextSweep `json:"next"`   // null: stop, keep this baseline

	Expected    []Expectation `json:"expected"`     // of the hypothesis and of each row that says what it expects
	NotMeasured []string      `json:"not_measured"` // what a reader could take for measured, and is not
}

// Stated is a fact with its name.
type Stated struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Operating is the accepted point: where to run, with which settings, and what comes of it.
type Operating struct {
	Series int    `json:"series"`
	Point  int    `json:"point"`
	Name   string `json:"name"`

	Flags   []Stated `json:"flags"`   // the load and what the server was started with
	Figures []Stated `json:"figures"` // throughputs, and percentiles with their intervals
	Cost    *Cost    `json:"cost"`    // null: see no_cost
	NoCost  string   `json:"no_cost,omitempty"`
	Doubts  []Doubt  `json:"doubts"` // none, or the point were not accepted; notes on how to read it
}

// Rejected is a point that is not run at.
type Rejected struct {
	Series int    `json:"series"`
	Point  int    `json:"point"`
	Name   string `json:"name"`
	Why    string `json:"why"`
	Regime Regime `json:"regime,omitempty"` // what decides its latency; empty: it was not diagnosed
}

// Step is one stage of the walk from TTFT to cost.
type Step struct {
	Stage   string        `json:"stage"`   // validity, ttft, tpot, throughput, cost
	Verdict stats.Verdict `json:"verdict"` // empty: the contract has no such limit
	Name    string        `json:"name,omitempty"`
	Why     string        `json:"why"`
}

// NextSweep is the one thing to change next; all else stays.
type NextSweep struct {
	Variable string   `json:"variable"` // a key of the row, or a knob of the server
	Values   []string `json:"values"`   // as they stand in a matrix; empty: change it by hand, and measure the same again
	TOML     string   `json:"toml"`     // what to put into the matrix; empty: nothing
	Why      string   `json:"why"`
	Regime   Regime   `json:"regime,omitempty"` // that speaks for it
}

// Expectation is what somebody wrote down beforehand, beside what came. Prose is not judged.
type Expectation struct {
	Of       string   `json:"of"` // the row; empty: the run's hypothesis
	Expected string   `json:"expected"`
	Happened string   `json:"happened"`
	Regimes  []string `json:"regimes"` // of its points, by ascending load
}
