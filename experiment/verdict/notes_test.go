package verdict

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/fixture"
	"bench/experiment/record"
	"bench/experiment/workload"
)

func TestNotes(t *testing.T) {
	limited := fixture.SLO(t, "ttft_p99 = \"1s\"\ntpot_p99 = \"1s\"\ne2e_p99 = \"9s\"")
	tokens := fixture.SLO(t, `tpot_p99 = "1s"`)
	for _, c := range []struct {
		name string
		spec experiment.Spec
		code string
		text string
	}{
		{"closed loop, users' latency limited", experiment.Spec{SLO: limited}, "closed_loop", "e2e_p99, ttft_p99 count from a free worker"},
		{"closed loop, another limit", experiment.Spec{SLO: tokens}, "", ""},
		{"open loop", experiment.Spec{SLO: limited, Workload: workload.Workload{Rate: 2}}, "", ""},
		{"two classes", experiment.Spec{Workload: workload.Workload{Mix: []workload.Class{{Name: "rag"}, {Name: "chat"}}}}, "pooled_classes", "2 classes (chat, rag)"},
		{"one class", experiment.Spec{Workload: workload.Workload{Mix: []workload.Class{{Name: "rag"}}}}, "", ""},
	} {
		notes := (&Measured{Row: &record.Row{Spec: c.spec}}).notes()
		switch {
		case c.code == "" && len(notes) > 0:
			t.Errorf("%s: %+v", c.name, notes)
		case c.code != "" && (len(notes) != 1 || notes[0].Code != c.code || notes[0].Severity != record.Note || !strings.Contains(notes[0].Text, c.text) || notes[0].Hint == ""):
			t.Errorf("%s: %+v", c.name, notes)
		}
	}
}
