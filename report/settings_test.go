package report

import (
	"fmt"
	"slices"
	"testing"

	"bench/experiment/diagnosis"
)

// TestSettingsLines: many settings have a bound, and the best one is in the conclusion.
func TestSettingsLines(t *testing.T) {
	for n, last := range map[int]string{
		3: "setting 2", 9: "setting 8", 10: "and 1 more setting", 30: "and 21 more settings",
	} {
		o := &Analysis{Answer: diagnosis.Answer{Workloads: make([]diagnosis.Workload, 1)}}
		g := diagnosis.Settings{First: "setting 0", Best: "setting 1", Text: "1 is best"}
		for i := range n {
			name := fmt.Sprintf("setting %d", i)
			g.Settings = append(g.Settings, diagnosis.Setting{Name: name, Text: name})
		}
		o.Answer.Settings = []diagnosis.Settings{g}
		lines := settingsLines(o, &o.Answer.Workloads[0])
		if want := min(n, mostSettingLines+2); len(lines) != want || lines[0] != g.Text ||
			slices.Contains(lines, g.Best) || lines[len(lines)-1] != last {
			t.Errorf("%d settings: %q", n, lines)
		}
	}
}
