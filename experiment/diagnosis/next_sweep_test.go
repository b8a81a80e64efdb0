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
	next := moreRequests(&s, &s.Points[0], &record.Verdict{Metric: "ttft_p95"}, 50)
	if want := []string{"750"}; next.Variable != "requests" || !slices.Equal(next.Values, want) {
		t.Errorf("%s = %s, want requests = %s", next.Variable, next.Values, want)
	}
}
