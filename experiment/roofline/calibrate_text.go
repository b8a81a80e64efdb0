package roofline

import (
	"fmt"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/unit"
)

func constantsTable(f *Fit, width int) string {
	t := [][]string{{"fitted", "value", "±", "without the fit", ""}}
	for _, c := range f.Constants {
		value, error := amount(c, c.Value), "not determined"
		if c.Uncertainty != nil {
			error = amount(c, *c.Uncertainty)
		}
		t = append(t, []string{c.Name, value, error, amount(c, c.Usual), c.Of})
	}
	return columns.Table(t, width, 1, 2, 3)
}

func amount(c Constant, value float64) string {
	if c.Of == "" {
		return unit.Digits(value) + " ms"
	}
	return unit.Format(value, "share")
}

func fitNotes(f *Fit) []string {
	notes := f.Notes
	if f.Additive {
		notes = append([]string{"reading and computing take turns on this device: their times add up"}, notes...)
	}
	if f.Spread != nil {
		notes = append([]string{"residuals " + unit.Format(*f.Spread, "share")}, notes...)
	}
	return notes
}

func fitTable(f *Fit, width int) string {
	t := [][]string{{"row", "measured ms", "fitted ms", "off", "held out ms", "off"}}
	for _, x := range f.Points {
		held, off := "–", "–"
		if x.HeldOutMs != nil {
			held, off = unit.Digits(*x.HeldOutMs), signed(*x.HeldOutOff)
		}
		t = append(t, []string{x.title(), unit.Digits(x.Ms), unit.Digits(x.FittedMs), signed(x.Off), held, off})
	}
	for _, x := range f.Check {
		t = append(t, []string{x.title(), unit.Digits(x.Ms), "–", "–", unit.Digits(x.FittedMs), signed(x.Off)})
	}
	return columns.Table(t, width, 1, 2, 3, 4, 5)
}

func (p Point) title() string {
	if p.Concurrency == 0 && p.Metric == "tpot" {
		return p.Name + ", decode step"
	}
	return p.Name + ", " + strings.ToUpper(p.Metric)
}

func errorsText(e CheckErrors) string {
	load := "alone"
	if e.Loaded {
		load = "at concurrency"
	}
	return fmt.Sprintf("%s %s: median error %s, worst %s (%s)", strings.ToUpper(e.Metric), load,
		unit.Format(e.Median, "share"), signed(e.Worst), unit.Plural(e.Points, "point"))
}

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }
