package telemetry

// Sockets are TCP counters of bench's own connections to the server (TCP_INFO of Linux), since the row began.
// Only segments that carry data are counted.
type Sockets struct {
	Open        int   `json:"open"` // connections now
	SegmentsOut int64 `json:"segments_out"`
	SegmentsIn  int64 `json:"segments_in"`
	Retransmits int64 `json:"retransmits"` // segments sent again
	// of them those that the server reported as duplicates (DSACK): it was slow, nothing was lost
	Needless   int64 `json:"retransmits_needless"`
	OutOfOrder int64 `json:"out_of_order"` // segments received out of order: a sign of loss on the way here

	WindowLimitedMs float64 `json:"window_limited_ms"` // sending waited for the server's receive window
	// lowest round trip of the open connections; absent: none open
	MinRTT *float64 `json:"rtt_min_ms,omitempty"`
	// mean of their smoothed round trips, which contain delayed acknowledgements
	RTT *float64 `json:"rtt_ms,omitempty"`
}

// SocketUsage are the counters of bench's own connections in a window: the field connections.sockets of
// <row>.json. It covers the readings around the window, so up to one interval more at either end.
type SocketUsage struct {
	Open        int   `json:"open_max"` // connections at the same time, at a reading
	SegmentsOut int64 `json:"segments_out"`
	SegmentsIn  int64 `json:"segments_in"`
	Retransmits int64 `json:"retransmits"`          // segments sent again
	Needless    int64 `json:"retransmits_needless"` // of them those that the server reported as duplicates (DSACK)
	OutOfOrder  int64 `json:"out_of_order"`         // segments received out of order

	// sending waited for the server's receive window, summed over connections
	WindowLimitedMs float64  `json:"window_limited_ms"`
	MinRTT          *float64 `json:"rtt_min_ms,omitempty"`  // lowest round trip
	RTT             *float64 `json:"rtt_mean_ms,omitempty"` // mean over the readings of the smoothed round trip
}

// SummarizeSockets summarizes the readings of a window, µs from the samples' epoch; nil: none.
func SummarizeSockets(samples []Sample, startUs, endUs int64) *SocketUsage {
	var from, to Sockets // from: at the last reading before the window; the row begins with 0
	u := &SocketUsage{}
	readings, rtts, rtt := 0, 0, 0.0
	for i := range samples {
		s := &samples[i]
		if s.Own == nil {
			continue
		}
		readings++
		if s.TUs <= startUs {
			from, to = *s.Own, *s.Own
			continue
		}
		to = *s.Own
		u.Open = max(u.Open, to.Open)
		if to.MinRTT != nil && (u.MinRTT == nil || *to.MinRTT < *u.MinRTT) {
			u.MinRTT = to.MinRTT
		}
		if to.RTT != nil {
			rtt += *to.RTT
			rtts++
		}
		if s.TUs >= endUs {
			break
		}
	}
	if readings == 0 {
		return nil
	}
	if rtts > 0 {
		u.RTT = new(Round(rtt/float64(rtts), 3))
	}
	u.SegmentsOut, u.SegmentsIn = to.SegmentsOut-from.SegmentsOut, to.SegmentsIn-from.SegmentsIn
	u.Retransmits, u.Needless = to.Retransmits-from.Retransmits, to.Needless-from.Needless
	u.OutOfOrder = to.OutOfOrder - from.OutOfOrder
	u.WindowLimitedMs = Round(to.WindowLimitedMs-from.WindowLimitedMs, 3)
	return u
}
