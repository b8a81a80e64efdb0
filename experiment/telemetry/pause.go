package telemetry

import "time"

const (
	// clientInterval is short enough to show a stall of a second, and long enough to be cheap.
	clientInterval = 250 * time.Millisecond
	// clientShare is the largest share of a core for sampling: beyond it the interval grows. Large machines
	// have large files in /proc.
	clientShare = 0.002
	// clientMaxInterval is the longest interval at any cost.
	clientMaxInterval = 5 * time.Second
	// shortestPause is how late a sample of the client is after a pause: two intervals. A machine with eight
	// times as much work as cores delays samples by tens of ms.
	shortestPause = 2 * clientInterval
)

// ClientInterval is the time from a client sample that cost this much CPU time to the next; cost 0: unknown.
func ClientInterval(cost time.Duration) time.Duration {
	return min(max(clientInterval, time.Duration(float64(cost)/clientShare)), clientMaxInterval)
}

// Pause is a time in which the client did not run: it was stopped, or had no core. It began and ended between
// two samples of the client, the second one of which was late.
type Pause struct {
	FromUs int64 `json:"from_us"` // the sample before, µs from the row's epoch
	ToUs   int64 `json:"to_us"`   // the late sample
	LateUs int64 `json:"late_us"` // how late: the shortest possible length of the pause
}

// Length is the probable length in seconds; half of the sampling interval is the largest error.
func (p Pause) Length() float64 { return float64(p.LateUs+(p.ToUs-p.FromUs)) / 2 / 1e6 }

// pauses are the client's pauses that touch a window. The first sample follows a reading of unknown cost.
func pauses(samples []Sample, startUs, endUs int64) []Pause {
	var out []Pause
	wait := clientInterval
	for _, s := range samples {
		if s.Source != SourceClient {
			continue
		}
		late := time.Duration(s.Span)*time.Microsecond - wait
		p := Pause{FromUs: s.TUs - s.Span, ToUs: s.TUs, LateUs: late.Microseconds()}
		if late >= shortestPause && p.ToUs > startUs && p.FromUs < endUs {
			out = append(out, p)
		}
		wait = clientInterval
		if s.Cost != nil {
			wait = ClientInterval(time.Duration(*s.Cost * float64(time.Microsecond)))
		}
	}
	return out
}
