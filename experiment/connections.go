package experiment

import "math"

// MinConnections is the number of connections that the point certainly has open at the same time.
func (s *Spec) MinConnections() int {
	switch {
	case s.Closed():
		return s.Concurrency
	case !s.Rate.IsInf():
		return s.ConnectionsToOpen()
	case s.Concurrency > 0:
		return min(s.Concurrency, s.Requests)
	}
	return s.Requests
}

// ConnectionsToOpen is the number of connections to open before the first request: one for each request that
// can be in flight under a concurrency or all at once, else as the rate suggests. 0 for a point whose requests
// open their own.
func (s *Spec) ConnectionsToOpen() int {
	all := math.MaxInt
	if s.Concurrency > 0 {
		all = s.Concurrency
	}
	switch {
	case s.ConnectsPerRequest():
		return 0
	case s.Closed():
		return all
	case s.Rate.IsInf():
		return min(all, s.Warmup.Requests+s.Requests)
	}
	return min(all, connectionsOfRate(float64(s.Rate), all < math.MaxInt))
}

// connectionsOfRate is the number for an open loop: the arrivals of two seconds, but at most 1,024, or a quarter
// second's if more; under a cap at least 256.
func connectionsOfRate(rate float64, capped bool) int {
	const many, slow = 1024, 256
	ahead := min(math.Ceil(2*rate)+8, many)
	if capped {
		ahead = max(ahead, slow)
	}
	return int(max(ahead, math.Ceil(rate/4)))
}
