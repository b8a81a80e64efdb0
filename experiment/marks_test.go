package experiment

import (
	"strings"
	"testing"

	"bench/experiment/load"
	"bench/experiment/workload"
)

func TestMarks(t *testing.T) {
	talking := &workload.Session{Turns: workload.Turns{Length: workload.Fixed(4)}, User: workload.Fixed(10)}
	of := func(n, tokens int) Summary {
		return Summary{Requests: Requests{Completed: n}, Tokens: Tokens{Output: tokens}}
	}
	mix := []workload.Class{{Name: "chat", Weight: 1, Session: talking}, {Name: "batch", Weight: 3, Stop: "natural"}}
	for _, c := range []struct {
		name  string
		row   Row
		marks string
		load  string
		turns float64
	}{
		{"plain", Row{Spec: Spec{Load: load.Load{Concurrency: 2}}}, "", "concurrency 2", 1},
		{"cold", Row{Spec: Spec{Kind: "cold_start"}}, "cold starts: one request at a time, over a new connection, 10s after the last", "cold starts", 1},
		{"conversations", Row{Spec: Spec{Workload: workload.Workload{Session: talking}}}, "conversations: each later turn sends the server's own answers back", "concurrency 0", 4},
		{"natural", Row{Spec: Spec{Stop: "natural"}, Summary: of(4, 50)}, "natural stop: answers of 12.5 tokens on average, as the model ended them", "concurrency 0", 1},
		{"natural, nothing completed", Row{Spec: Spec{Stop: "natural"}}, "", "concurrency 0", 1},
		{"mix", Row{Spec: Spec{Workload: workload.Workload{Mix: mix}}, Classes: map[string]Summary{"chat": of(2, 20), "batch": of(2, 60)}, Summary: of(4, 80)},
			"conversations in chat: each later turn sends the server's own answers back; natural stop in batch: answers of 30.0 tokens on average, as the model ended them", "concurrency 0", 1.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			series := SeriesOf([]Row{c.row})[0]
			if got := strings.Join(series.Marks, "; "); got != c.marks || series.Points[0].Load != c.load {
				t.Errorf("%q at %q", got, series.Points[0].Load)
			}
			if got := c.row.Spec.turns(); got != c.turns {
				t.Errorf("%v turns", got)
			}
		})
	}
	if forced := (&Spec{Stop: "natural", Workload: workload.Workload{Mix: []workload.Class{{Name: "a", Stop: "forced"}}}}).Forced(); !forced {
		t.Error("a class that is forced is overlooked")
	}
}
