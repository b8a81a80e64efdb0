package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSummarizeSockets takes the counters from the reading before the window to the one after it.
func TestSummarizeSockets(t *testing.T) {
	at := func(us, n int64, rtt float64) Sample {
		return Sample{Source: SourceClient, TUs: us, Own: &Sockets{Open: int(n), RTT: &rtt, Segments: Segments{SegmentsOut: 10 * n,
			SegmentsIn: 100 * n, Retransmits: n, Needless: n / 2, OutOfOrder: 2 * n, WindowLimitedMs: float64(n), MinRTT: new(rtt / 2)}}}
	}
	samples := []Sample{at(100, 1, 9), at(200, 2, 9), {Source: SourceClient, TUs: 300}, at(400, 4, 0.5), at(500, 6, 1.5), at(600, 9, 9)}
	between := &SocketUsage{Open: 6, Segments: Segments{SegmentsOut: 40, SegmentsIn: 400, Retransmits: 4, Needless: 2, OutOfOrder: 8, WindowLimitedMs: 4, MinRTT: new(0.25)}, RTT: new(1.0)}
	all := &SocketUsage{Open: 9, Segments: Segments{SegmentsOut: 90, SegmentsIn: 900, Retransmits: 9, Needless: 4, OutOfOrder: 18, WindowLimitedMs: 9, MinRTT: new(0.25)}, RTT: new(5.8)}
	for name, c := range map[string]struct {
		start, end int64
		want       *SocketUsage
	}{
		"between readings":                     {250, 450, between},
		"from the row's start, over its end":   {0, 10_000, all},
		"before the first reading to the last": {50, 600, all},
	} {
		if diff := cmp.Diff(c.want, SummarizeSockets(samples, c.start, c.end)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if u := SummarizeSockets(samples[2:3], 0, 1000); u != nil {
		t.Errorf("no reading: %+v", u)
	}
}
