package page

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
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
