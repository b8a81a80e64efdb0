package page

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
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

// TestSeriesLookTheSame: a series has one colour in every chart of a page, also where another has no mark; so
// has a point in the charts that have a curve for each.
func TestSeriesLookTheSame(t *testing.T) {
	run := fixtureRun()
	o := run.Analyze()
	label := map[string]bool{}
	for i := range o.Series {
		label[o.Series[i].Label()] = true
	}
	colors := map[string]map[any][]string{} // of a series, or of a point: color → charts
	var set curveSet
	if err := json.Unmarshal(curvesOf(t, page1(t, run), "r0-curves"), &set); err != nil {
		t.Fatal(err)
	}
	for _, c := range set.Curves {
		colors[c.Name] = map[any][]string{c.Color: {"curves"}}
	}
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
	if several < 1 {
		t.Errorf("only %d series are in several charts: nothing is shown", several)
	}
}

// Only limits on percentiles of a chart's own latency are lines in it: a mean, a share and the time per token are not.
func TestLimitLines(t *testing.T) {
	limits := []record.Verdict{
		{Metric: "ttft_p95", Limit: 2000, Unit: "ms"}, {Metric: "ttft_p95", Limit: 500, Unit: "ms", Class: "chat"},
		{Metric: "ttft_mean", Limit: 300, Unit: "ms"}, {Metric: "e2e_per_token_p95", Limit: 40, Unit: "ms"},
		{Metric: "error_rate", Limit: 0.01, Unit: "share"},
	}
	rows := []*record.Row{{SLO: limits}}
	text, err := json.Marshal(limitAcross(rows, "ttft"))
	if err != nil || strings.Count(string(text), `"xAxis"`) != 1 || !strings.Contains(string(text), `"xAxis":2000`) {
		t.Errorf("%s %v", text, err)
	}
	if e2e := limitAcross(rows, "e2e"); e2e != nil {
		t.Errorf("%v", e2e)
	}
	for class, want := range map[string]float64{"": 2000, "chat": 500} {
		got := map[string][]float64{}
		addLimits(got, limits, class)
		if !slices.Equal(got["ttft_p95"], []float64{want}) || len(got["ttft_mean"])+len(got["error_rate"]) > 0 {
			t.Errorf("class %q: %v", class, got)
		}
	}
}
