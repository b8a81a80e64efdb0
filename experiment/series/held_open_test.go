package series

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// busyProbe is a probe that other work on its machine leaves undecided.
func busyProbe(k *experiment.Search, load float64) *record.Row {
	r := probed(k, load, 1, stats.Undecided)
	r.SLO[0].OpenedBy = []string{"client_machine"}
	r.Findings = []record.Finding{{Code: "client_machine", Severity: record.Caution, Text: "the local server waited for CPU in up to 80 % of the time; ttft_p95 UNDECIDED because of it",
		Effects: []record.Effect{{Metric: "ttft"}, {Metric: "requests_per_s"}}}}
	return r
}

// A search ends where a caution and not the number of requests leaves its probes open, and names it.
func TestBusySearch(t *testing.T) {
	k := sloSearch("rate")
	s, rows := search(t, k, func(load float64) *record.Row { return busyProbe(k, load) })
	f := SearchResult(k, s, rows, nil, 0, false)
	if len(rows) != 4 || !strings.Contains(f.Text, "this machine is too busy to decide: the local server waited for CPU in up to 80 % of the time (") || strings.Contains(f.Text, "raise") {
		t.Errorf("%d probes: %s: %s", len(rows), f.State, f.Text)
	}
	open := probed(k, 8, 1, stats.Undecided)
	if held := HeldOpenBy([]*record.Row{open, busyProbe(k, 16), open}); held != nil {
		t.Errorf("more requests decide most: %+v", held)
	}
	if held := HeldOpenBy([]*record.Row{open, busyProbe(k, 16), busyProbe(k, 32), probed(k, 64, 1, stats.Fail)}); held == nil || held.Code != "client_machine" {
		t.Errorf("%+v", held)
	}
}
