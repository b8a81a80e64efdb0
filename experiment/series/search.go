package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// NextProbe is a search's next probe, after rows. It ends when its answer is not above the load to beat; 0 = none.
func NextProbe(k *experiment.Search, rows []*record.Row, beat float64) (next experiment.Probe, more bool) {
	if len(rows) >= k.MaxProbes() || futile(rows) {
		return next, false
	}
	pace := k.Pace()
	pace.Beat = beat
	step, more := k.Algorithm().Next(probes(k, rows), pace)
	seconds := func(x float64) workload.Span {
		return workload.Span((time.Duration(x * float64(time.Second))).Round(time.Second / 10))
	}
	return experiment.Probe{Load: step.Load, Warmup: seconds(step.Warmup), Window: seconds(step.Window)}, more
}

// futile: the last probes told nothing, for a reason that more of them do not heal.
func futile(rows []*record.Row) bool {
	const most = 4
	return len(rows) >= most && !slices.ContainsFunc(rows[len(rows)-most:], func(r *record.Row) bool {
		v, _ := verdict.OfRows(r)
		return disturbed(r) == "" && (v != stats.Undecided || OpenedBy(r.Findings, r.SLO...) == nil)
	})
}

func duration(rows []*record.Row) (sum time.Duration) {
	for _, r := range rows {
		sum += r.Took()
	}
	return sum
}

func probes(k *experiment.Search, rows []*record.Row) []stats.Probe {
	out := make([]stats.Probe, len(rows))
	for i, r := range rows {
		out[i] = probe(k, r)
	}
	return out
}

// sureCount is a number of independent requests of which none (or all) over a limit decide it, 5 % allowed, as a
// verdict that is no count of requests decides.
const sureCount, sureAllowed = 100, 0.05

func verdictCounts(v stats.Verdict) stats.Exceedances {
	e := stats.Exceedances{Most: sureCount, N: sureCount, Time: 1, Allowed: sureAllowed}
	switch v {
	case stats.Pass:
		e.Most = 0
	case stats.Fail:
		e.Over, e.Least = sureCount, sureCount
	default:
		e.N = 0
	}
	return e
}

func probe(k *experiment.Search, r *record.Row) stats.Probe {
	p := stats.Probe{Load: k.LoadOf(&r.Spec), Spent: r.Took().Seconds()}
	open := disturbed(r) != ""
	flow := flowOf(r)
	p.Filling = r.Spec.Rate > 0 && !flow.Steady()
	if k.Goal == experiment.GoalSaturation {
		v := saturated(r)
		if open {
			v = stats.Undecided
		}
		if v != stats.Fail && !open {
			p.Stay = flow.Stay
		}
		p.Limits = []stats.Exceedances{verdictCounts(v)}
		return p
	}
	verdict, need := verdict.OfRows(r)
	p.Passed, p.Counted = verdict == stats.Pass && r.Valid(), r.Spec.Requests > 0
	if need > 0 {
		p.Need = float64(r.Summary.Requests.Planned + need)
	}
	for _, v := range r.SLO {
		if (experiment.Limit{Key: v.Metric}).EasierByLoad() {
			continue
		}
		e := verdictCounts(stats.Verdict(v.Verdict))
		if v.Counts != nil {
			e = *v.Counts
			byValue(k, &v, flow, &e)
		}
		if v.Overload && !open {
			p.Verdict = stats.Fail
			e = verdictCounts(stats.Undecided)
		}
		if open {
			e = verdictCounts(stats.Undecided)
		}
		p.Limits = append(p.Limits, e)
	}
	queues := r.Spec.Rate > 0 && !r.Spec.HasConversations()
	switch {
	case open:
	case p.Verdict == stats.Fail && queues && flow.Window > 0:
		p.Completed = flow.Ended / flow.Window
	case p.Verdict == "":
		p.Stay, p.Window = flow.Stay, flow.Window
		if s := r.Summary.E2E; s != nil && s.Mean > 0 {
			p.Variation = s.Std / s.Mean
		}
		if queues {
			p.Sustained = flow.Sustained()
			p.Completed = p.Sustained
		}
	}
	return p
}

// byValue adds what a limit's value shows beside the counts.
func byValue(k *experiment.Search, v *record.Verdict, flow stats.Flow, e *stats.Exceedances) {
	// Standard errors: of an open queue's percentile, at least; the most of a batch's; and of its value in a window as
	// long as one request, which falls with the root of the window: it is busier in one window than in another.
	// A window begins after a short warm-up, and lacks the times when the batch is largest: it is too low by `early`.
	const queued, most, oneStay, early = 0.3, 0.25, 0.5, 0.25
	e.Verdict = stats.Verdict(v.Verdict)
	if v.Value == nil || *v.Value <= 0 || v.Unit == "share" || v.Observed < fewestValues {
		return
	}
	e.Bounded = k.Axis == "concurrency" || strings.HasPrefix(v.Metric, "tpot") || strings.HasPrefix(v.Metric, "itl")
	e.Log, e.Error = math.Log(*v.Value/v.Limit), queued
	if !e.Bounded {
		return
	}
	if k.Axis == "rate" && flow.Stay > 0 {
		long := math.Sqrt(flow.Window / flow.Stay)
		e.Error, e.Log = min(most, oneStay/long), e.Log+min(0.15, early/long)
		return
	}
	e.Error = most
	if iv := cmp.Or(v.Disturbed, v.Interval); iv != nil && iv.Lo > 0 && !math.IsInf(iv.Hi, 0) {
		e.Error = min(most, math.Log(iv.Hi/iv.Lo)/4)
	}
}

const fewestValues = 20

func flowOf(r *record.Row) stats.Flow {
	f := stats.Flow{Arrived: float64(r.Summary.Requests.Planned), Window: r.Summary.DurationS}
	f.Ended = f.Arrived
	if r.Little != nil {
		f.Ended, f.Stay = r.Little.RequestsS*f.Window, r.Little.MeanMs/1000
	}
	return f
}

func disturbed(r *record.Row) string {
	for _, f := range r.Findings {
		if f.Severity == record.Invalid && f.Code != failedRequests {
			return f.Text
		}
	}
	return ""
}

func saturated(r *record.Row) stats.Verdict {
	// In a closed loop concurrency bounds the queue; a row that reaches its concurrency late had a slow client.
	if _, grows := (&Point{Rows: []*record.Row{r}}).queue(); grows && r.Spec.Rate > 0 {
		return stats.Fail
	}
	v, flow := keptUp(r), flowOf(r)
	if f := flow.Stay / max(flow.Window, 1e-9); v == stats.Fail && r.Little != nil && r.Spec.Rate > 0 && flow.Ended >= (1-2*f)*flow.Arrived {
		return stats.Undecided // what is missing is as much as an empty server takes in
	}
	return v
}

func Overshoots(r *record.Row) bool {
	if r.Spec.Search == nil {
		return false
	}
	v, _ := verdict.OfRows(r)
	if r.Spec.Search.Goal == experiment.GoalSaturation {
		v = saturated(r)
	}
	return v != stats.Pass || disturbed(r) != ""
}

func keptUp(r *record.Row) stats.Verdict {
	n := float64(r.Summary.Requests.Stayed())
	if n == 0 || r.Summary.DurationS <= 0 {
		return stats.Undecided
	}
	share := r.Summary.Throughput.RequestsPerS * r.Summary.DurationS / n
	switch {
	case share >= keepsUp:
		return stats.Pass
	case 1-share < 2/math.Sqrt(n):
		return stats.Undecided
	}
	return stats.Fail
}

func SearchResult(k *experiment.Search, s *experiment.Spec, rows []*record.Row, beat float64) record.Found {
	return searchResult(k, s, rows, beat, false)
}

func SearchAgain(k *experiment.Search, rows []*record.Row) record.Found {
	return searchResult(k, &rows[0].Spec, rows, 0, true)
}

func searchResult(k *experiment.Search, s *experiment.Spec, rows []*record.Row, beat float64, again bool) record.Found {
	_, others := experiment.LoadAxis(s)
	f := record.Found{Name: s.Name, Others: others, Variant: s.Variant, Search: *k, Probes: len(rows), TookS: duration(rows).Seconds()}
	close := true
	if len(rows) > 0 {
		shown := probes(k, rows)
		f.Bracket, close = bracket(k.Algorithm(), shown)
		f.Passed, f.ConfirmS = confirmed(k, shown, &f)
	}
	_, more := NextProbe(k, rows, beat)
	f.State = state(&f, len(rows) > 0 && close, more, again)
	if f.High != nil && *f.High <= beat {
		f.State = "beaten"
	}
	label := (&experiment.Spec{Name: f.Name, Point: f.Others}).Label()
	f.Text = fmt.Sprintf("%s: %s (%s, %s)", label, foundText(&f, rows), unit.Plural(f.Probes, "probe"), duration(rows).Round(time.Second))
	return f
}

// confirmed is the highest load that passed, and the budget that a verdict at the lower end takes; 0 = it has one.
func confirmed(k *experiment.Search, shown []stats.Probe, f *record.Found) (passed *float64, budget float64) {
	for _, p := range shown {
		if p.Passed && (passed == nil || p.Load > *passed) {
			passed = new(p.Load)
		}
	}
	const below, share = 0.9, 0.5 // of the lower end; of a budget that is left for the last probe
	if k.Goal == experiment.GoalSLO && f.Low != nil && (passed == nil || *passed < below**f.Low) {
		step := k.Algorithm().Confirming(shown, k.Pace(), *f.Low)
		budget = max((step.Warmup+step.Window)/share, 1.5*f.TookS)
	}
	return passed, budget
}

// widest is the largest standard deviation of ln(load) of an estimate.
const widest = 0.35

// bracket is the part of the region inside of the range, and whether it is as close as the tolerance.
func bracket(s stats.Search, probes []stats.Probe) (b stats.Bracket, close bool) {
	r := s.Region(probes)
	if r.Low > 0 {
		b.Low = new(s.Round(min(r.Low, s.Max), false))
	}
	if !math.IsInf(r.High, 1) {
		b.High = new(s.Round(max(r.High, s.Min), true))
	}
	if r.Spread < widest {
		b.Best = new(s.Round(r.Best, false))
	}
	return b, b.Low != nil && *b.Low == s.Max || b.High != nil && *b.High == s.Min || b.Low != nil && b.High != nil && s.Close(*b.Low, *b.High)
}

func state(f *record.Found, close, more, again bool) string {
	k := &f.Search
	switch {
	case f.Low != nil && *f.Low == k.Max:
		return "above"
	case f.High != nil && *f.High == k.Min:
		return "below"
	case f.Probes == 0, more && !again && !close:
		return "searching"
	case more && again && !close:
		return "unprobed"
	case f.Low == nil && f.High == nil:
		return "none"
	case !close:
		return "budget"
	}
	return "found"
}

func foundText(f *record.Found, rows []*record.Row) string {
	k := &f.Search
	what := map[string]string{
		experiment.GoalSLO:        "the highest " + k.Axis + " that meets the SLO",
		experiment.GoalSaturation: "the highest rate that the server keeps up with",
	}[k.Goal]
	switch f.State {
	case "searching":
		return what + " is not found yet" + soFar(f)
	case "unprobed":
		return what + between(f) + " by the stored probes; run the search again for a closer answer"
	case "budget":
		return what + between(f) + budgetText(f, rows)
	case "none":
		return fmt.Sprintf("no %s from %s to %s is decided: %s", k.Axis, loadText(k, k.Min), loadText(k, k.Max), whyUndecided(rows))
	case "above":
		return fmt.Sprintf("%s is %s or above, the search's max; raise max", what, loadText(k, *f.Low))
	case "beaten":
		return what + between(f) + ": another server setting meets it at a higher one"
	case "below":
		return fmt.Sprintf("%s is below %s, the search's min; lower min", what, loadText(k, *f.High))
	}
	return what + between(f)
}

func between(f *record.Found) string {
	k := &f.Search
	switch {
	case f.Low == nil && f.High == nil:
		return " is not known"
	case f.Low == nil:
		return " is below " + loadText(k, *f.High)
	case f.High == nil:
		return fmt.Sprintf(" is %s or above", loadText(k, *f.Low))
	case k.Axis == "concurrency" && *f.High == *f.Low+1:
		return " is " + loadText(k, *f.Low)
	}
	text := fmt.Sprintf(" is between %s and %s", loadText(k, *f.Low), loadText(k, *f.High))
	if f.Best != nil {
		text += fmt.Sprintf(", most likely %s", loadText(k, *f.Best))
	}
	return text
}

// TooShort is the budget that a search without a PASS needs.
func TooShort(f *record.Found) string {
	return fmt.Sprintf("too short to confirm: at least %.0fm", math.Ceil(f.ConfirmS/60))
}

func budgetText(f *record.Found, rows []*record.Row) string {
	k, spent := &f.Search, f.Spent()
	held := HeldOpenBy(rows)
	switch {
	case held != nil:
		return "; " + heldOpenText(held)
	case futile(rows):
		return "; the last probes are invalid: " + whyUndecided(rows)
	case f.ConfirmS > 0 && spent == "budget" && (f.Low == nil || f.High == nil):
		return "; budget spent, " + TooShort(f)
	case f.Low == nil || f.High == nil:
		return "; " + spent + " spent: raise " + spent
	}
	width := *f.High / *f.Low - 1
	if f.ConfirmS > 0 && spent == "budget" {
		return fmt.Sprintf("; budget spent at a width of %.0f %%, %s", 100*width, TooShort(f))
	}
	factor := math.Pow(width/float64(k.Tolerance), 2)
	return fmt.Sprintf("; %s spent at a width of %.0f %%; %s takes about %s", spent, 100*width, k.Tolerance,
		unit.Clock(time.Duration(f.TookS*factor*float64(time.Second))))
}

func soFar(f *record.Found) string {
	if f.Low == nil && f.High == nil {
		return ""
	}
	return ": so far it" + between(f)
}

func whyUndecided(rows []*record.Row) string {
	count, most := map[string]int{}, ""
	for _, r := range rows {
		if why := disturbed(r); why != "" {
			if count[why]++; count[why] > count[most] || most == "" {
				most = why
			}
		}
	}
	if f := HeldOpenBy(rows); most == "" && f != nil {
		return heldOpenText(f)
	}
	return cmp.Or(most, "more requests are needed; raise budget")
}

func loadText(k *experiment.Search, load float64) string {
	text := strconv.FormatFloat(load, 'g', 4, 64)
	if k.Axis == "rate" {
		return text + "/s"
	}
	return unit.Count(int(load))
}
