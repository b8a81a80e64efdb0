package twin

import (
	"math"
	"slices"
)

// How a router chooses the replica of a request.
const (
	RoundRobin  = "round-robin"
	LeastLoad   = "least-load"   // the fewest requests in flight
	PrefixAware = "prefix-aware" // the one that served the prefix last, unless far more is in flight there
)

// Routers are all of them, the default first.
var Routers = []string{RoundRobin, LeastLoad, PrefixAware}

// Fleet is equal replicas of a server behind a router.
type Fleet struct {
	Model    *Model
	Replicas int    // 0 = 1
	Router   string // empty = RoundRobin
	// CacheTokens is what one replica keeps of the prefixes that its requests share; 0 = all. A single server's
	// requests are cached as they state.
	CacheTokens int

	servers []*server
	next    int         // of the next round
	last    map[int]int // replica that served a prefix last
}

// Run is what the fleet makes of requests, as Model.Run.
func (f *Fleet) Run(requests []Request, workers int) []Request {
	return f.serve(slices.Clone(requests), workers)
}

// serve is Run in place.
func (f *Fleet) serve(out []Request, workers int) []Request {
	if n := len(out); workers == 0 && n > 0 && !(math.Abs(out[n-1].Arrival) <= math.MaxFloat64) {
		return out // an arrival that never comes
	}
	f.servers, f.next, f.last = nil, 0, map[int]int{}
	for range max(1, f.Replicas) {
		f.servers = append(f.servers, newServer(f.Model, out, f.CacheTokens))
	}
	var free []float64 // when workers are, in order
	known := 0         // requests that have been routed
	// no step of another server brings the next arrival forward
	apart := workers == 0 || len(f.servers) == 1
	for {
		arrival := math.Inf(1)
		switch {
		case known == len(out):
		case workers == 0 || known < workers:
			arrival = out[known].Arrival
		case len(free) > 0:
			arrival = free[0]
		}
		s, begins := f.first()
		if begins < arrival {
			if apart && s.decode(arrival) {
				continue
			}
			s.advance()
			for range s.endedLast * min(1, workers) {
				at, _ := slices.BinarySearch(free, math.Nextafter(s.now, math.Inf(1)))
				free = slices.Insert(free, at, s.now)
			}
			continue
		}
		if math.IsInf(arrival, 1) {
			return out
		}
		if workers > 0 && known >= workers {
			out[known].Arrival, free = arrival, free[1:]
		}
		f.route(known, &out[known])
		known++
	}
}

// first is the server whose next step begins first.
func (f *Fleet) first() (first *server, begins float64) {
	first, begins = f.servers[0], f.servers[0].begins()
	for _, s := range f.servers[1:] {
		if at := s.begins(); at < begins {
			first, begins = s, at
		}
	}
	return first, begins
}

func (f *Fleet) route(i int, r *Request) {
	n := len(f.servers)
	to := f.next
	switch f.Router {
	case LeastLoad:
		to = f.least(r.Arrival)
	case PrefixAware:
		if to = f.least(r.Arrival); r.Group != 0 {
			to = f.withPrefix(r, to)
		}
	}
	f.next = (to + 1) % n
	s := f.servers[to]
	s.waiting = append(s.waiting, i)
	if n > 1 && r.Group != 0 {
		r.Cached = min(r.Cached, s.cache.keep(r.Group, r.Prompt+r.Output))
	}
}

// least is the replica with the fewest requests in flight, of several the next one of the round.
func (f *Fleet) least(at float64) int {
	best, fewest := 0, math.MaxInt
	for k := range f.servers {
		i := (f.next + k) % len(f.servers)
		if n := f.servers[i].inFlight(at); n < fewest {
			best, fewest = i, n
		}
	}
	return best
}

// withPrefix is the replica that served the prefix last, if its load is not far above the least.
func (f *Fleet) withPrefix(r *Request, least int) int {
	const times, more = 1.5, 4 // the load of the least one that the prefix may cost
	to, ok := f.last[r.Group]
	if !ok || float64(f.servers[to].inFlight(r.Arrival)) >
		times*float64(f.servers[least].inFlight(r.Arrival))+more {
		to = least
	}
	f.last[r.Group] = to
	return to
}
