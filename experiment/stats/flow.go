package stats

type Flow struct {
	Arrived, Ended float64 // requests
	Window         float64 // s
	Stay           float64 // mean time of a request in the server, s
}

const stays = 5 // requests' mean times in the server, in the shortest window that shows a steady state

// Steady reports whether a window can show the steady state of its load: it is long beside a request, and nearly as
// many requests ended as arrived. Latencies of a server that still fills up are too low.
func (f Flow) Steady() bool { return f.Ended >= 0.9*f.Arrived && f.Window >= stays*f.Stay }
