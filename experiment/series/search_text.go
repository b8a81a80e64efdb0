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
)

func effort(f *record.Found) string {
	return unit.Plural(f.Probes, "probe") + ", " +
		time.Duration(f.TookS*float64(time.Second)).Round(time.Second).String()
}

// countedText is what the same probes say without a twin.
func countedText(f *record.Found) string {
	if f.Counted == nil || f.Low == nil || f.High == nil {
		return ""
	}
	if f.Counted.Low == nil && f.Counted.High == nil {
		return "; own requests alone give no estimate"
	}
	own, all := record.Found{Search: f.Search, Bracket: *f.Counted}, *f
	own.Best, all.Best = nil, nil
	if between(&own) == between(&all) {
		return ""
	}
	return "; by own requests alone" + strings.TrimPrefix(between(&own), " is")
}

// EffortText is what a search took, and what ended it: all that its text adds to an estimate.
func EffortText(f *record.Found, rows []*record.Row) string {
	switch f.State {
	case "budget":
		return effort(f) + countedText(f) + budgetText(f, rows)
	case "unprobed":
		return effort(f) + "; run the search again for a closer answer"
	}
	return effort(f) + countedText(f)
}

func foundText(f *record.Found, rows []*record.Row) string {
	k := &f.Search
	what := map[string]string{
		experiment.GoalSLO:        "the highest " + k.Axis + " that meets the SLO",
		experiment.GoalSaturation: "the highest rate that the server keeps up with",
	}[k.Goal]
	within := 0.0
	if f.Low == nil && k.Goal == experiment.GoalSLO {
		within, _ = stats.Leaning(probes(k, rows))
	}
	switch f.State {
	case "searching":
		if what += " is not found yet"; f.Low == nil && f.High == nil {
			return what
		}
		return what + ": so far it" + between(f)
	case "unprobed":
		return what + between(f) + " by the stored probes; run the search again for a closer answer"
	case "budget":
		if what += between(f); within > 0 {
			what += ", and its figures are within the limits up to " + LoadText(k, within)
		}
		return what + budgetText(f, rows)
	case "none":
		if k.Gentle {
			break
		}
		text := fmt.Sprintf("no %s is decided", k.Axis)
		if within > 0 {
			text += "; the figures are within the limits up to " + LoadText(k, within)
		} else if !k.Open {
			text = fmt.Sprintf("no %s from %s to %s is decided", k.Axis, LoadText(k, k.Min), LoadText(k, k.Max))
		}
		return text + ": " + whyUndecided(rows)
	case "above":
		return fmt.Sprintf("%s is %s or above, the search's max; raise max", what, LoadText(k, *f.Low))
	case "beaten":
		return what + between(f) + ": another server setting meets it at a higher one"
	case "below":
		if limit := k.Misses(); limit != "" {
			return fmt.Sprintf("no %s meets the SLO: a request alone in the server misses %s, with a median TTFT of %s and TPOT of %s",
				k.Axis, limit, unit.Format(k.Scout.TTFTMs, "ms"), unit.Format(k.Scout.TPOTMs, "ms"))
		}
		return fmt.Sprintf("%s is below %s, the search's min; lower min", what, LoadText(k, *f.High))
	}
	return what + between(f)
}

func between(f *record.Found) string {
	k := &f.Search
	switch {
	case f.Low == nil && f.High == nil:
		return " is not known"
	case f.Low == nil:
		return " is below " + LoadText(k, *f.High)
	case f.High == nil:
		return fmt.Sprintf(" is %s or above", LoadText(k, *f.Low))
	case k.Axis == "concurrency" && *f.High == *f.Low+1:
		return " is " + LoadText(k, *f.Low)
	}
	text := fmt.Sprintf(" is between %s and %s", LoadText(k, *f.Low), LoadText(k, *f.High))
	if f.Best != nil {
		text += fmt.Sprintf(", most likely %s", LoadText(k, *f.Best))
	}
	return text
}

// TooShort is the budget that a search without a PASS needs.
func TooShort(f *record.Found) string {
	return fmt.Sprintf("too short to confirm: at least %.0fm", math.Ceil(f.ConfirmS/60))
}

func budgetText(f *record.Found, rows []*record.Row) string {
	k, spent := &f.Search, f.Spent()
	held, by := HeldOpenBy(rows), windowsEndBy(f, rows)
	switch {
	case held != nil:
		return "; " + heldOpenText(held)
	case futile(rows):
		return "; the last probes are invalid: " + whyUndecided(rows)
	case by != "":
		return "; no probe can be longer: raise " + by
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

// windowsEndBy is the row's key that kept the probes of a search from its budget; empty: none did.
func windowsEndBy(f *record.Found, rows []*record.Row) string {
	const most = 0.8 // of the budget
	switch {
	case f.Spent() != "budget" || f.TookS > most*time.Duration(f.Search.MaxTime()).Seconds() || len(rows) == 0:
		return ""
	case rows[0].Spec.Requests > 0:
		return "requests"
	case f.Search.Longest > 0:
		return "duration"
	}
	return ""
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

func LoadText(k *experiment.Search, load float64) string {
	text := strconv.FormatFloat(load, 'g', 4, 64)
	if k.Axis == "rate" {
		return text + "/s"
	}
	return unit.Count(int(load))
}

// HeldOpenBy is the caution that leaves most of the undecided probes open, so that more probes decide nothing; nil:
// more requests would decide as many of them.
func HeldOpenBy(rows []*record.Row) *record.Finding {
	count := map[string]int{}
	undecided := 0
	var most *record.Finding
	for _, r := range rows {
		if v, _ := verdict.OfRows(r); v != stats.Undecided || disturbed(r) != "" {
			continue
		}
		undecided++
		if f := OpenedBy(r.Findings, r.SLO...); f != nil {
			if count[f.Code]++; most == nil || count[f.Code] > count[most.Code] {
				most = f
			}
		}
	}
	if most == nil || 2*count[most.Code] <= undecided {
		return nil
	}
	return most
}

// OpenedBy is the first caution without whose effects one of the limits would have a verdict; nil: none is.
func OpenedBy(findings []record.Finding, limits ...record.Verdict) *record.Finding {
	for i := range findings {
		f := &findings[i]
		if f.Severity == record.Caution && slices.ContainsFunc(limits,
			func(v record.Verdict) bool { return v.WasOpenedBy(f) }) {
			return f
		}
	}
	return nil
}

// heldOpenText is the reason in a sentence: "this machine is too busy to decide: the local server waited …".
func heldOpenText(f *record.Finding) string {
	text, _, _ := strings.Cut(f.Text, "; ") // without the limits of one row
	// other work; losses on the network lower no throughput
	if f.Code == "client_machine" && f.Touches("requests_per_s") {
		return "this machine is too busy to decide: " + text
	}
	return f.Code + " leaves the probes undecided: " + text
}
