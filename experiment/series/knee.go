package series

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Knee is one of the points of a series, or the reason why there is none.
type Knee struct {
	Point *int   `json:"point"` // index in Points; null = none
	Why   string `json:"why"`

	Beyond      *int    `json:"beyond,omitempty"`      // SLO knee: the next higher load, which does not pass
	Sensitivity float64 `json:"sensitivity,omitempty"` // geometric knee: up to which Kneedle finds the same one; it looks with 1

	// What the repeats leave open; absent where no point has two.
	Resampled *Resampled `json:"resampled,omitempty"`
}

// none says why a series has no such knee.
func none(format string, args ...any) Knee { return Knee{Why: fmt.Sprintf(format, args...)} }

// further is the load to go on to when a series ends too soon: twice its highest.
func (s *Series) further() string {
	highest := 0.0
	for i := range s.Points {
		if x, ok := s.Points[i].Offered(); ok {
			highest = max(highest, x)
		}
	}
	return s.loadName(2 * highest)
}

// sloKnee is the highest load whose point passes and is valid.
func (s *Series) maxLoadWithinSLO() Knee {
	for i := len(s.Points) - 1; i >= 0; i-- {
		if p := &s.Points[i]; p.SLO == stats.Pass && p.Valid {
			return s.passing(i)
		}
	}
	undecided, flagged, need, stated := "", "", 0, false
	for i := range s.Points {
		p := &s.Points[i]
		stated = stated || p.SLO != ""
		switch {
		case p.SLO == stats.Pass && flagged == "":
			flagged = p.Load
		case p.SLO == stats.Undecided && undecided == "":
			undecided, need = p.Load, p.Need
		}
	}
	switch {
	case !stated:
		return none("no SLO is stated")
	case flagged != "":
		return none("no valid point passes: %s meets the SLO, but its row is doubted", flagged)
	case undecided != "" && need > 0:
		return none("no point passes yet: undecided at %s, need %s more requests", undecided, unit.Count(need))
	case undecided != "":
		return none("no point passes: undecided at %s", undecided)
	}
	switch lowest, highest := &s.Points[0], &s.Points[len(s.Points)-1]; {
	case !highest.tooSlow():
		return none("no valid point passes, by a limit on output or price; go on to higher load")
	case !lowest.tooSlow():
		return none("no valid point passes: a low load gives too little, a high one is too slow")
	}
	return none("no valid point passes; go on to lower load")
}

// passing explains the SLO knee at a point by the next higher one.
func (s *Series) passing(i int) Knee {
	k := Knee{Point: &i, Why: "the highest load that meets the SLO"}
	switch {
	case len(s.Points) == 1:
		k.Why = "the only load meets the SLO; a series of loads would show how far it goes"
	case i == len(s.Points)-1:
		k.Why = "the highest load of the series still meets the SLO: the knee is here or above; go on to " + s.further()
	default:
		next := i + 1
		k.Beyond = &next
		k.Why += "; " + s.Points[next].Short()
	}
	for j := range i {
		if s.Points[j].tooSlow() {
			k.Why += "; but a lower load fails it, so look at the repeats"
			break
		}
	}
	return k
}

// tooSlow says that a limit fails which a lower load should meet the more easily: one on latency or errors. What asks for much output,
// or for a low price of it, fails at a low load by nature.
func (p *SeriesPoint) tooSlow() bool {
	for _, r := range p.Rows {
		for _, v := range r.SLO {
			stage := StageOf(v.Metric)
			if v.Verdict == string(stats.Fail) && (stage == "ttft" || stage == "tpot" || v.Metric == "error_rate") {
				return true
			}
		}
	}
	return false
}

// short says why a point does not count as passing: "concurrency 16 fails ttft_p99".
func (p *SeriesPoint) Short() string {
	limits := func(verdict stats.Verdict) string {
		var keys []string
		for _, r := range p.Rows {
			for _, v := range r.SLO {
				key := v.Metric
				if v.Class != "" {
					key = v.Class + " " + key
				}
				if v.Verdict == string(verdict) && !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
		return strings.Join(keys, ", ")
	}
	switch {
	case p.SLO == stats.Fail:
		return strings.TrimSpace(p.Load + " fails " + limits(stats.Fail))
	case p.SLO == stats.Undecided && p.Need > 0:
		return fmt.Sprintf("%s is undecided (%s), and needs %s more requests", p.Load, limits(stats.Undecided), unit.Count(p.Need))
	case p.SLO == stats.Undecided:
		return fmt.Sprintf("%s is undecided (%s)", p.Load, limits(stats.Undecided))
	case p.SLO == stats.Pass:
		return p.Load + " meets it, but its row is doubted"
	}
	return p.Load + " has no SLO"
}

// curve is the finite loads of a series and what they bring. "inf" comes last, so that indexes stay.
func (s *Series) curve() (load, gain []float64) {
	for i := range s.Points {
		if x, ok := s.Points[i].Offered(); ok {
			load, gain = append(load, x), append(gain, s.Points[i].OutputTokensPerS.Median)
		}
	}
	return load, gain
}

// sensitivities that Kneedle is tried with; the paper's is 1, and a larger one asks for a clearer bend.
var sensitivities = []float64{1, 1.5, 2, 3, 5, 10}

func (s *Series) geometricKnee() Knee {
	load, gain := s.curve()
	if len(load) < 4 {
		return none("no knee: a curve needs four loads or more")
	}
	i, ok := stats.Knee(load, gain, sensitivities[0])
	if !ok {
		return none("no knee: the curve has not bent; go on to %s", s.further())
	}
	k := Knee{Point: &i}
	for _, x := range sensitivities {
		if j, ok := stats.Knee(load, gain, x); !ok || j != i {
			break
		}
		k.Sensitivity = x
	}
	k.Why = fmt.Sprintf("more load buys little more throughput (Kneedle, found up to a sensitivity of %g)", k.Sensitivity)
	return k
}

// keepsUp is the share of the offered requests/s that a server which keeps up answers; worthASlot
// is the share of the first slots' throughput that a further slot must bring.
const (
	keepsUp    = 0.95
	worthASlot = 0.1
)

// saturation is the first load that the server does not keep up with: it answers less than is offered, or its queue grows
// through the window.
func (s *Series) saturation() Knee {
	if s.Closed {
		return s.closedSaturation()
	}
	if _, rated := s.Points[0].Offered(); !rated {
		return none("no saturation: all at once is no rate to keep up with")
	}
	for i := range s.Points {
		p := &s.Points[i]
		if _, ok := p.Offered(); !ok {
			continue
		}
		got, offered := p.RequestsPerS.Median, p.OfferedPerS.Median
		// Chance alone moves the count of a window by its root: a shortfall within two of them says nothing.
		n := float64(p.Rows[0].Summary.Requests.Planned)
		if _, behind := stats.Saturation([]float64{offered}, []float64{got}, keepsUp); behind && !(n > 0 && 1-got/offered < 2/math.Sqrt(n)) {
			return Knee{Point: &i, Why: fmt.Sprintf("%s of %s offered requests/s achieved", unit.Brief(got, 3), unit.Brief(offered, 3))}
		}
		if t, grows := p.queue(); grows {
			return Knee{Point: &i, Why: fmt.Sprintf("the queue grows: requests in flight rose by %.0f %% through the window", 100*t.Change)}
		}
	}
	return none("no saturation: the server keeps up with every rate, within chance; go on to %s", s.further())
}

// queue is the first repeat's trend of requests in flight that grows.
func (p *SeriesPoint) queue() (stats.Trend, bool) {
	for _, r := range p.Rows {
		if r.Steady == nil {
			continue
		}
		if t, ok := r.Steady.Trends["in_flight"]; ok && verdict.Moves(t) && t.Change > 0 {
			return t, true
		}
	}
	return stats.Trend{}, false
}

func (s *Series) closedSaturation() Knee {
	for i := 1; i < len(s.Points); i++ {
		a, b := &s.Points[i-1], &s.Points[i]
		first := s.Points[0].OutputTokensPerS.Median / s.Points[0].LoadValue
		more := (b.OutputTokensPerS.Median - a.OutputTokensPerS.Median) / (b.LoadValue - a.LoadValue)
		if first > 0 && more < worthASlot*first {
			return Knee{Point: &i, Why: fmt.Sprintf("a slot beyond %s brings %s output tok/s, the first ones %s", a.Load, unit.Brief(more, 3), unit.Brief(first, 3))}
		}
	}
	if len(s.Points) < 2 {
		return none("no saturation: one load is no series")
	}
	return none("no saturation: further slots still bring throughput; go on to %s", s.further())
}

// stageOf is where a limit is looked at. e2e is mostly its tokens.
func StageOf(metric string) string {
	switch name, _, _ := strings.Cut(metric, "_"); name {
	case "ttft", "ttfe", "cap", "lag":
		return "ttft"
	case "tpot", "itl", "e2e":
		return "tpot"
	case "usd":
		return "cost"
	}
	return "throughput"
}
