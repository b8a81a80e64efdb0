package revisions

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"bench/experiment/bisect"
	"bench/experiment/metric"
	"bench/experiment/text"
	"bench/experiment/unit"
)

func (r *Result) Text(w io.Writer, columns int) error {
	_, err := io.WriteString(w, text.Lines(r.lines(), "    ", columns))
	return err
}

func (r *Result) lines() (lines []string) {
	a := r.Answer
	work := fmt.Sprintf("%s, %s", unit.Plural(a.Builds, "build"), unit.Plural(a.Runs, "run"))
	levels := fmt.Sprintf("good %s, bad %s", r.levelText(a.Good), r.levelText(a.Bad))
	switch {
	case r.State == bisect.Unchanged:
		lines = append(lines, fmt.Sprintf("no difference: %s: %s; %s", metric.Words(r.Metric), levels, work))
	case r.State == bisect.Inconclusive:
		lines = append(lines, fmt.Sprintf("open, whether %s differs: that nothing changed has a probability of "+
			"%.0f %%; a change of %s would have been seen (4 of 5 times); %s", metric.Words(r.Metric),
			100*a.Unchanged, unit.Percent(a.Smallest), work))
	case r.State == bisect.Found:
		lead := "first bad "
		for i := range a.Changes {
			lines = append(lines, lead+r.change(&a.Changes[i])+", "+work)
			lead = "and, one of two changes: "
		}
		for _, x := range r.Revisions {
			first := func(c Changed) bool { return slices.Contains(c.FirstBad, x.Name) }
			if x.Subject != "" && slices.ContainsFunc(a.Changes, first) {
				lines = append(lines, x.short()+": "+x.Subject)
			}
		}
	case len(a.Candidates) == 0:
		lines = append(lines, "the budget was spent before good and bad were measured; "+work)
	default:
		why := fmt.Sprintf("the limit of %d runs is reached", (&bisect.Search{Revisions: len(r.Revisions)}).Limit())
		if r.State == StateBudget {
			why = "the budget is spent"
		}
		if a.Unchanged > 0.5 {
			lines = append(lines, fmt.Sprintf("open, since %s: likely no difference (%.0f %%); %s", why, 100*a.Unchanged,
				work))
			break
		}
		lines = append(lines, fmt.Sprintf("open, since %s: the first bad one is one of %s (%.0f %%): %s; %s",
			why, unit.Plural(len(a.Candidates), "revision"), 100*r.Confidence,
			unit.Some(r.shorts(a.Candidates)), work))
	}
	if r.State != bisect.Unchanged && r.Metric != "" {
		lines = append(lines, metric.Words(r.Metric)+": "+levels+"; a run spreads by "+unit.Percent(a.Spread))
	}
	var out []string
	for _, x := range r.Revisions {
		if x.State == PassedOver {
			out = append(out, fmt.Sprintf("%s (%s)", x.short(), x.Reason))
		}
	}
	if len(out) > 0 {
		lines = append(lines, "passed over: "+unit.Some(out))
	}
	return lines
}

// change is "2111997f9 (97 %): output tok/s −26 % [−29, −23]".
func (r *Result) change(c *Changed) string {
	names := r.shorts(c.FirstBad)
	name := names[len(names)-1]
	if len(names) > 1 {
		name = "one of " + names[0] + " to " + name
	}
	sure := fmt.Sprintf("%.0f %%", 100*c.Probability)
	if c.Probability > 0.99 {
		sure = "> 99 %"
	}
	return fmt.Sprintf("%s (%s): %s %s %% [%s, %s]", name, sure, metric.Words(r.Metric),
		signed(c.Share), signed(c.Interval.Lo), signed(c.Interval.Hi))
}

func (r *Result) shorts(names []string) (out []string) {
	for _, name := range names {
		out = append(out, (&Revision{Name: name}).short())
	}
	return out
}

// signed is a share as "−26", without its unit.
func signed(share float64) string {
	digits := 0
	if math.Abs(share) < 0.1 {
		digits = 1
	}
	return strings.Replace(fmt.Sprintf("%+.*f", digits, 100*share), "-", "−", 1)
}

func (r *Result) levelText(l Level) string {
	name, _ := metric.Cut(r.Metric)
	u := metric.ByName(name).Unit
	if l.Runs < 2 {
		return unit.Format(l.Value, u)
	}
	digits := func(x float64) string { return unit.Digits(x * unit.Scale(l.Value, u)) }
	return fmt.Sprintf("%s [%s, %s]", unit.Format(l.Value, u), digits(l.Interval.Lo), digits(l.Interval.Hi))
}

func (b *Bisection) progress() string {
	last := &b.Runs[len(b.Runs)-1]
	switch {
	case last.Invalid != "":
		return "it does not count: " + last.Invalid
	case b.Metric == "":
		return "measured: " + unit.Some(slices.Sorted(maps.Keys(last.Figures)))
	}
	out := metric.Words(b.Metric) + " " + b.levelText(Level{Value: last.Figures[b.Metric]})
	known := b.search().Believe()
	if known.None > 1-b.Confidence {
		return out + fmt.Sprintf("; good and bad differ with a probability of %.0f %%", 100*(1-known.None))
	}
	within := known.Within(b.Confidence)
	if len(within) == 1 {
		return out + "; the first bad one is likely " + b.Revisions[within[0]].short()
	}
	return out + "; the first bad one is one of " + unit.Plural(len(within), "revision")
}
