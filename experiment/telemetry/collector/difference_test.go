package collector

import (
	"bench/experiment/telemetry"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBuckets(t *testing.T) {
	edges := []float64{math.Inf(-1), 0, 1e-6, 2e-6, math.Inf(1)}
	a := &metrics.Float64Histogram{Counts: []uint64{0, 5, 7, 1}, Buckets: edges}
	b := &metrics.Float64Histogram{Counts: []uint64{0, 8, 7, 3}, Buckets: edges}
	if diff := cmp.Diff([][2]float64{{1, 3}, {2, 2}}, histogramDelta(a, b)); diff != "" { // no upper edge: the lower one
		t.Error(diff)
	}
}

func TestCollections(t *testing.T) {
	ms := time.Millisecond
	a := &debug.GCStats{NumGC: 7, PauseTotal: 10 * ms, Pause: []time.Duration{9 * ms, 1 * ms}}
	b := &debug.GCStats{NumGC: 9, PauseTotal: 13 * ms, Pause: []time.Duration{1 * ms, 2 * ms, 9 * ms, 1 * ms}}
	var s telemetry.Sample
	if addCollections(&s, a, b); *s.GCs != 2 || *s.GCPauses != 3 || *s.GCLongest != 2 {
		t.Errorf("%d, %g ms, longest %g ms", *s.GCs, *s.GCPauses, *s.GCLongest)
	}
	s = telemetry.Sample{}
	if addCollections(&s, b, b); *s.GCs != 0 || *s.GCPauses != 0 || *s.GCLongest != 0 {
		t.Errorf("none: %d, %g ms, longest %g ms", *s.GCs, *s.GCPauses, *s.GCLongest)
	}
}
