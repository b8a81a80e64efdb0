package report

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/series"
)

// chartsOf are the descriptions of the charts of a page.
func chartsOf(t *testing.T, html []byte) []map[string]any {
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

// TestSeriesLookTheSame: a series has one colour in every chart and view of a page, also where another has no mark; so has a point in
// the charts that have a curve for each.
func TestSeriesLookTheSame(t *testing.T) {
	run := fixture()
	o := run.Outcome()
	label := map[string]bool{}
	for i := range o.Series {
		label[o.Series[i].Label()] = true
	}
	colors := map[string]map[any][]string{} // of a series, or of a point: color → charts
	for _, c := range chartsOf(t, page1(t, run)) {
		for _, s := range c["option"].(map[string]any)["series"].([]any) {
			s := s.(map[string]any)
			name, _ := s["name"].(string)
			id := c["id"].(string)
			if style, ok := s["lineStyle"].(map[string]any); ok && label[name] {
				if strings.Contains(id, byPercentile) {
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

// TestLimitedFirst: the latency that the SLO limits is what page and picture begin with.
func TestLimitedFirst(t *testing.T) {
	for _, c := range []struct{ metric, chosen, percentile string }{
		{"ttft_p99", "TTFT", "p99"}, {"tpot_p90", "TPOT", "p90"}, {"e2e_p50", "e2e", "p50"}, {"error_rate", "TTFT", "p99"},
	} {
		row := shape{name: "A", concurrency: 1, n: 1000, ttft: 50, tpot: 6, output: 99}.row()
		row.SLO = []record.Verdict{{Metric: c.metric, Limit: 100, Unit: "ms", Verdict: "PASS"}}
		o := Outcome{Series: series.SeriesOf([]record.Row{row})}
		drawn, err := o.tradeoff()
		if err != nil {
			t.Fatal(err)
		}
		if drawn.Choices[0].First != c.chosen || drawn.Choices[1].First != c.percentile {
			t.Errorf("%s: the page begins with %s %s", c.metric, drawn.Choices[0].First, drawn.Choices[1].First)
		}
		if p := newPicture(&o); metricName(p.metric) != c.chosen || p.percentile != c.percentile {
			t.Errorf("%s: the picture is of %s %s", c.metric, p.metric, p.percentile)
		}
	}
	if got := (&Outcome{}).latencies(); len(got) != 1 || got[0] != "e2e" {
		t.Errorf("of nothing: %v", got)
	}
}
