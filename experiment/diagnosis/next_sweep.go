package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// NextSweep is the one thing to run or to change next; all else stays.
type NextSweep struct {
	Text       string     `json:"text"`     // "concurrency = [36, 40, 44]"; what to do by hand
	Variable   string     `json:"variable"` // a key of the row, or a knob of the server
	Values     []string   `json:"values"`   // as in a matrix; empty: change it by hand and measure the same again
	TOML       string     `json:"toml"`     // for the matrix; empty: nothing to add
	Why        string     `json:"why"`
	Bottleneck Bottleneck `json:"bottleneck,omitempty"` // the reason for the change
}

func (a *answering) decideAt(j int) *NextSweep {
	if n := a.repair(j); n != nil {
		return n
	}
	p := &a.s.Points[j]
	v := worst(p)
	if a.Points[j].Status == Invalid {
		return remeasure(a.s, p, &findings(p)[0])
	}
	if f := series.OpenedBy(findings(p), *v); f != nil {
		return remeasure(a.s, p, f)
	}
	_, stat := metric.Cut(v.Metric)
	few := stats.NeededFor(string(stat)) - v.Observed
	if need := cmp.Or(p.Need, few); need > 0 {
		return moreRequests(a.s, p, v, need)
	}
	if v.Value != nil && v.Interval != nil {
		return byHand("load or limit", fmt.Sprintf("%s at %s is %s %s: more than %d times the requests would decide it; "+
			"measure a lower load, or ask for another limit", verdict.LimitName(v.Metric, v.Class), loadName(a.s, p),
			verdict.EndsText(*v.Interval), v.Unit, stats.FarthestNeed))
	}
	return byHand("missing measurement", verdict.LimitName(v.Metric, v.Class)+": "+v.Why)
}

func moreRequests(s *series.Series, p *series.Point, limit *record.Verdict, need int) *NextSweep {
	r := slices.MaxFunc(p.Rows, func(a, b *record.Row) int { // not less than a longer repeat has
		return cmp.Compare(a.Summary.Requests.Planned, b.Summary.Requests.Planned)
	})
	spec, planned := &r.Spec, r.Summary.Requests.Planned
	n := planned + need
	out := &NextSweep{Why: fmt.Sprintf("%s needs %s more requests for a verdict",
		verdict.LimitName(limit.Metric, limit.Class), unit.Count(need))}
	var lines []string
	// The window that the requests take at the rate of this row; a duration is also a cap on a number of requests.
	window := math.Ceil(r.Summary.DurationS * float64(n) / float64(max(planned, 1)))
	longer := fmt.Sprintf("%.0fs", window)
	if stated := time.Duration(spec.Duration).Seconds(); stated > 0 && window > stated {
		out.Variable, out.Values = "duration", []string{longer}
		lines = append(lines, fmt.Sprintf("duration = %q", longer))
	}
	if spec.Requests > 0 || len(lines) == 0 {
		out.Variable, out.Values = "requests", []string{strconv.Itoa(n)}
		lines = append(lines, fmt.Sprintf("requests = %d", n))
	}
	out.Text = strings.Join(lines, ", ") + " at " + loadName(s, p)
	out.TOML = inRow(s, strings.Join(lines, "\n"))
	return out
}

func byHand(variable, why string) *NextSweep {
	return &NextSweep{Text: why, Variable: variable, Values: []string{}, Why: why}
}

func remeasure(s *series.Series, p *series.Point, f *record.Finding) *NextSweep {
	n := byHand("repeat the row", f.Hint)
	n.Text = fmt.Sprintf("fix %s, then repeat %s: %s", f.Code, loadName(s, p), f.Hint)
	return n
}

func resume() *NextSweep {
	return byHand("--resume", "finish the planned rows: the same command with --resume DIR")
}

// loadName is the load that the matrix asked for: "concurrency 8", though fewer requests were in flight.
func loadName(s *series.Series, p *series.Point) string {
	if s.Axis == "concurrency" && p.Rows[0].Spec.Concurrency > 0 {
		return fmt.Sprintf("concurrency %d", p.Rows[0].Spec.Concurrency)
	}
	return p.Load
}

func (a *answering) nextOfSearch(f *record.Found) *NextSweep {
	rows := a.rows()
	if held := series.HeldOpenBy(rows); held != nil &&
		slices.Contains([]string{"budget", "none", "searching"}, f.State) {
		return byHand("repeat the search", "fix "+held.Code+", then repeat the search: "+held.Hint)
	}
	switch f.State {
	case "budget":
		if f.ConfirmS > 0 {
			n := byHand("budget", "the budget is "+series.TooShort(f))
			n.Text = fmt.Sprintf("budget = \"%.0fm\"", math.Ceil(f.ConfirmS/60))
			return n
		}
		return byHand(f.Spent(), "raise "+f.Spent()+" of the search for a closer answer")
	case "searching":
		return byHand("--resume", "resume the run: the search is interrupted")
	case "unprobed":
		return byHand("search", "run the search again under these limits")
	case "above":
		return byHand("max", "raise max of the search")
	case "below":
		if f.Search.Misses() != "" {
			return byHand("slo", "relax the SLO, to "+looser(rows)+" at least (--slo)")
		}
		return byHand("min", "lower min of the search")
	}
	return nil
}

func (a *answering) rows() (out []*record.Row) {
	for i := range a.s.Points {
		out = append(out, a.s.Points[i].Rows...)
	}
	return out
}

func (a *answering) moreLoads(operating, end int) *NextSweep {
	low, finite := a.s.Points[operating].FiniteLoad()
	if !finite || low <= 0 || a.s.Points[operating].Rows[0].Spec.IsColdStart() {
		return nil
	}
	if end == len(a.s.Points) {
		return a.loads("no measured load above it misses the SLO: find the limit", 1.5*low, 2*low, 3*low)
	}
	high, finite := a.s.Points[end].FiniteLoad()
	if !finite {
		return a.loads("find the rate that ends the SLO", 1.5*low, 2*low, 3*low)
	}
	if done := a.s.Points[end].RequestsPerS.Median; a.s.Axis == "rate" && done > low { // more cannot be kept up with
		high = min(high, done)
	}
	return a.loads("the limit is between "+a.s.Points[operating].Load+" and "+a.s.Points[end].Load,
		low+(high-low)/4, low+(high-low)/2, low+3*(high-low)/4)
}

func (a *answering) loads(why string, values ...float64) *NextSweep {
	n := &NextSweep{Variable: a.s.Axis, Values: []string{}, Why: why}
	for _, x := range values {
		if a.s.Axis == "concurrency" {
			x = math.Round(x)
		}
		x = rounded(x, values[1]-values[0])
		text := strconv.FormatFloat(x, 'f', -1, 64)
		known := slices.ContainsFunc(a.s.Points, func(p series.Point) bool { return requested(a.s, &p) == x })
		if x > 0 && !known && !slices.Contains(n.Values, text) {
			n.Values = append(n.Values, text)
		}
	}
	if len(n.Values) == 0 {
		return nil
	}
	return n.inRow(a.s)
}

func rounded(x, step float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	for unit > step/2 {
		unit /= 10
	}
	y, err := strconv.ParseFloat(strconv.FormatFloat(math.Round(x/unit)*unit, 'g', 6, 64), 64)
	if err != nil {
		return x
	}
	return y
}

func requested(s *series.Series, p *series.Point) float64 {
	if s.Axis == "concurrency" {
		return float64(p.Rows[0].Spec.Concurrency)
	}
	return p.LoadValue
}

func (n *NextSweep) inRow(s *series.Series) *NextSweep {
	n.Text = fmt.Sprintf("%s = [%s]", n.Variable, strings.Join(n.Values, ", "))
	n.TOML = inRow(s, n.Text)
	return n
}

// looser is an SLO that the row with the lowest load meets, in the form of --slo.
func looser(rows []*record.Row) string {
	r := slices.MinFunc(rows, func(a, b *record.Row) int { return cmp.Compare(a.Spec.Rate, b.Spec.Rate) })
	var limits []string
	for _, v := range r.SLO {
		if v.Unit != "ms" || v.Value == nil {
			continue
		}
		const spare, digits = 1.2, 2
		ms := v.Limit
		if *v.Value > ms {
			step := math.Pow(10, math.Ceil(math.Log10(spare**v.Value))-digits)
			ms = math.Ceil(spare**v.Value/step) * step
		}
		limits = append(limits, v.Metric+"="+(time.Duration(ms*float64(time.Millisecond))).String())
	}
	return strings.Join(limits, ",")
}
