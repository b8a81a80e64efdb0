package series

import (
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
)

// NextProbe is the load of a search's next probe; more is false when the search is over. rows are its probes
// so far, in any order.
func NextProbe(k *experiment.Search, rows []*record.Row) (load float64, more bool) {
	load, more = nextLoad(k, rows)
	return load, more && !budgetSpent(k, rows)
}

// nextLoad is NextProbe without the budget.
func nextLoad(k *experiment.Search, rows []*record.Row) (load float64, more bool) {
	if k.Goal == experiment.GoalKnee {
		return k.Algorithm().NextOfKnee(gains(k, rows))
	}
	return k.Algorithm().Next(answers(k, rows))
}

func budgetSpent(k *experiment.Search, rows []*record.Row) bool {
	return len(rows) >= k.MaxProbes() || k.Budget > 0 && duration(rows) >= time.Duration(k.Budget)
}

func duration(rows []*record.Row) (sum time.Duration) {
	for _, r := range rows {
		sum += r.EndedAt.Sub(r.StartedAt)
	}
	return sum
}

func answers(k *experiment.Search, rows []*record.Row) []stats.Answer {
	out := make([]stats.Answer, len(rows))
	for i, r := range rows {
		v, _ := probeAnswer(k, r)
		out[i] = stats.Answer{Load: k.LoadOf(&r.Spec), Verdict: v}
	}
	return out
}

func gains(k *experiment.Search, rows []*record.Row) []stats.Gain {
	out := make([]stats.Gain, len(rows))
	for i, r := range rows {
		out[i] = stats.Gain{Load: k.LoadOf(&r.Spec), Gain: r.Summary.Throughput.OutputTokensPerS}
	}
	return out
}

// probeAnswer is PASS if the load of a probe is not too high, FAIL if it is, and UNDECIDED, with the reason,
// if the probe shows neither. Verdicts account for cautions and for failed requests; another invalid row has no
// answer.
func probeAnswer(k *experiment.Search, r *record.Row) (v stats.Verdict, why string) {
	grows := ""
	// In a closed loop concurrency bounds the queue; a row that reaches its concurrency late had a slow
	// client.
	if t, ok := (&Point{Rows: []*record.Row{r}}).queue(); ok && r.Spec.Rate > 0 {
		grows = fmt.Sprintf("the queue grows by %.0f %% during the window", 100*t.Change)
	}
	v, _ = verdict.OfRows(r)
	if k.Goal == experiment.GoalSaturation {
		v = keptUp(r)
		if grows != "" {
			v, grows = stats.Fail, ""
		}
	}
	switch {
	case v == stats.Pass && grows != "":
		return stats.Undecided, grows
	case v != stats.Pass && v != stats.Fail:
		return stats.Undecided, whyOpen(r)
	}
	if i := slices.IndexFunc(r.Findings, func(f record.Finding) bool { return f.Code == "rate_not_achieved" }); v == stats.Pass && i >= 0 {
		return stats.Undecided, r.Findings[i].Text
	}
	for _, d := range r.Findings {
		if d.Severity == record.Invalid && !failed(d.Code) {
			return stats.Undecided, d.Text
		}
	}
	return v, ""
}

// whyOpen is why a row is undecided: the effect of a finding, or too few requests.
func whyOpen(r *record.Row) string {
	for _, v := range r.SLO {
		if v.Verdict == string(stats.Undecided) && v.Need == 0 && v.Why != "" {
			return v.Why
		}
	}
	return "more requests are needed for a verdict"
}

// Overshoots reports whether a row is a probe of a search that does not pass. Searches overshoot on purpose,
// so its failed checks and limits are no failure of the run.
func Overshoots(r *record.Row) bool {
	if r.Spec.Search == nil {
		return false
	}
	v, _ := probeAnswer(r.Spec.Search, r)
	return v != stats.Pass || r.Spec.Search.Goal == experiment.GoalKnee
}

// keptUp reports whether the server completed as many requests/s as were offered; a shortfall that can be
// chance is undecided.
func keptUp(r *record.Row) stats.Verdict {
	n := float64(r.Summary.Requests.Planned)
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

// SearchResult is the result of a search so far. s is one of its probes, or the row before it was expanded.
func SearchResult(k *experiment.Search, s *experiment.Spec, rows []*record.Row) record.Found {
	return searchResult(k, s, rows, false)
}

// SearchAgain is the result of a search whose probes were evaluated again, so that it can't run further ones.
func SearchAgain(k *experiment.Search, rows []*record.Row) record.Found {
	return searchResult(k, &rows[0].Spec, rows, true)
}

func searchResult(k *experiment.Search, s *experiment.Spec, rows []*record.Row, again bool) record.Found {
	_, others := experiment.LoadAxis(s)
	f := record.Found{Name: s.Name, Others: others, Variant: s.Variant, Search: *k, Probes: len(rows), TookS: duration(rows).Seconds()}
	bends := true
	if k.Goal == experiment.GoalKnee {
		f.Bracket, bends = k.Algorithm().KneeOf(gains(k, rows))
	} else {
		f.Bracket = k.Algorithm().Bracket(answers(k, rows))
	}
	_, more := nextLoad(k, rows)
	switch {
	case more && again:
		f.State = "unprobed"
	case more && budgetSpent(k, rows):
		f.State = "budget"
	case more:
		f.State = "searching"
	case !bends || f.Low == nil && f.High == nil:
		f.State = "none"
	case f.High == nil && *f.Low == k.Max:
		f.State = "above"
	case f.Low == nil && *f.High == k.Min:
		f.State = "below"
	default:
		f.State = "found"
	}
	label := (&experiment.Spec{Name: f.Name, Point: f.Others}).Label()
	f.Text = fmt.Sprintf("%s: %s (%s, %s)", label, foundText(&f, rows), unit.Plural(f.Probes, "probe"), duration(rows).Round(time.Second))
	return f
}

// foundText is the result in words.
func foundText(f *record.Found, rows []*record.Row) string {
	k := &f.Search
	what := map[string]string{
		experiment.GoalSLO:        "the highest " + k.Axis + " that meets the SLO",
		experiment.GoalSaturation: "the highest rate that the server keeps up with",
		experiment.GoalKnee:       "the " + k.Axis + " at the knee",
	}[k.Goal]
	switch f.State {
	case "searching":
		return what + " is not found yet" + soFar(f)
	case "unprobed":
		return what + " is not found by the stored probes" + soFar(f) + "; run the search again"
	case "budget":
		return what + " is not found within the budget" + soFar(f) + "; raise budget or probes"
	case "none":
		if k.Goal == experiment.GoalKnee {
			return fmt.Sprintf("no knee for %s %s to %s: throughput does not bend; change min or max", k.Axis, loadText(k, k.Min), loadText(k, k.Max))
		}
		return fmt.Sprintf("no %s from %s to %s is decided: %s", k.Axis, loadText(k, k.Min), loadText(k, k.Max), whyUndecided(k, rows))
	case "above":
		return fmt.Sprintf("%s is %s or above, the search's max (%s); raise max", what, loadText(k, *f.Low), agreed(f.LowRuns))
	case "below":
		return fmt.Sprintf("%s is below %s, the search's min (%s); lower min", what, loadText(k, *f.High), agreed(f.HighRuns))
	}
	text := what + " is" + between(f)
	if k.Goal != experiment.GoalKnee && len(f.Open) > 0 {
		open := make([]string, len(f.Open))
		for i, x := range f.Open {
			open[i] = loadText(k, x)
		}
		text += fmt.Sprintf("; runs are undecided or disagree at %s: %s", strings.Join(open, ", "), whyUndecided(k, rows))
	}
	return text
}

// between is the bracket in words.
func between(f *record.Found) string {
	k := &f.Search
	switch {
	case f.Low == nil:
		return fmt.Sprintf(" below %s (%s)", loadText(k, *f.High), agreed(f.HighRuns))
	case f.High == nil:
		return fmt.Sprintf(" %s or above (%s)", loadText(k, *f.Low), agreed(f.LowRuns))
	case f.LowRuns == 1 && f.HighRuns == 1:
		return fmt.Sprintf(" between %s and %s (1 run at each, not confirmed)", loadText(k, *f.Low), loadText(k, *f.High))
	case f.LowRuns == f.HighRuns:
		return fmt.Sprintf(" between %s and %s (%s at each)", loadText(k, *f.Low), loadText(k, *f.High), agreed(f.LowRuns))
	}
	return fmt.Sprintf(" between %s (%s) and %s (%s)", loadText(k, *f.Low), agreed(f.LowRuns), loadText(k, *f.High), agreed(f.HighRuns))
}

func soFar(f *record.Found) string {
	if f.Low == nil && f.High == nil {
		return ""
	}
	return ": so far it is" + between(f)
}

// whyUndecided is the most frequent reason among the undecided probes.
func whyUndecided(k *experiment.Search, rows []*record.Row) string {
	count, most := map[string]int{}, ""
	for _, r := range rows {
		if v, why := probeAnswer(k, r); v == stats.Undecided {
			if count[why]++; count[why] > count[most] || most == "" {
				most = why
			}
		}
	}
	if most == "" {
		return "chance decides the verdict"
	}
	return most
}

// loadText is a load without its axis: 11.3/s, 8.
func loadText(k *experiment.Search, load float64) string {
	text := strconv.FormatFloat(load, 'g', 4, 64)
	if k.Axis == "rate" {
		return text + "/s"
	}
	return unit.Count(int(load))
}

func agreed(runs int) string {
	if runs == 1 {
		return "1 run, not confirmed"
	}
	return fmt.Sprintf("%d runs agree", runs)
}
