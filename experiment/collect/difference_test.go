package collect

import (
	"math"
	"runtime/metrics"
	"testing"

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
