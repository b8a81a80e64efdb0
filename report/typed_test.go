package report

import (
	"testing"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// TestTypeNext: after bench URL the next step is made of its flags, and of keys after a matrix.
func TestTypeNext(t *testing.T) {
	for _, c := range []struct {
		variable, text, file string
		budget               float64
		want                 string
	}{
		{"duration", `duration = "158s", requests = 500 at rate 1.346/s`, "quick.toml", 0, "--duration 158s --requests 500 at rate 1.346/s"},
		{"duration", `duration = "158s" at rate 1.346/s`, "quick.toml", 120, "a longer search: --budget 5m"},
		{"rate", "rate = [3, 4.5, 6]", "quick.toml", 0, "--rate 3,4.5,6"},
		{"budget", "raise budget of the search for a closer answer", "quick.toml", 0, "raise --budget for a closer answer"},
		{"duration", `duration = "158s" at rate 1.346/s`, "mine.toml", 0, `duration = "158s" at rate 1.346/s`},
	} {
		row := record.Row{}
		if c.budget > 0 {
			row.Spec.Search = &experiment.Search{Budget: workload.Span(c.budget * 1e9)}
		}
		r := &Run{Run: record.Run{Manifest: record.Manifest{MatrixFile: c.file, Command: []string{"bench", "h:1"}}, Rows: []record.Row{row}}}
		a := &diagnosis.Answer{Workloads: []diagnosis.Workload{{Next: &diagnosis.NextSweep{Variable: c.variable, Text: c.text}}}}
		typeNext(r, a)
		if got := a.Workloads[0].Next.Text; got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
