package page

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/report"
	"bench/report/fixture"
)

// optionsOf are the descriptions of the charts of a page.
func optionsOf(t *testing.T, html []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, found := range regexp.MustCompile(`class="chart-data">([^<]*)`).FindAllSubmatch(html, -1) {
		var c map[string]any
		if err := json.Unmarshal(found[1], &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// TestSeriesLookTheSame: a series has one colour in every chart and view of a page, also where another has no
// mark; so has a point in the charts that have a curve for each.
func TestSeriesLookTheSame(t *testing.T) {
	run := fixtureRun()
	o := run.Outcome()
	label := map[string]bool{}
	for i := range o.Series {
		label[o.Series[i].Label()] = true
	}
	colors := map[string]map[any][]string{} // of a series, or of a point: color → charts
	for _, c := range optionsOf(t, page1(t, run)) {
		for _, s := range c["option"].(map[string]any)["series"].([]any) {
			s := s.(map[string]any)
			name, _ := s["name"].(string)
			id := c["id"].(string)
			if style, ok := s["lineStyle"].(map[string]any); ok && label[name] {
				if strings.Contains(id, "by-percentile-") {
					name = "point " + name
				}
				if colors[name] == nil {
					colors[name] = map[any][]string{}
				}
				colors[name][style["color"]] = append(colors[name][style["color"]], id)
			}
		}
	}
	several := 0
	for name, charts := range colors {
		if len(charts) > 1 {
			t.Errorf("%s is %v", name, charts)
		}
		for _, ids := range charts {
			if len(ids) > 1 {
				several++
			}
		}
	}
	if several < 3 {
		t.Errorf("only %d series are in several charts: nothing is shown", several)
	}
}

// TestLimitedFirst: the latency that the SLO limits is what the page begins with.
func TestLimitedFirst(t *testing.T) {
	for _, c := range []struct{ metric, chosen, percentile string }{
		{"ttft_p99", "TTFT", "p99"}, {"tpot_p90", "TPOT", "p90"}, {"e2e_p50", "E2E", "p50"}, {"error_rate", "TTFT", "p99"},
	} {
		row := fixture.Shape{Name: "A", Concurrency: 1, N: 1000, TTFT: 50, TPOT: 6, Output: 99}.Row()
		row.SLO = []record.Verdict{{Metric: c.metric, Limit: 100, Unit: "ms", Verdict: "PASS"}}
		o := report.Outcome{Series: series.FromRows([]record.Row{row})}
		drawn, err := tradeoffChart(&o)
		if err != nil {
			t.Fatal(err)
		}
		if drawn.Choices[0].First != c.chosen || drawn.Choices[1].First != c.percentile {
			t.Errorf("%s: the page begins with %s %s", c.metric, drawn.Choices[0].First, drawn.Choices[1].First)
		}
	}
	if got := latenciesOf(&report.Outcome{}); len(got) != 1 || got[0] != "e2e" {
		t.Errorf("of nothing: %v", got)
	}
}

// Rings must stand on marks of the curve, at the coordinates that the frontier was computed from.
func TestFrontierStandsWhereItIsRanked(t *testing.T) {
	var rows []record.Row
	for i, n := range []int{64, 1200} { // the median p99 of the first is above the second's, its lower end below
		s := fixture.Shape{Name: "x", Axes: fixture.Axis("concurrency", []string{"1", "2"}[i]), Concurrency: i + 1, N: n, TTFT: []float64{100, 95}[i], TPOT: 7, Output: []float64{100, 200}[i]}
		rows = append(rows, s.Row())
	}
	s := series.FromRows(rows)[0]
	if len(s.Frontier) != 2 {
		t.Fatalf("frontier %v: by what is drawn neither point beats the other in both", s.Frontier)
	}
	o := report.Outcome{Series: []series.Series{s}}
	c, err := tradeoffChart(&o)
	if err != nil || c.Option == nil || !strings.Contains(c.Alt, "drawn and ranked by the lower end") {
		t.Errorf("the caption does not say how points without a bound are ranked: %q", c.Alt)
	}
	last := -1.0
	for _, j := range s.Frontier {
		_, ms, ok := latencyDatum(s.Points[j].TTFT, "p99", "")
		if !ok || ms < last {
			t.Errorf("point %d is drawn at %v ms, after %v", j, ms, last)
		}
		last = ms
	}
	html := string(page1(t))
	if !strings.Contains(html, "as drawn: a p99 without an upper bound is ranked by the lower end") {
		t.Error("the definitions do not say it")
	}
}
