package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/tune"
	"bench/experiment/unit"
)

// Tuned is what a race of settings answers: the best one over the default, and what it says of all others.
type Tuned struct {
	record.Tune
	Text        string   `json:"text"`        // "8192/128: 21.4/s [20.1, 22.3] = 1.31 × default [1.22, 1.40]"
	Certificate string   `json:"certificate"` // "no other of 48 settings is more than 4 % better (95 %): …"
	Notes       []string `json:"notes"`
	Ships       bool     `json:"ships"` // the best is confirmed, and better than the default or the default itself
}

// tune makes the best setting the workload to read first. It is to be shipped if its confirmation bears it out; the
// other settings are an answer about it, and miss nothing.
func (a *Answer) tune(m *record.Manifest, all []series.Series) {
	if m.Tune == nil {
		return
	}
	t := &Tuned{Tune: *m.Tune, Notes: []string{}}
	t.Confirmed = t.Confirmed && (t.Ratio == nil) == (t.RatioInterval == nil) // else the file is not as bench writes it
	t.Text, t.Certificate = t.text(), t.certificate()
	t.Ships = t.Confirmed && (t.Best == t.Default || t.RatioInterval == nil || t.RatioInterval.Lo > 1)
	t.note()
	a.Tune, a.NotMet = t, []NotMet{}
	var first *Workload
	highest := math.Inf(-1) // load of a confirmation that passed
	for i := range a.Workloads {
		w := &a.Workloads[i]
		s, load := &all[w.Series], -1.0
		if w.Verdict == stats.Pass {
			load = requested(s, w.point(s))
		}
		if s.Points[0].Rows[0].Spec.Variant == t.Best && load > highest {
			first, a.First, highest = w, &i, load
		}
	}
	for i := range a.Workloads {
		if w := &a.Workloads[i]; w != first || !t.Ships {
			w.unship()
		}
	}
	if first != nil {
		first.Tuned = t.Text
	}
	switch {
	case first == nil || !t.Ships:
		a.NotMet = append(a.NotMet, NotMet{Why: "tune: no setting is confirmed: " + t.Text})
	case first.Verdict != stats.Pass && first.Verdict != "":
		a.NotMet = append(a.NotMet, NotMet{Why: "tune: the best setting has no PASS: " + t.Text})
	}
}

// Name is a setting by the values of its knobs: "8192/128".
func (t *Tuned) Name(variant string) string {
	for _, s := range t.Settings {
		if s.Variant == variant && len(s.Values) > 1 {
			return strings.Join(s.Values, "/")
		}
	}
	return variant
}

func (t *Tuned) Value(x float64) string {
	if t.Goal == tune.MaxLoad {
		return loadText(t.Axis, x)
	}
	switch u := t.goal().Unit; u {
	case "ms":
		return unit.Format(x, "ms")
	case "share":
		return unit.Brief(x, 4)
	default:
		return unit.Brief(x, 4) + " " + u
	}
}

func (t *Tuned) goal() metric.Metric {
	name, _ := metric.Cut(t.Goal)
	return metric.ByName(name)
}

// Ends are an interval as text: "[20.1, 22.3]".
func (t *Tuned) Ends(i *stats.Interval) string {
	if i == nil {
		return ""
	}
	digits := func(x float64) string { return unit.Brief(x, 3) }
	if t.goal().Unit == "ms" {
		digits = t.Value
	}
	return fmt.Sprintf("[%s, %s]", digits(i.Lo), digits(i.Hi))
}

// MoreIsBetter reports whether a bound of the goal is one from above.
func (t *Tuned) MoreIsBetter() bool { return t.Goal == tune.MaxLoad || t.goal().MoreIsBetter }

func (t *Tuned) text() string {
	if t.Best == "" || t.Estimate == nil {
		return "no setting runs"
	}
	text := strings.TrimSpace(fmt.Sprintf("%s: %s %s", t.Name(t.Best), t.Value(*t.Estimate), t.Ends(t.Interval)))
	if t.AtMax {
		text = fmt.Sprintf("%s: %s or above, the search's max", t.Name(t.Best), t.Value(*t.Estimate))
	}
	if t.Goal != tune.MaxLoad {
		text = metric.Words(t.Goal) + " of " + text
	}
	switch {
	case t.Best == t.Default:
		return text + ", the default"
	case t.Ratio == nil || t.RatioInterval == nil:
		return text + map[bool]string{true: ", confirmed without the default", false: ", not confirmed"}[t.Confirmed]
	case t.AtMax:
		return text + fmt.Sprintf(" = at least %.2f × default", t.RatioInterval.Lo)
	case t.MoreIsBetter():
		return text + fmt.Sprintf(" = %.2f × default [%.2f, %.2f]", *t.Ratio, t.RatioInterval.Lo, t.RatioInterval.Hi)
	}
	return text + fmt.Sprintf(" = default ÷ %.2f [%.2f, %.2f]", *t.Ratio, t.RatioInterval.Lo, t.RatioInterval.Hi)
}

func (t *Tuned) certificate() string {
	counts, beyond := map[string]int{}, 0
	for _, s := range t.Settings {
		counts[s.State]++
		if s.AtMax && s.Variant != t.Best { // it can be better by any factor
			beyond++
		}
	}
	all := len(t.Settings)
	tried := all - counts[tune.NotRun]
	var parts []string
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(counts[tune.Measured], "measured")
	add(counts[tune.RacedOut], "raced out")
	audited := ""
	if n := counts[tune.Audited]; n > 0 {
		audited = fmt.Sprintf(" (%d of them audited)", n)
	}
	add(counts[tune.Predicted]+counts[tune.Audited], "by prediction"+audited)
	add(counts[tune.Infeasible], "infeasible")
	of := fmt.Sprintf("%d settings", all)
	if tried < all {
		of = fmt.Sprintf("the %s tried", unit.Plural(tried, "setting"))
		add(all-tried, fmt.Sprintf("of %d not tried", all))
	}
	claim := "no other setting has run"
	if beyond > 0 {
		claim = fmt.Sprintf("nothing bounds the others: %d within the limits up to the search's max (raise it)", beyond)
	} else if t.Excess != nil {
		claim = fmt.Sprintf("no other of %s is more than %s %% better (95 %%)", of, percentUp(*t.Excess))
	}
	return claim + ": " + strings.Join(parts, ", ")
}

// percentUp rounds up, and never to 0: a claim is not to gain by its digits.
func percentUp(share float64) string {
	x := math.Ceil(1000*share-1e-9) / 10
	if x >= 10 {
		x = math.Ceil(x)
	}
	return unit.Brief(max(x, 0.1), 3)
}

func (t *Tuned) note() {
	if len(t.Interaction) > 0 {
		t.Notes = append(t.Notes,
			strings.Join(t.Interaction, " and ")+" interact: together they do what the sum of their effects does not")
	}
	spent := func(s float64) string { return unit.Clock(time.Duration(s * float64(time.Second))) }
	if t.State == tune.BudgetSpent {
		t.Notes = append(t.Notes, fmt.Sprintf("the budget of %s ended it before all was known; "+
			"resume with a longer one, such as --set tune.budget=%s", spent(t.BudgetS),
			time.Duration(2*t.BudgetS)*time.Second))
	}
	if t.Distrusted {
		t.Notes = append(t.Notes, "an audited setting was above its bound: prediction left out none from then on")
	}
	if i := slices.IndexFunc(t.Settings, func(s record.TunedSetting) bool { return s.Variant == t.Default }); i >= 0 &&
		t.Settings[i].State == tune.Infeasible {
		t.Notes = append(t.Notes, "the default does not run: "+t.Settings[i].Reason)
	} else if t.Confirmed && !t.Ships {
		t.Notes = append(t.Notes, "the confirmation does not show it to be better than the default")
	}
	if t.Order == tune.One && slices.ContainsFunc(t.Settings,
		func(s record.TunedSetting) bool { return s.State == tune.NotRun }) {
		t.Notes = append(t.Notes, `one knob after the other; order = "all" races every combination`)
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%s of server time, %s", spent(t.SpentS), unit.Plural(t.Starts, "start")))
}
