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

// Findings that void an answer. What makes a row look better than its load can make it pass, and what burdens it beside the server
// can make it fail: then the answer says nothing.
var (
	flatter = []string{"short", "arrivals", "rate_not_achieved", "prompt_length", "output_length", "prefix_cache", "faster_than_bound", "server_restarted"}
	burden  = []string{"client_bound", "client_cpu", "network", "gpu_throttled", "gpu_processes", "shared_server", "host_load"}
)

// Ask is what a probe says: PASS where the load is one that is looked for, FAIL where it is too high; and why it says nothing.
func Answer(k *experiment.Search, r *record.Row) (v stats.Verdict, why string) {
	grows := ""
	// In a closed loop no queue grows: the slots bound it, and a row that fills them late had a client that was held up.
	if t, ok := (&SeriesPoint{Rows: []*record.Row{r}}).queue(); ok && r.Spec.Rate > 0 {
		grows = fmt.Sprintf("the queue grows, by %.0f %% through the window", 100*t.Change)
	}
	v, _ = verdict.SLOOf(r)
	if k.For == experiment.ForSaturation {
		v = keptUp(r)
		if grows != "" {
			v, grows = stats.Fail, ""
		}
	}
	voids := flatter
	switch {
	case v == stats.Pass && grows != "":
		return stats.Undecided, grows
	case v == stats.Fail && k.For == experiment.ForSLO && errorsFail(r):
		return v, ""
	case v == stats.Fail:
		voids = burden
	case v != stats.Pass:
		return stats.Undecided, "more requests are needed for a verdict"
	}
	for _, d := range r.Findings {
		if slices.Contains(voids, d.Code) {
			return stats.Undecided, d.Text
		}
	}
	return v, ""
}

// refused says that the row failed its SLO by what no slow client makes: errors.
func errorsFail(r *record.Row) bool {
	return slices.ContainsFunc(r.SLO, func(v record.Verdict) bool { return v.Metric == "error_rate" && v.Verdict == string(stats.Fail) })
}

// Beyond says that the row is a probe of a search that does not pass: a search is there to go too far, so what fails or is doubted
// there is no fault of the run.
func Beyond(r *record.Row) bool {
	if r.Spec.Search == nil {
		return false
	}
	v, _ := Answer(r.Spec.Search, r)
	return v != stats.Pass || r.Spec.Search.For == experiment.ForKnee
}

// keptUp says whether the server answered as many requests as were offered; a shortfall that may be chance is undecided.
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

// Found is what the probes say by now. s is one of them, or the row before it was expanded.
func FoundBy(k *experiment.Search, s *experiment.Spec, rows []*record.Row) record.Found {
	_, others := experiment.LoadAxis(s)
	f := record.Found{Name: s.Name, Others: others, Variant: s.Variant, Search: *k, Probes: len(rows), TookS: took(rows).Seconds()}
	bent := true
	if k.For == experiment.ForKnee {
		f.Bracket, bent = k.Search().KneeOf(gainsOf(k, rows))
	} else {
		f.Bracket = k.Search().Bracket(answers(k, rows))
	}
	_, more := nextLoad(k, rows)
	switch {
	case more && spent(k, rows):
		f.State = "budget"
	case more:
		f.State = "searching"
	case !bent || f.Low == nil && f.High == nil:
		f.State = "none"
	case f.High == nil && *f.Low == k.Max:
		f.State = "above"
	case f.Low == nil && *f.High == k.Min:
		f.State = "below"
	default:
		f.State = "found"
	}
	f.Text = foundText(&f, rows)
	return f
}

func foundText(f *record.Found, rows []*record.Row) string {
	k := &f.Search
	label := (&experiment.Spec{Name: f.Name, Point: f.Others}).Pretty()
	return fmt.Sprintf("%s: %s (%s, %s)", label, foundAnswer(f, rows, k), unit.Plural(f.Probes, "probe"),
		time.Duration(f.TookS*float64(time.Second)).Round(time.Second))
}

// answer is the sentence without what it took.
func foundAnswer(f *record.Found, rows []*record.Row, k *experiment.Search) string {
	what := map[string]string{
		experiment.ForSLO:        "the highest " + k.Axis + " that meets the SLO",
		experiment.ForSaturation: "the highest rate that the server keeps up with",
		experiment.ForKnee:       "the knee",
	}[k.For]
	switch f.State {
	case "searching":
		return what + " is not found yet" + foundSoFar(f)
	case "budget":
		return what + " is not found within the budget" + foundSoFar(f) + "; allow more with budget or probes"
	case "none":
		if k.For == experiment.ForKnee {
			return fmt.Sprintf("no knee from %s to %s: the curve does not bend there; move min or max", loadText(k, k.Min), loadText(k, k.Max))
		}
		return fmt.Sprintf("no load from %s to %s is decided: %s", loadText(k, k.Min), loadText(k, k.Max), whyUndecided(k, rows))
	case "above":
		return fmt.Sprintf("%s is %s or above, where the search ends (%s); raise max", what, loadText(k, *f.Low), agreed(f.LowRuns))
	case "below":
		return fmt.Sprintf("%s is below %s, where the search begins (%s); lower min", what, loadText(k, *f.High), agreed(f.HighRuns))
	}
	text := what + " lies" + foundBetween(f, k)
	if k.For != experiment.ForKnee && len(f.Open) > 0 {
		text += fmt.Sprintf("; runs are undecided or disagree at %s: %s", loadList(k, f.Open), whyUndecided(k, rows))
	}
	return text
}

// between is the interval in words.
func foundBetween(f *record.Found, k *experiment.Search) string {
	switch {
	case f.Low == nil:
		return fmt.Sprintf(" below %s (%s)", loadText(k, *f.High), agreed(f.HighRuns))
	case f.High == nil:
		return fmt.Sprintf(" at %s or above (%s)", loadText(k, *f.Low), agreed(f.LowRuns))
	case f.LowRuns == 1 && f.HighRuns == 1:
		return fmt.Sprintf(" between %s and %s (1 run at each, not confirmed)", loadText(k, *f.Low), loadText(k, *f.High))
	case f.LowRuns == f.HighRuns:
		return fmt.Sprintf(" between %s and %s (%s at each)", loadText(k, *f.Low), loadText(k, *f.High), agreed(f.LowRuns))
	}
	return fmt.Sprintf(" between %s (%s) and %s (%s)", loadText(k, *f.Low), agreed(f.LowRuns), loadText(k, *f.High), agreed(f.HighRuns))
}

func foundSoFar(f *record.Found) string {
	if f.Low == nil && f.High == nil {
		return ""
	}
	return ": so far it lies" + foundBetween(f, &f.Search)
}

// why is the reason why answers of probes say nothing: the most common one.
func whyUndecided(k *experiment.Search, rows []*record.Row) string {
	count, most := map[string]int{}, ""
	for _, r := range rows {
		if v, why := Answer(k, r); v == stats.Undecided {
			if count[why]++; count[why] > count[most] || most == "" {
				most = why
			}
		}
	}
	if most == "" {
		return "chance decides there"
	}
	return most
}

// at is a load as people read it: 11.3/s, 8 slots.
func loadText(k *experiment.Search, load float64) string {
	text := strconv.FormatFloat(load, 'g', 4, 64)
	if k.Axis == "rate" {
		return text + "/s"
	}
	return unit.Plural(int(load), "slot")
}

func loadList(k *experiment.Search, loads []float64) string {
	var out []string
	for _, x := range loads {
		out = append(out, loadText(k, x))
	}
	return strings.Join(out, ", ")
}

func agreed(runs int) string {
	if runs == 1 {
		return "1 run, not confirmed"
	}
	return fmt.Sprintf("%d runs agree", runs)
}

// Next is the load of the next probe; more is false when the search is over. rows are its probes so far, in any order.
func Next(k *experiment.Search, rows []*record.Row) (load float64, more bool) {
	load, more = nextLoad(k, rows)
	return load, more && !spent(k, rows)
}

// ask is Next without a thought of the budget.
func nextLoad(k *experiment.Search, rows []*record.Row) (load float64, more bool) {
	if k.For == experiment.ForKnee {
		return k.Search().NextOfKnee(gainsOf(k, rows))
	}
	return k.Search().Next(answers(k, rows))
}

// spent says that the budget is used up.
func spent(k *experiment.Search, rows []*record.Row) bool {
	return len(rows) >= k.MaxProbes() || k.Budget > 0 && took(rows) >= time.Duration(k.Budget)
}

func took(rows []*record.Row) time.Duration {
	var sum time.Duration
	for _, r := range rows {
		sum += r.EndedAt.Sub(r.StartedAt)
	}
	return sum
}

func answers(k *experiment.Search, rows []*record.Row) []stats.Answer {
	out := make([]stats.Answer, len(rows))
	for i, r := range rows {
		v, _ := Answer(k, r)
		out[i] = stats.Answer{Load: k.LoadOf(&r.Spec), Verdict: v}
	}
	return out
}

func gainsOf(k *experiment.Search, rows []*record.Row) []stats.Gain {
	out := make([]stats.Gain, len(rows))
	for i, r := range rows {
		out[i] = stats.Gain{Load: k.LoadOf(&r.Spec), Gain: r.Summary.Throughput.OutputTokensPerS}
	}
	return out
}
