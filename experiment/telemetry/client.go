package telemetry

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"time"
)

// Usage is the resource usage of the client in a window: the field client of <row>.json. Means are over time.
// It covers the samples with at least half of their interval in the window. Figures without samples are
// absent. Figures marked "machine" include all processes of the machine, or the network of the container.
type Usage struct {
	Samples  int     `json:"samples"`
	SpanS    float64 `json:"span_s"`     // time covered by the samples
	MaxProcs int     `json:"gomaxprocs"` // GOMAXPROCS: cores that the process may use

	LongestGap *float64 `json:"longest_gap_ms,omitempty"` // longest interval of a sample
	Pauses     []Pause  `json:"pauses,omitempty"`         // that touch the window

	CPUMean *float64 `json:"cpu_cores_mean,omitempty"` // CPU seconds of the process per second
	// mean number of runnable threads of the process without a core
	RunDelay *float64 `json:"run_delay,omitempty"`
	// machine: mean busy share of the cores, without idle time and CPU steal
	MachineBusy *float64 `json:"machine_busy,omitempty"`
	Steal       *float64 `json:"steal,omitempty"` // machine: CPU steal, share of the cores' time
	// StealMaxMs is the longest time without a break that CPU steal can have taken from one core: all of the
	// machine's in two adjacent samples, ms. No timestamp is later than that.
	StealMaxMs *float64 `json:"steal_max_ms,omitempty"`

	// machine: share of time in which some task waited for a core
	CPUPressure *float64 `json:"cpu_pressure,omitempty"`
	// machine: cores used by processes other than the client and a local server
	OtherCores     *float64 `json:"other_cores,omitempty"`
	ServerCores    *float64 `json:"server_cores,omitempty"`     // CPU seconds of a local server per second
	ServerRunDelay *float64 `json:"server_run_delay,omitempty"` // mean number of its runnable threads without a core
	// bound on the share of time in which it waited for a core
	CPUWait *CPUWait `json:"server_cpu_wait,omitempty"`

	// scheduling latency of goroutines, upper edge of the Go runtime's bucket
	SchedP99 *float64 `json:"sched_latency_p99_ms,omitempty"`
	SchedMax *float64 `json:"sched_latency_max_ms,omitempty"`
}

// Summarize summarizes the client's samples of a window, µs from the samples' epoch; nil: no samples.
func Summarize(samples []Sample, startUs, endUs int64) *Usage {
	var in []Sample
	for _, s := range samples {
		if middle := s.TUs - s.Span/2; middle >= startUs && middle < endUs && s.Span > 0 && s.Source == SourceClient {
			in = append(in, s)
		}
	}
	paused := pauses(samples, startUs, endUs)
	if len(in)+len(paused) == 0 {
		return nil
	}
	u := &Usage{Samples: len(in), MaxProcs: runtime.GOMAXPROCS(0), Pauses: paused}
	longest := int64(0)
	for i := range in {
		u.SpanS += float64(in[i].Span) / 1e6
		longest = max(longest, in[i].Span)
	}
	for _, p := range paused {
		longest = max(longest, p.ToUs-p.FromUs)
	}
	u.SpanS, u.LongestGap = Round(u.SpanS, 6), new(Round(float64(longest)/1e3, 3))
	u.processor(in)
	return u
}

func (u *Usage) processor(in []Sample) {
	cpu := func(s *Sample) *float64 {
		if s.UserCores == nil || s.SystemCores == nil {
			return nil
		}
		return new(*s.UserCores + *s.SystemCores)
	}
	u.CPUMean = timeMean(in, cpu)
	u.RunDelay = timeMean(in, func(s *Sample) *float64 { return s.RunDelay })
	u.Steal = timeMean(in, func(s *Sample) *float64 { return s.Steal })
	u.StealMaxMs = longestSteal(in)
	u.CPUPressure = timeMean(in, func(s *Sample) *float64 { return s.CPUPressure })
	u.OtherCores = timeMean(in, otherCores)
	u.ServerCores = timeMean(in, func(s *Sample) *float64 { return s.ServerCores })
	u.ServerRunDelay = timeMean(in, func(s *Sample) *float64 { return s.ServerRunDelay })
	u.CPUWait = cpuWait(in)
	u.MachineBusy = machineBusy(in)
	waits := mergeHistograms(in)
	u.SchedP99, u.SchedMax = waitQuantile(waits, 0.99), waitQuantile(waits, 1)
}

// longestSteal is nil if no sample reports CPU steal. A break that two samples share is in both.
func longestSteal(in []Sample) *float64 {
	var longest *float64
	last := 0.0
	for i := range in {
		s := &in[i]
		if s.Steal == nil {
			last = 0
			continue
		}
		span := float64(s.Span) / 1e3
		now := 0.0
		if *s.Steal > 0 {
			now = span
		}
		if n := len(s.CoreBusy); n > 0 {
			now = min(span, *s.Steal*float64(n)*span)
		}
		if longest == nil || last+now > *longest {
			longest = new(Round(last+now, 3))
		}
		last = now
	}
	return longest
}

func machineBusy(in []Sample) *float64 {
	n, all := 0, 0.0
	for i := range in {
		n = max(n, len(in[i].CoreBusy))
	}
	for core := range n {
		all += *timeMean(in, func(s *Sample) *float64 {
			if core >= len(s.CoreBusy) {
				return nil
			}
			return &s.CoreBusy[core]
		})
	}
	if n == 0 {
		return nil
	}
	return new(Round(all/float64(n), 4))
}

// timeMean is weighted by the intervals of the samples that have the figure.
func timeMean(in []Sample, of func(*Sample) *float64) *float64 {
	var sum, time float64
	for i := range in {
		if x := of(&in[i]); x != nil {
			sum += *x * float64(in[i].Span)
			time += float64(in[i].Span)
		}
	}
	if time == 0 {
		return nil
	}
	return new(Round(sum/time, 4))
}

func mergeHistograms(in []Sample) [][2]float64 {
	count := map[float64]float64{}
	for i := range in {
		for _, b := range in[i].Sched {
			count[b[0]] += b[1]
		}
	}
	var out [][2]float64
	for edge, n := range count {
		out = append(out, [2]float64{edge, n})
	}
	slices.SortFunc(out, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// waitQuantile is the upper edge, in ms, of the bucket with the quantile p of Sample.Sched; nil: no counts.
func waitQuantile(buckets [][2]float64, p float64) *float64 {
	var n, sum float64
	for _, b := range buckets {
		n += b[1]
	}
	for _, b := range buckets {
		if sum += b[1]; sum >= p*n {
			return new(b[0] / 1e3)
		}
	}
	return nil
}

func Round(x float64, digits int) float64 {
	f := math.Pow10(digits)
	return math.Round(x*f) / f
}

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

// Sockets are TCP counters of bench's own connections to the server (TCP_INFO of Linux), since the row began.
type Sockets struct {
	Open int `json:"open"` // connections now
	Segments
	// mean of their smoothed round trips, which contain delayed acknowledgements
	RTT *float64 `json:"rtt_ms,omitempty"`
}

// Segments are counters of sockets. Only segments that carry data are counted.
type Segments struct {
	SegmentsOut int64 `json:"segments_out"`
	SegmentsIn  int64 `json:"segments_in"`
	Retransmits int64 `json:"retransmits"` // segments sent again
	// of them those that the server reported as duplicates (DSACK): it was slow, nothing was lost
	Needless   int64 `json:"retransmits_needless"`
	OutOfOrder int64 `json:"out_of_order"` // segments received out of order: a sign of loss on the way here

	WindowLimitedMs float64 `json:"window_limited_ms"` // sending waited for the server's receive window
	// lowest round trip of the open connections; absent: none open
	MinRTT *float64 `json:"rtt_min_ms,omitempty"`
}

// SocketUsage are the counters of bench's own connections in a window: the field connections.sockets of
// <row>.json. It covers the readings around the window, so up to one interval more at either end.
type SocketUsage struct {
	Open int `json:"open_max"` // connections at the same time, at a reading
	Segments
	RTT *float64 `json:"rtt_mean_ms,omitempty"` // mean over the readings of the smoothed round trip
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
