package endpoint

import (
	"math"
	"sync/atomic"
)

// digest is a latency as it comes in: how often it fell into each of many ranges that are 1 % wide. It takes 9 KiB for any
// number of values, and adding and reading never wait for each other; so a display costs what it measures next to nothing.
type digest struct {
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
func (d *digest) add(us int64) {
	d.ranges[rangeOf(us)].Add(1)
	d.max.Store(max(d.max.Load(), us))
	d.n.Add(1)
}

// quantile is in µs, right within half a percent; 0 without a value.
func (d *digest) quantile(p float64) float64 {
	rank := int64(math.Ceil(p * float64(d.n.Load())))
	seen := int64(0)
	for i := range d.ranges {
		if seen += int64(d.ranges[i].Load()); seen >= rank && seen > 0 {
			if i == 0 {
				return 0
			}
			return min(math.Pow(1.01, float64(i)-0.5), float64(d.max.Load()))
		}
	}
	return 0
}
