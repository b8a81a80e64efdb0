package telemetry

import (
	"cmp"
	"math"
	"runtime"
	"slices"
)

// Usage is what the client was seen to do in a window: the field client of <row>.json. Means are over
// time. It is made of the samples most of whose interval lies in the window; what none of them tells is
// absent. Figures marked "machine" are of all its processes, or of the container's network.
type Usage struct {
	Samples  int     `json:"samples"`
	SpanS    float64 `json:"span_s"`     // time that they cover
	MaxProcs int     `json:"gomaxprocs"` // cores that the process could use at once

	CPUMean     *float64 `json:"cpu_cores_mean,omitempty"`       // CPU seconds of the process per second
	CPUMax      *float64 `json:"cpu_cores_max,omitempty"`        // in the busiest interval
	Sampling    *float64 `json:"sampling_cores,omitempty"`       // what of it was spent on the samples
	RunDelay    *float64 `json:"run_delay,omitempty"`            // threads of the process that were ready and had no core, on average
	MachineBusy *float64 `json:"machine_busy,omitempty"`         // machine: share of the time in which cores were neither idle nor stolen, mean of all
	CoreBusyMax *float64 `json:"core_busy_max,omitempty"`        // machine: the same, of the busiest core
	Steal       *float64 `json:"steal,omitempty"`                // machine: share of the cores' time that the hypervisor gave to others
	SchedP50    *float64 `json:"sched_latency_p50_ms,omitempty"` // ready goroutines' wait to run, upper edge of the runtime's bucket
	SchedP99    *float64 `json:"sched_latency_p99_ms,omitempty"`
	SchedMax    *float64 `json:"sched_latency_max_ms,omitempty"`

	GCs       int     `json:"gcs"`               // garbage collections
	GCPauses  float64 `json:"gc_pause_total_ms"` // in which the world was stopped for them
	GCLongest float64 `json:"gc_pause_max_ms"`   // of one collection
	HeapMiB   float64 `json:"heap_max_mib"`      // objects, live and not yet swept
	Routines  int     `json:"goroutines_max"`

	Files       *int   `json:"fds_max,omitempty"`              // open file descriptors of the process
	Sockets     *int   `json:"tcp_sockets_max,omitempty"`      // machine: TCP sockets in use
	TimeWait    *int   `json:"tcp_time_wait_max,omitempty"`    // machine: closed ones that still hold their port
	SegmentsOut *int64 `json:"segments_out,omitempty"`         // machine: TCP segments sent
	SegmentsIn  *int64 `json:"segments_in,omitempty"`          // machine: TCP segments received
	Retransmits *int64 `json:"retransmits,omitempty"`          // machine: TCP segments sent again
	Needless    *int64 `json:"retransmits_needless,omitempty"` // machine: of them, those that the other end had already: it was only slow to say so
	Closed      *int64 `json:"zero_windows,omitempty"`         // machine: times that a reader here was so late that its sender was told to stop
	Timeouts    *int64 `json:"tcp_timeouts,omitempty"`         // machine: retransmission timers that ran out
	OutOfOrder  *int64 `json:"out_of_order,omitempty"`         // machine: segments that came before one that was sent earlier
}

// Summarize is over the client's samples of a window, µs from the same epoch as theirs; nil = there is none.
func Summarize(samples []Sample, startUs, endUs int64) *Usage {
	var in []Sample
	for _, s := range samples {
		if middle := s.TUs - s.Span/2; middle >= startUs && middle < endUs && s.Span > 0 && s.Source == SourceClient {
			in = append(in, s)
		}
	}
	if len(in) == 0 {
		return nil
	}
	u := &Usage{Samples: len(in), MaxProcs: runtime.GOMAXPROCS(0)}
	for i := range in {
		u.SpanS += float64(in[i].Span) / 1e6
	}
	u.SpanS = Round(u.SpanS, 6)
	u.processor(in)
	u.goruntime(in)
	u.network(in)
	return u
}

func (u *Usage) processor(in []Sample) {
	cpu := func(s *Sample) *float64 {
		if s.UserCores == nil || s.SystemCores == nil {
			return nil
		}
		return new(*s.UserCores + *s.SystemCores)
	}
	u.CPUMean, u.CPUMax = mean(in, cpu), highest(in, cpu)
	u.Sampling = mean(in, func(s *Sample) *float64 {
		if s.Cost == nil {
			return nil
		}
		return new(*s.Cost / float64(s.Span))
	})
	u.RunDelay = mean(in, func(s *Sample) *float64 { return s.RunDelay })
	u.Steal = mean(in, func(s *Sample) *float64 { return s.Steal })
	u.cores(in)
}

// cores says how busy the machine's cores were: all of them, and the busiest.
func (u *Usage) cores(in []Sample) {
	n, all := 0, 0.0
	for i := range in {
		n = max(n, len(in[i].CoreBusy))
	}
	var busiest float64
	for core := range n {
		share := *mean(in, func(s *Sample) *float64 {
			if core >= len(s.CoreBusy) {
				return nil
			}
			return &s.CoreBusy[core]
		})
		all += share
		busiest = max(busiest, share)
	}
	if n > 0 {
		u.MachineBusy, u.CoreBusyMax = new(Round(all/float64(n), 4)), &busiest
	}
}

func (u *Usage) goruntime(in []Sample) {
	waits := merge(in)
	u.SchedP50, u.SchedP99, u.SchedMax = WaitQuantile(waits, 0.5), WaitQuantile(waits, 0.99), WaitQuantile(waits, 1)
	for i := range in {
		s := &in[i] // the Go runtime tells all of these, always
		u.GCs += *s.GCs
		u.GCPauses = Round(u.GCPauses+*s.GCPauses, 3)
		u.GCLongest = max(u.GCLongest, *s.GCLongest)
		u.HeapMiB = max(u.HeapMiB, *s.HeapMiB)
		u.Routines = max(u.Routines, *s.Routines)
	}
}

func (u *Usage) network(in []Sample) {
	u.Files = highest(in, func(s *Sample) *int { return s.Files })
	u.Sockets = highest(in, func(s *Sample) *int { return s.Sockets })
	u.TimeWait = highest(in, func(s *Sample) *int { return s.TimeWait })
	u.SegmentsOut = sum(in, func(s *Sample) *int64 { return s.SegmentsOut })
	u.SegmentsIn = sum(in, func(s *Sample) *int64 { return s.SegmentsIn })
	u.Retransmits = sum(in, func(s *Sample) *int64 { return s.Retransmits })
	u.Needless = sum(in, func(s *Sample) *int64 { return s.Needless })
	u.Closed = sum(in, func(s *Sample) *int64 { return s.Closed })
	u.Timeouts = sum(in, func(s *Sample) *int64 { return s.Timeouts })
	u.OutOfOrder = sum(in, func(s *Sample) *int64 { return s.OutOfOrder })
}

// mean is over the time of the samples that have the figure.
func mean(in []Sample, of func(*Sample) *float64) *float64 {
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

func highest[T int | float64](in []Sample, of func(*Sample) *T) *T {
	var most *T
	for i := range in {
		if x := of(&in[i]); x != nil && (most == nil || *x > *most) {
			most = x
		}
	}
	return most
}

// sum is nil where one of the samples lacks the figure: a part of it would look like all.
func sum(in []Sample, of func(*Sample) *int64) *int64 {
	var total int64
	for i := range in {
		x := of(&in[i])
		if x == nil {
			return nil
		}
		total += *x
	}
	return &total
}

// merge adds up the waits of the samples, in the order of their edges.
func merge(in []Sample) [][2]float64 {
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

// quantile is the upper edge in ms below which the share p of the waits lies; nil = there are none.
func WaitQuantile(buckets [][2]float64, p float64) *float64 {
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
