package report

import (
	"bytes"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

func TestAnswer(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		axis, state string
		low, high   *float64
		want        string
	}{
		{"rate", "found", at(11.313), at(11.87), "11.31/s to 11.87/s"}, {"concurrency", "found", at(8), at(8), "8 slots"},
		{"concurrency", "above", at(64), nil, "64 slots or above"}, {"concurrency", "below", nil, at(1), "below 1 slot"},
		{"rate", "none", nil, nil, "nothing found"}, {"rate", "budget", nil, nil, "ended by its budget"},
	} {
		f := record.Found{State: c.state, Bracket: stats.Bracket{Low: c.low, High: c.high}, Search: experiment.Search{Axis: c.axis}}
		if got := answer(&f); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
}

// A search is on the first screen, and in a table with what it rests on, in the page and in the record.
func TestSearchesAreShown(t *testing.T) {
	run, low, high := fixture(), 4., 5.
	run.Manifest.Searches = []record.Found{{Name: "A-short-chat" + hostile, State: "found", Probes: 9, TookS: 75, Text: "it lies between 4/s and 5/s",
		Bracket: stats.Bracket{Low: &low, High: &high, LowRuns: 2, HighRuns: 3, Open: []float64{4.5}},
		Search:  experiment.Search{Axis: "rate", For: "slo", Min: 1, Max: 64, Tolerance: 0.05}}}
	var md bytes.Buffer
	if err := Markdown(&md, run); err != nil {
		t.Fatal(err)
	}
	html := string(page1(t, run))
	for name, got := range map[string]string{"page": html, "record": md.String()} {
		for _, want := range []string{"4/s to 5/s", "highest rate that meets the SLO", "1/s to 64/s, within 5 %", "2 and 3", "4.5/s", "75.0 s", "it lies between 4/s and 5/s"} {
			if !strings.Contains(strings.ReplaceAll(got, "\\", ""), want) {
				t.Errorf("the %s does not say %q", name, want)
			}
		}
	}
	if strings.Index(html, "4/s to 5/s") > strings.Index(html, "<nav>") {
		t.Error("the answer is not on the first screen")
	}
}
