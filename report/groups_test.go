package report

import (
	"fmt"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	fixture "bench/internal/reporttest"
)

// The text shows models and categories, in 12 lines together.
func TestGroupsInTheText(t *testing.T) {
	row := fixture.Shape{Name: "lora", Concurrency: 1, N: 400, TTFT: 50, TPOT: 8, Output: 100}.Row()
	group := record.Summary{TTFT: stats.Summarize([]float64{50, 60}), E2E: stats.Summarize([]float64{500, 600})}
	row.Models, row.Categories = map[string]record.Summary{"base": group, "a": group}, map[string]record.Summary{}
	for i := range 11 {
		row.Categories[fmt.Sprintf("kind%02d", i)] = group
	}
	o := Analysis{Series: series.FromRows([]record.Row{row})}
	p := newPrinter(Screen{})
	p.groups(&o)
	got := p.b.String()
	for _, want := range []string{"Categories of prompts", "kind10", "Models and adapters", "a  ", "and 1 more: report.html, tab Latency"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "base") {
		t.Errorf("too many lines:\n%s", got)
	}
}
