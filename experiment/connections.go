package experiment

import (
	"math"
)

// atOnce is how many connections a point surely has at the same time.
func (s *Spec) AtOnce() int {
	switch {
	case s.Rate == 0:
		return s.Concurrency
	case !s.Rate.IsInf():
		return s.ConnectionsAhead()
	case s.Concurrency > 0:
		return min(s.Concurrency, s.Requests)
	}
	return s.Requests
}

// connections is how many the point needs at once, as far as that is known beforehand.
func (s *Spec) ConnectionsAhead() int {
	const most = 1024
	switch {
	case s.Fresh():
		return 0
	case s.Concurrency > 0:
		return min(s.Concurrency, most)
	case s.Rate.IsInf():
		return min(s.Warmup.Requests+s.Requests, most)
	}
	return min(int(math.Ceil(2*float64(s.Rate)))+8, 256) // two seconds' worth of arrivals
}
