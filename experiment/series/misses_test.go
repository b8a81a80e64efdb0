package series

import (
	"testing"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// An overloaded server that fails requests misses the SLO; one that died shows nothing of its load.
func TestMissesSLO(t *testing.T) {
	for _, tt := range []struct {
		lost    bool
		invalid string
		want    bool
	}{{false, "", true}, {false, "errors", true}, {false, "client_bound", false}, {true, "errors", false}, {true, "", true}} {
		row := &record.Row{ServerLost: tt.lost}
		if tt.invalid != "" {
			row.Findings = []record.Finding{{Code: tt.invalid, Severity: record.Invalid}}
		}
		if p := (Point{Rows: []*record.Row{row}, SLO: stats.Fail}); p.MissesSLO() != tt.want {
			t.Errorf("server lost %t, invalid by %q: %t", tt.lost, tt.invalid, !tt.want)
		}
	}
}
