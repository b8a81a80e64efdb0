package experiment

import (
	"strings"
	"testing"

	"bench/experiment/workload"
)

func TestNotes(t *testing.T) {
	limited := sloOf(t, "ttft_p99 = \"1s\"\ntpot_p99 = \"1s\"\ne2e_p99 = \"9s\"")
	tokens := sloOf(t, `tpot_p99 = "1s"`)
	for _, c := range []struct {
		name string
		spec Spec
		code string
		text string
	}{
		{"closed loop, users' latency limited", Spec{SLO: limited}, "closed_loop", "e2e_p99, ttft_p99 count from the slot"},
		{"closed loop, another limit", Spec{SLO: tokens}, "", ""},
		{"open loop", Spec{SLO: limited, Workload: workload.Workload{Rate: 2}}, "", ""},
		{"two classes", Spec{Workload: workload.Workload{Mix: []workload.Class{{Name: "rag"}, {Name: "chat"}}}}, "pooled_classes", "2 classes (chat, rag)"},
		{"one class", Spec{Workload: workload.Workload{Mix: []workload.Class{{Name: "rag"}}}}, "", ""},
	} {
		notes := (&evidence{Row: &Row{Spec: c.spec}}).notes()
		switch {
		case c.code == "" && len(notes) > 0:
			t.Errorf("%s: %+v", c.name, notes)
		case c.code != "" && (len(notes) != 1 || notes[0].Code != c.code || !strings.Contains(notes[0].Text, c.text) || notes[0].Hint == ""):
			t.Errorf("%s: %+v", c.name, notes)
		}
	}
}
