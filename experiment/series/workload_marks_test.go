package series

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

func TestMarks(t *testing.T) {
	talking := &workload.Session{Turns: workload.Turns{Length: workload.Fixed(4)}, User: workload.Fixed(10)}
	of := func(n, tokens int) record.Summary {
		return record.Summary{Requests: record.Requests{Completed: n}, Tokens: record.Tokens{Output: tokens}}
	}
	mix := []workload.Class{{Name: "chat", Weight: 1, Session: talking}, {Name: "batch", Weight: 3, Stop: "natural"}}
	for _, c := range []struct {
		name  string
		row   record.Row
		marks string
		load  string
		turns float64
	}{
		{"plain", record.Row{Spec: experiment.Spec{Load: workload.Load{Concurrency: 2}}}, "", "concurrency 2", 1},
		{"cold", record.Row{Spec: experiment.Spec{Kind: "cold_start"}}, "cold starts: one request at a time on a new connection, 10s idle in between", "cold starts", 1},
		{"conversations", record.Row{Spec: experiment.Spec{Workload: workload.Workload{Session: talking}}}, "conversations: each later turn contains the server's earlier answers", "load not reported", 4},
		{"natural", record.Row{Spec: experiment.Spec{Stop: "natural"}, Summary: of(4, 50)}, "natural EOS: answers have 12.5 tokens on average", "load not reported", 1},
		{"natural, nothing completed", record.Row{Spec: experiment.Spec{Stop: "natural"}}, "", "load not reported", 1},
		{"mix", record.Row{Spec: experiment.Spec{Workload: workload.Workload{Mix: mix}}, Classes: map[string]record.Summary{"chat": of(2, 20), "batch": of(2, 60)}, Summary: of(4, 80)},
			"conversations in chat: each later turn contains the server's earlier answers; natural EOS in batch: answers have 30.0 tokens on average", "load not reported", 1.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			series := FromRows([]record.Row{c.row})[0]
			if got := strings.Join(series.Marks, "; "); got != c.marks || series.Points[0].Load != c.load {
				t.Errorf("%q at %q", got, series.Points[0].Load)
			}
			if got := c.row.Spec.RequestsPerArrival(); got != c.turns {
				t.Errorf("%v turns", got)
			}
		})
	}
	if forced := (&experiment.Spec{Stop: "natural", Workload: workload.Workload{Mix: []workload.Class{{Name: "a", Stop: "forced"}}}}).IgnoresEOS(); !forced {
		t.Error("a class that is forced is overlooked")
	}
}
