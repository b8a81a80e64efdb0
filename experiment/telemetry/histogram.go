package telemetry

import "math"

// Histogram is one reading of a histogram of the server's latencies: totals since its start.
type Histogram struct {
	Count float64 `json:"n"`
	Sum   float64 `json:"sum_s"`
	// Buckets are the finite upper edges in s, ascending, each with the number of values up to it.
	Buckets [][2]float64 `json:"buckets,omitempty"`
}

// TimeReading is one reading of the server's latency histograms. nil: not reported.
type TimeReading struct {
	TTFT    *Histogram `json:"ttft,omitempty"`    // from the arrival at the server to the first token
	Queue   *Histogram `json:"queue,omitempty"`   // until the request is scheduled
	Prefill *Histogram `json:"prefill,omitempty"` // from being scheduled to the first token
	Decode  *Histogram `json:"decode,omitempty"`  // from the first token to the last
	E2E     *Histogram `json:"e2e,omitempty"`     // from the arrival to the last token
}

// ServerTimes are latencies as the server measures them: vLLM's and SGLang's histograms. nil: not reported.
type ServerTimes struct {
	TTFT    *ServerTime `json:"ttft_ms,omitempty"`    // from the arrival at the server to the first token
	Queue   *ServerTime `json:"queue_ms,omitempty"`   // until the request is scheduled
	Prefill *ServerTime `json:"prefill_ms,omitempty"` // from being scheduled to the first token
	Decode  *ServerTime `json:"decode_ms,omitempty"`  // from the first token to the last
	E2E     *ServerTime `json:"e2e_ms,omitempty"`     // from the arrival to the last token
}

// ServerTime is one histogram over a window, ms. The mean is exact; a percentile lies within a bucket of the
// histogram, and is null if that bucket has no end.
type ServerTime struct {
	N    int         `json:"n"` // requests
	Mean float64     `json:"mean"`
	P50  *[2]float64 `json:"p50,omitempty"` // edges of its bucket
	P95  *[2]float64 `json:"p95,omitempty"`
	P99  *[2]float64 `json:"p99,omitempty"`
}

// Fields are in the order of ServerTimes.fields.
func (t *TimeReading) Fields() []**Histogram {
	return []**Histogram{&t.TTFT, &t.Queue, &t.Prefill, &t.Decode, &t.E2E}
}

func (t *ServerTimes) fields() []**ServerTime {
	return []**ServerTime{&t.TTFT, &t.Queue, &t.Prefill, &t.Decode, &t.E2E}
}

// timesBetween are the latencies between two readings. A histogram that only the later one has began at 0: some
// servers list a histogram from its first value on. reset: a count fell.
func timesBetween(a, b *TimeReading) (out ServerTimes, reset bool) {
	before, after := a.Fields(), b.Fields()
	for i, field := range out.fields() {
		if *after[i] == nil {
			continue
		}
		from := *before[i]
		if from == nil {
			from = &Histogram{}
		}
		var fell bool
		*field, fell = (*after[i]).since(from)
		reset = reset || fell
	}
	return out, reset
}

// since is the histogram of the values since an earlier reading; nil: no values, or a reset.
func (h *Histogram) since(a *Histogram) (t *ServerTime, reset bool) {
	n, sum := h.Count-a.Count, h.Sum-a.Sum
	if n < 0 || sum < 0 {
		return nil, true
	}
	if n < 1 {
		return nil, false
	}
	t = &ServerTime{N: int(math.Round(n)), Mean: Round(1e3*sum/n, 3)}
	edges, counts := h.increments(a)
	t.P50, t.P95, t.P99 = bucketOf(edges, counts, 0.5*n), bucketOf(edges, counts, 0.95*n), bucketOf(edges, counts,
		0.99*n)
	return t, false
}

// increments are the upper edges in s and the values up to each since a; none if the edges changed.
func (h *Histogram) increments(a *Histogram) (edges, counts []float64) {
	if len(a.Buckets) != len(h.Buckets) && len(a.Buckets) > 0 {
		return nil, nil
	}
	for i, b := range h.Buckets {
		n := b[1]
		if len(a.Buckets) > 0 {
			if a.Buckets[i][0] != b[0] {
				return nil, nil
			}
			n -= a.Buckets[i][1]
		}
		edges, counts = append(edges, b[0]), append(counts, n)
	}
	return edges, counts
}

// bucketOf are the edges in ms of the bucket with the value of a rank; nil: the bucket without an end.
func bucketOf(edges, counts []float64, rank float64) *[2]float64 {
	below := 0.0
	for i, edge := range edges {
		if counts[i] >= rank {
			return &[2]float64{Round(1e3*below, 6), Round(1e3*edge, 6)}
		}
		below = max(below, edge)
	}
	return nil
}
