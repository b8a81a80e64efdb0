package endpoint

import (
	"math"
	"sync/atomic"
)

// latencyHistogram counts latencies in ranges that are 1 % wide. It takes 9 KiB for any number of values, and
// adding and reading never wait for each other, so that a display hardly costs anything.
type latencyHistogram struct {
	ranges [lastRange + 1]atomic.Uint32
	n      atomic.Int64
	max    atomic.Int64 // µs
}

// lastRange begins at 1.01^2315 µs, almost three hours.
const lastRange = 2316

// rangeOf is 0 below a microsecond.
func rangeOf(us int64) int {
	if us < 1 {
		return 0
	}
	return min(1+int(math.Log(float64(us))/math.Log(1.01)), lastRange)
}

// add is called from one goroutine.
func (h *latencyHistogram) add(us int64) {
	h.ranges[rangeOf(us)].Add(1)
	h.max.Store(max(h.max.Load(), us))
	h.n.Add(1)
}

// quantile is in µs, exact within half a percent; 0 without a value.
func (h *latencyHistogram) quantile(p float64) float64 {
	rank := int64(math.Ceil(p * float64(h.n.Load())))
	seen := int64(0)
	for i := range h.ranges {
		if seen += int64(h.ranges[i].Load()); seen >= rank && seen > 0 {
			if i == 0 {
				return 0
			}
			return min(math.Pow(1.01, float64(i)-0.5), float64(h.max.Load()))
		}
	}
	return 0
}
