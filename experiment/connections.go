package experiment

import (
	"math"
)

// MinConnections is the number of connections that the point certainly has open at the same time.
func (s *Spec) MinConnections() int {
	switch {
	case s.Rate == 0:
		return s.Concurrency
	case !s.Rate.IsInf():
		return s.ConnectionsToOpen()
	case s.Concurrency > 0:
		return min(s.Concurrency, s.Requests)
	}
	return s.Requests
}

// ConnectionsToOpen is the number of connections to open before the first request: the expected number of
// requests in flight. 0 for a point whose requests open their own.
func (s *Spec) ConnectionsToOpen() int {
	const most = 1024
	switch {
	case s.ConnectsPerRequest():
		return 0
	case s.Concurrency > 0:
		return min(s.Concurrency, most)
	case s.Rate.IsInf():
		return min(s.Warmup.Requests+s.Requests, most)
	}
	return min(int(math.Ceil(2*float64(s.Rate)))+8, 256) // the arrivals of two seconds
}
