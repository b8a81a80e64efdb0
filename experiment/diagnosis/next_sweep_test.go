package diagnosis

import (
	"slices"
	"testing"

	"bench/experiment/record"
	"bench/experiment/series"
)

// What an open point needs comes on top of its longest repeat.
func TestMoreRequestsThanTheLongestRepeat(t *testing.T) {
	rows := []*record.Row{{}, {}}
	for i, planned := range []int{100, 700} {
		rows[i].Spec.Requests = planned
		rows[i].Summary.Requests.Planned = planned
	}
	s := series.Series{Points: []series.Point{{Rows: rows}}}
	for need, want := range map[int]string{50: "750", 0: "2800"} { // 0: out of reach
		next := moreRequests(&s, &s.Points[0], &record.Verdict{Metric: "ttft_p95"}, need)
		if next.Variable != "requests" || !slices.Equal(next.Values, []string{want}) {
			t.Errorf("need %d: %s = %s, want requests = %s", need, next.Variable, next.Values, want)
		}
	}
}
