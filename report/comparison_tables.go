package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

func ConditionTables(c *compare.Comparison) []Table {
	var left []compare.LeftOut
	for i := range c.Points {
		left = append(left, c.Points[i].LeftOut...)
	}
	return []Table{comparedSearches(c), gateTable(c), DifferencesTable("differences", "Other differences",
		c.Differences), pointDifferences(c),
		LeftOutTable("left-out", "Left out of base", append(slices.Clone(c.LeftOut), left...)),
		disturbedTable(c), UnmatchedTable(c)}
}

func pointDifferences(c *compare.Comparison) Table {
	var all []compare.Difference
	points := map[compare.Difference][]string{}
	for i := range c.Points {
		for _, d := range c.Points[i].Differences {
			if points[d] == nil {
				all = append(all, d)
			}
			if !slices.Contains(points[d], c.Points[i].Name) {
				points[d] = append(points[d], c.Points[i].Name)
			}
		}
	}
	t := DifferencesTable("point-differences", "Other differences of points", all)
	t.Columns = append([]Column{{Head: "point"}}, t.Columns...)
	for i, d := range all {
		t.Rows[i] = append([]Cell{TextCell(andMorePoints(points[d]))}, t.Rows[i]...)
	}
	return t
}

func gateTable(c *compare.Comparison) Table {
	t := newTable("gate", "Gate", "point", "figure", "verdict", "why")
	if c.Gate == nil {
		return t
	}
	for _, v := range []stats.Verdict{stats.Fail, stats.Undecided} {
		for _, x := range c.Gate.Cases {
			if x.Verdict == v {
				t.Add(TextCell(cmp.Or(x.Where(), "all")), TextCell(cmp.Or(x.Metric, "all")),
					verdictCell(x.Verdict, 0), TextCell(x.Reason()))
			}
		}
	}
	return t
}

func LeftOutTable(id, caption string, left []compare.LeftOut) Table {
	t := newTable(id, caption, "run", "row", "why")
	for _, l := range left {
		t.Add(TextCell(l.Run), TextCell(cmp.Or(l.Row, "all")), TextCell(l.Why))
	}
	return t
}

func DifferencesTable(id, caption string, ds []compare.Difference) Table {
	t := newTable(id, caption, "what", "base", "new", "effect")
	for _, d := range ds {
		effect := Cell{Text: cmp.Or(d.Effect, "noted"), Kind: Faint}
		switch {
		case d.Key != "" && d.Allowed:
			effect = Cell{Text: "allowed", Kind: Undecided}
		case d.Key != "":
			effect = Cell{Text: "refused; to compare anyway: --allow " + d.Key, Kind: Failed}
			if d.Key == "prompt_form" {
				effect.Text = "refused: one server gets token ids, the other text; " +
					"api = \"chat\" sends text to both; " +
					"to compare anyway: --allow prompt_form"
			}
		}
		t.Add(TextCell(d.What), TextCell(d.Base), TextCell(d.New), effect)
	}
	return t
}

func disturbedTable(c *compare.Comparison) Table {
	t := newTable("disturbed", "Invalid rows and cautions", "point", "severity", "findings", "rows", "effect")
	for i := range c.Points {
		p := &c.Points[i]
		for _, x := range p.Invalid {
			effect := "included"
			if x.LeftOut {
				effect = "left out of base"
			}
			t.Add(TextCell(p.Name), Cell{Text: string(record.Invalid), Kind: severityKind(record.Invalid)},
				TextCell(strings.Join(x.Codes, ", ")), TextCell(x.Run+" "+x.Row), TextCell(effect))
		}
	}
	codes, points, rows := cautionsOf(c)
	for _, code := range codes {
		t.Add(TextCell(andMorePoints(slices.Compact(points[code]))),
			Cell{Text: string(record.Caution), Kind: severityKind(record.Caution)}, TextCell(code),
			TextCell(fmt.Sprintf("%d of %s", len(points[code]), unit.Plural(rows, "row"))), TextCell("included"))
	}
	return t
}

func UnmatchedTable(c *compare.Comparison) Table {
	t := newTable("unmatched", "Unmatched points", "point", "side")
	for _, name := range c.Missing {
		side := "only in base"
		if why := c.Unmeasured[name]; why != "" {
			side += "; " + why
		}
		t.Add(TextCell(name), TextCell(side))
	}
	for _, name := range c.Added {
		t.Add(TextCell(name), TextCell("only in new"))
	}
	return t
}
