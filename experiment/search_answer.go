package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/stats"
)

// Findings that void an answer. What makes a row look better than its load can make it pass, and what burdens it beside the server
// can make it fail: then the answer says nothing.
var (
	flatter = []string{"short", "arrivals", "rate_not_achieved", "prompt_length", "output_length", "prefix_cache", "faster_than_bound", "server_restarted"}
	burden  = []string{"client_bound", "client_cpu", "network", "gpu_throttled", "gpu_processes", "shared_server", "host_load"}
)

// Ask is what a probe says: PASS where the load is one that is looked for, FAIL where it is too high; and why it says nothing.
func (k *Search) Ask(r *Row) (v stats.Verdict, why string) {
	grows := ""
	// In a closed loop no queue grows: the slots bound it, and a row that fills them late had a client that was held up.
	if t, ok := (&SeriesPoint{Rows: []*Row{r}}).queue(); ok && r.Spec.Rate > 0 {
		grows = fmt.Sprintf("the queue grows, by %.0f %% through the window", 100*t.Change)
	}
	v, _ = SLOOf(r)
	if k.For == forSaturation {
		v = keptUp(r)
		if grows != "" {
			v, grows = stats.Fail, ""
		}
	}
	voids := flatter
	switch {
	case v == stats.Pass && grows != "":
		return stats.Undecided, grows
	case v == stats.Fail && k.For == forSLO && r.refused():
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
func (r *Row) refused() bool {
	return slices.ContainsFunc(r.SLO, func(v Verdict) bool { return v.Metric == "error_rate" && v.Verdict == string(stats.Fail) })
}

// Beyond says that the row is a probe of a search that does not pass: a search is there to go too far, so what fails or is doubted
// there is no fault of the run.
func (r *Row) Beyond() bool {
	if r.Spec.Search == nil {
		return false
	}
	v, _ := r.Spec.Search.Ask(r)
	return v != stats.Pass || r.Spec.Search.For == forKnee
}

// keptUp says whether the server answered as many requests as were offered; a shortfall that may be chance is undecided.
func keptUp(r *Row) stats.Verdict {
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

// Found is what a search found: where the load lies that was looked for.
type Found struct {
	Name    string `json:"name"`           // the row's
	Others  []Axis `json:"axes,omitempty"` // the values of the axes that are not the load
	Variant string `json:"variant,omitempty"`
	Search  Search `json:"search"`

	stats.Bracket
	State  string  `json:"state"` // searching, found, above (even the highest load is one), below (not even the lowest), none, budget (it ended before the search)
	Probes int     `json:"probes_run"`
	TookS  float64 `json:"took_s"`
	Text   string  `json:"text"` // in a sentence
}

// Found is what the probes say by now. s is one of them, or the row before it was expanded.
func (k *Search) Found(s *Spec, rows []*Row) Found {
	_, others := loadAxis(s)
	f := Found{Name: s.Name, Others: others, Variant: s.Variant, Search: *k, Probes: len(rows), TookS: took(rows).Seconds()}
	bent := true
	if k.For == forKnee {
		f.Bracket, bent = k.stats().KneeOf(k.gains(rows))
	} else {
		f.Bracket = k.stats().Bracket(k.answers(rows))
	}
	_, more := k.ask(rows)
	switch {
	case more && k.spent(rows):
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
	f.Text = f.text(rows)
	return f
}

// Verdict is that of a search for what meets the SLO; empty for the others.
func (f *Found) Verdict() stats.Verdict {
	switch {
	case f.Search.For != forSLO:
		return ""
	case f.Met():
		return stats.Pass
	case f.State == "below":
		return stats.Fail
	}
	return stats.Undecided
}

// Met says that there is a load that is one of those looked for.
func (f *Found) Met() bool { return f.Low != nil && (f.State == "found" || f.State == "above") }

func (f *Found) text(rows []*Row) string {
	k := &f.Search
	label := (&Spec{Name: f.Name, Point: f.Others}).Pretty()
	return fmt.Sprintf("%s: %s (%s, %s)", label, f.answer(rows, k), plural(f.Probes, "probe"),
		time.Duration(f.TookS*float64(time.Second)).Round(time.Second))
}

// answer is the sentence without what it took.
func (f *Found) answer(rows []*Row, k *Search) string {
	what := map[string]string{
		forSLO:        "the highest " + k.Axis + " that meets the SLO",
		forSaturation: "the highest rate that the server keeps up with",
		forKnee:       "the knee",
	}[k.For]
	switch f.State {
	case "searching":
		return what + " is not found yet" + f.soFar()
	case "budget":
		return what + " is not found within the budget" + f.soFar() + "; allow more with budget or probes"
	case "none":
		if k.For == forKnee {
			return fmt.Sprintf("no knee from %s to %s: the curve does not bend there; move min or max", k.at(k.Min), k.at(k.Max))
		}
		return fmt.Sprintf("no load from %s to %s is decided: %s", k.at(k.Min), k.at(k.Max), k.why(rows))
	case "above":
		return fmt.Sprintf("%s is %s or above, where the search ends (%s); raise max", what, k.at(*f.Low), agreed(f.LowRuns))
	case "below":
		return fmt.Sprintf("%s is below %s, where the search begins (%s); lower min", what, k.at(*f.High), agreed(f.HighRuns))
	}
	text := what + " lies" + f.between(k)
	if k.For != forKnee && len(f.Open) > 0 {
		text += fmt.Sprintf("; runs are undecided or disagree at %s: %s", k.list(f.Open), k.why(rows))
	}
	return text
}

// between is the interval in words.
func (f *Found) between(k *Search) string {
	switch {
	case f.Low == nil:
		return fmt.Sprintf(" below %s (%s)", k.at(*f.High), agreed(f.HighRuns))
	case f.High == nil:
		return fmt.Sprintf(" at %s or above (%s)", k.at(*f.Low), agreed(f.LowRuns))
	case f.LowRuns == 1 && f.HighRuns == 1:
		return fmt.Sprintf(" between %s and %s (1 run at each, not confirmed)", k.at(*f.Low), k.at(*f.High))
	case f.LowRuns == f.HighRuns:
		return fmt.Sprintf(" between %s and %s (%s at each)", k.at(*f.Low), k.at(*f.High), agreed(f.LowRuns))
	}
	return fmt.Sprintf(" between %s (%s) and %s (%s)", k.at(*f.Low), agreed(f.LowRuns), k.at(*f.High), agreed(f.HighRuns))
}

func (f *Found) soFar() string {
	if f.Low == nil && f.High == nil {
		return ""
	}
	return ": so far it lies" + f.between(&f.Search)
}

// why is the reason why answers of probes say nothing: the most common one.
func (k *Search) why(rows []*Row) string {
	count, most := map[string]int{}, ""
	for _, r := range rows {
		if v, why := k.Ask(r); v == stats.Undecided {
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
func (k *Search) at(load float64) string {
	text := strconv.FormatFloat(load, 'g', 4, 64)
	if k.Axis == "rate" {
		return text + "/s"
	}
	return plural(int(load), "slot")
}

func (k *Search) list(loads []float64) string {
	var out []string
	for _, x := range loads {
		out = append(out, k.at(x))
	}
	return strings.Join(out, ", ")
}

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

func agreed(runs int) string {
	if runs == 1 {
		return "1 run, not confirmed"
	}
	return fmt.Sprintf("%d runs agree", runs)
}
