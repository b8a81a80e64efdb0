package stats

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Search looks for the load up to which something holds. It asks at one load after the other: from Min upwards, twice the
// load each time, until it fails; then in the middle of what is left (on a logarithmic scale), until the two ends are within
// the tolerance; then at each end again, until as many runs agree as are asked for.
//
// What to ask next is a function of the answers so far, in whatever order they came: a search that was cut goes on where it was.
// Answers may be wrong by chance. A load whose runs disagree, or none of whose runs is decided, is open: it is neither end,
// and the search goes on around it, so that one wrong answer makes the search longer and not its result wrong.
type Search struct {
	Min, Max  float64
	Tolerance float64 // how far the ends may be apart, as a share of the lower one
	Whole     bool    // loads are whole numbers
	Confirm   int     // runs that must agree at each end; 0 = 1
}

// Answer is what one run at a load said.
type Answer struct {
	Load    float64
	Verdict Verdict
}

// Bracket is where the threshold lies, as far as answers tell.
type Bracket struct {
	Low      *float64  `json:"low"`       // the highest load that passes below every one that fails; null = none
	High     *float64  `json:"high"`      // the lowest load that fails; null = none
	LowRuns  int       `json:"low_runs"`  // runs that agree there; none disagrees
	HighRuns int       `json:"high_runs"` // the same
	Open     []float64 `json:"open,omitempty"`
}

// standing is a load with what its runs said.
type standing struct {
	load             float64
	pass, fail, runs int
}

// spare runs may be undecided at an end that is to be confirmed; then it is open.
const spare = 2

func (s Search) confirm() int { return max(1, s.Confirm) }

// verdict is what the runs of a load agree on.
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

// standings are the loads of the range that were asked at, ascending.
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

// ends are the places of the bracket's ends in loads: low is −1, and high len(loads), where there is none.
func (s Search) ends(loads []standing) (low, high int) {
	high = slices.IndexFunc(loads, func(x standing) bool { return s.verdict(x) == Fail })
	if high < 0 {
		high = len(loads)
	}
	for low = high - 1; low >= 0 && s.verdict(loads[low]) != Pass; low-- {
	}
	return low, high
}

// Bracket is what the answers say.
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

// Next is the load to ask at; more is false when there is nothing left to ask.
func (s Search) Next(answers []Answer) (load float64, more bool) {
	loads := s.standings(answers)
	low, high := s.ends(loads)
	switch {
	case len(loads) == 0 || low < 0 && loads[0].load > s.Min:
		return s.Min, true
	case high == len(loads) && loads[high-1].load < s.Max:
		return min(s.Max, 2*loads[high-1].load), true
	}
	if high < len(loads) && high > 0 { // down from the end that fails, then up from the one that passes
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

// between is the middle of two loads; false where they are within the tolerance.
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

// round4 keeps four digits: loads stand in names of files.
func round4(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil { // not of a finite number
		return x
	}
	return y
}

// Most is how many runs a search takes when no answer is wrong or undecided, at most.
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
