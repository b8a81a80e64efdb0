package twin

import "math"

// Errors are standard errors of a model's step times, in seconds; 0 = the model has none of it, or too few responses
// show it.
type Errors struct {
	Base            float64 `json:"base_s,omitempty"`
	PerSequence     float64 `json:"per_sequence_s,omitempty"`
	PerContextToken float64 `json:"per_context_token_s,omitempty"`
	PerPrefillToken float64 `json:"per_prefill_token_s,omitempty"`
}

// errorsBy are by leaving out a tenth of each trial's rows at a time (Efron and Stein 1981): responses of one batch
// share its steps, so that each on its own would count too much. ends are those of the trials.
func (m *Model) errorsBy(rows []decoding, ends []int) Errors {
	const groups = 10
	x := [4]float64{m.Base, m.PerSequence, m.PerContextToken, m.PerPrefillToken}
	var used [4]bool
	for k := range x {
		used[k] = x[k] > 0
	}
	var without [4][]float64
	for g := range groups {
		var rest []decoding
		begin := 0
		for _, end := range ends {
			from, to := begin+g*(end-begin)/groups, begin+(g+1)*(end-begin)/groups
			rest = append(append(rest, rows[begin:from]...), rows[to:end]...)
			begin = end
		}
		own, _ := leastSquares(rest, used)
		for k := range own {
			without[k] = append(without[k], own[k])
		}
	}
	of := func(k int) float64 { return (groups - 1) / math.Sqrt(groups) * deviation(without[k]) }
	return Errors{of(0), of(1), of(2), of(3)}
}
