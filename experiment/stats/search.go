package stats

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Search finds the load up to which a condition holds. It runs one load after the other: from Min upwards,
// doubling the load until the condition fails; then the middle of the bracket (on a logarithmic scale), until
// its ends are within the tolerance; then both ends again, until Confirm runs agree.
//
// The next load is a function of the answers so far, in any order, so that an interrupted search can resume.
// Answers may be wrong by chance. A load whose runs disagree, or whose runs are all undecided, is open: it is
// neither end, and the search continues around it. One wrong answer thus makes the search longer, not its
// result wrong.
type Search struct {
	Min, Max  float64
	Tolerance float64 // largest gap between the ends, as a share of the lower one
	Whole     bool    // loads are integers
	Confirm   int     // runs that must agree at each end; 0 = 1
}

// Answer is the result of one run at a load.
type Answer struct {
	Load    float64
	Verdict Verdict
}

// Bracket contains the threshold, as far as the answers show.
type Bracket struct {
	Low      *float64  `json:"low"`       // highest load that passes below every load that fails; null = none
	High     *float64  `json:"high"`      // lowest load that fails; null = none
	LowRuns  int       `json:"low_runs"`  // runs at Low, which all pass
	HighRuns int       `json:"high_runs"` // runs at High, which all fail
	Open     []float64 `json:"open,omitempty"`
}

// standing is a load with the results of its runs.
type standing struct {
	load             float64
	pass, fail, runs int
}

// spare is the number of undecided runs at an end before the load becomes open.
const spare = 2

func (s Search) confirm() int { return max(1, s.Confirm) }

// verdict is the common result of the runs of a load.
func (s Search) verdict(at standing) Verdict {
	tired := at.runs >= s.confirm()+spare && at.pass+at.fail < s.confirm()
	switch {
	case at.pass > 0 && at.fail == 0 && !tired:
		return Pass
	case at.fail > 0 && at.pass == 0 && !tired:
		return Fail
	}
	return Undecided
}

// standings returns the loads of the range that were run, ascending.
func (s Search) standings(answers []Answer) []standing {
	var out []standing
	for _, a := range answers {
		if a.Load < s.Min || a.Load > s.Max {
			continue
		}
		at, there := slices.BinarySearchFunc(out, a.Load, func(x standing, load float64) int { return cmp.Compare(x.load, load) })
		if !there {
			out = slices.Insert(out, at, standing{load: a.Load})
		}
		out[at].runs++
		switch a.Verdict {
		case Pass:
			out[at].pass++
		case Fail:
			out[at].fail++
		}
	}
	return out
}

// ends returns the indexes of the bracket's ends in loads: low is −1, and high len(loads), if there is none.
func (s Search) ends(loads []standing) (low, high int) {
	high = slices.IndexFunc(loads, func(x standing) bool { return s.verdict(x) == Fail })
	if high < 0 {
		high = len(loads)
	}
	for low = high - 1; low >= 0 && s.verdict(loads[low]) != Pass; low-- {
	}
	return low, high
}

// Bracket returns the bracket from the answers.
func (s Search) Bracket(answers []Answer) Bracket {
	loads := s.standings(answers)
	low, high := s.ends(loads)
	var b Bracket
	if low >= 0 {
		b.Low, b.LowRuns = &loads[low].load, loads[low].pass
	}
	if high < len(loads) {
		b.High, b.HighRuns = &loads[high].load, loads[high].fail
	}
	for _, x := range loads[low+1 : high] {
		b.Open = append(b.Open, x.load)
	}
	return b
}

// Next is the next load to run; more is false if the search is complete.
func (s Search) Next(answers []Answer) (load float64, more bool) {
	loads := s.standings(answers)
	low, high := s.ends(loads)
	switch {
	case len(loads) == 0 || low < 0 && loads[0].load > s.Min:
		return s.Min, true
	case high == len(loads) && loads[high-1].load < s.Max:
		return min(s.Max, 2*loads[high-1].load), true
	}
	if high < len(loads) && high > 0 { // down from the failing end, then up from the passing one
		if x, ok := s.between(loads[high-1].load, loads[high].load); ok {
			return x, true
		}
	}
	if low >= 0 && low+1 < len(loads) {
		if x, ok := s.between(loads[low].load, loads[low+1].load); ok {
			return x, true
		}
	}
	if high < len(loads) && loads[high].fail < s.confirm() {
		return loads[high].load, true
	}
	if low >= 0 && loads[low].pass < s.confirm() {
		return loads[low].load, true
	}
	return 0, false
}

// between is the middle of two loads; false if they are within the tolerance.
func (s Search) between(a, b float64) (float64, bool) {
	if b <= a*(1+s.Tolerance) || s.Whole && b-a <= 1 {
		return 0, false
	}
	mid := math.Sqrt(a * b)
	if s.Whole {
		mid = min(max(math.Round(mid), a+1), b-1)
	} else {
		mid = round4(mid)
	}
	return mid, a < mid && mid < b
}

// round4 rounds to four digits, since loads are part of file names.
func round4(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil { // not finite
		return x
	}
	return y
}

// Most is the maximum number of runs of a search if no answer is wrong or undecided.
func (s Search) Most() int {
	most := 0
	for _, threshold := range []float64{s.Max, s.Min * 0.5, s.Min * 1.0001, math.Sqrt(s.Min * s.Max), s.Max * 0.9999} {
		var answers []Answer
		for {
			x, more := s.Next(answers)
			if !more {
				break
			}
			v := Pass
			if x > threshold {
				v = Fail
			}
			answers = append(answers, Answer{x, v})
		}
		most = max(most, len(answers))
	}
	return most
}
