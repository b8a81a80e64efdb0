package verdict

import "bench/experiment/record"

const (
	// lossy is a tenth of the share that would move p99: a loss delays its stream by a round trip, or by 200 ms.
	lossy     = 0.001
	minLosses = 5
)

// checkNetwork tests the TCP counters of bench's own connections. A segment out of order means that one before it was
// late or lost.
func checkNetwork(e *Measured) checkResult {
	s := e.Connections.Sockets
	if s == nil || s.SegmentsOut == 0 && s.SegmentsIn == 0 {
		return noData
	}
	const hint = "measure on a quiet network, or on the server's host; ss -tin shows the connections (retrans, rcv_ooopack)"
	again := max(0, s.Retransmits-s.Needless) // tail loss probes to a slow server are needless
	f := passed()
	if losing(again, s.SegmentsOut) {
		f = caution(hint, "%d of %d TCP segments of the requests were retransmitted: these requests arrived late",
			again, s.SegmentsOut).
			touching(onRequests(record.Inflated, int(again), firstToken, lastToken))
	}
	if losing(s.OutOfOrder, s.SegmentsIn) {
		return f.and(caution(hint,
			"%d of %d TCP segments of the answers arrived out of order: some were lost, and their streams stalled",
			s.OutOfOrder, s.SegmentsIn).
			touching(onRequests(record.Inflated, int(s.OutOfOrder), firstToken, lastToken),
				onRequests(record.Unknown, int(s.OutOfOrder), betweenIt))) // a late first token lowers tpot
	}
	return f
}

func losing(n, of int64) bool { return n >= minLosses && float64(n) > lossy*float64(of) }
