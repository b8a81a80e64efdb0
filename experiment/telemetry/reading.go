package telemetry

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// reading is what the counters say at one moment. A nil pointer, list or map was not told.
type reading struct {
	at   time.Time
	cost time.Duration // CPU time of the reading; 0 = not known

	user, system *time.Duration           // of the process, since its start
	delays       map[int]time.Duration    // waits on the run queue by thread
	cores        []core                   //
	files        *int                     //
	sockets      sockets                  //
	segments     segments                 //
	sched        metrics.Float64Histogram // Buckets are the runtime's own
	gc           debug.GCStats            //
	heap         uint64                   // bytes
	routines     int
	load         *Load
}

// difference is the sample between two readings.
func difference(a, b *reading) Sample {
	span := b.at.Sub(a.at)
	s := Sample{Source: SourceClient, At: b.at, Span: span.Microseconds(), Routines: new(b.routines),
		HeapMiB: new(round(float64(b.heap)/(1<<20), 2)), Files: b.files, Sockets: b.sockets.used, TimeWait: b.sockets.timeWait}
	if b.cost > 0 {
		s.Cost = new(round(float64(b.cost)/1e3, 1))
	}
	s.UserCores, s.SystemCores = rate(a.user, b.user, span), rate(a.system, b.system, span)
	if a.delays != nil && b.delays != nil {
		s.Threads = new(len(b.delays))
		s.RunDelay = new(perSecond(waited(a.delays, b.delays), span))
	}
	s.CoreBusy, s.Steal = busy(a.cores, b.cores)
	s.Sched = buckets(&a.sched, &b.sched)
	s.SchedP50, s.SchedP99, s.SchedMax = quantile(s.Sched, 0.5), quantile(s.Sched, 0.99), quantile(s.Sched, 1)
	s.collections(&a.gc, &b.gc)
	s.SegmentsOut, s.SegmentsIn = increase(a.segments.out, b.segments.out), increase(a.segments.in, b.segments.in)
	s.Retransmits, s.Timeouts = increase(a.segments.again, b.segments.again), increase(a.segments.timeouts, b.segments.timeouts)
	s.OutOfOrder, s.Needless = increase(a.segments.outOfOrder, b.segments.outOfOrder), increase(a.segments.needless, b.segments.needless)
	s.Closed = increase(a.segments.closed, b.segments.closed)
	if a.load != nil && b.load != nil {
		s.InFlight, s.Ended = new(b.load.InFlight), new(b.load.Ended-a.load.Ended)
		if b.load.LagMax >= 0 {
			s.LagMax = new(round(b.load.LagMax.Seconds()*1e3, 3))
		}
	}
	return s
}

// collections adds the garbage collections that ended between two readings.
func (s *Sample) collections(a, b *debug.GCStats) {
	n, longest := int(b.NumGC-a.NumGC), 0.0
	for _, p := range b.Pause[:min(n, len(b.Pause))] { // the latest first
		longest = max(longest, round(p.Seconds()*1e3, 3))
	}
	s.GCs, s.GCLongest = &n, &longest
	s.GCPauses = new(round((b.PauseTotal-a.PauseTotal).Seconds()*1e3, 3))
}

// waited is how long threads waited between two readings. One that ended since the first takes its last
// wait with it; a number that begins again belongs to a new thread.
func waited(a, b map[int]time.Duration) time.Duration {
	var sum time.Duration
	for id, now := range b {
		if before := a[id]; before <= now {
			now -= before
		}
		sum += now
	}
	return sum
}

// busy is the share of the time in which each core did something, and what others had of all of them,
// in proportion to the time that the kernel accounts for. No tick between two readings: idle.
func busy(a, b []core) (shares []float64, steal *float64) {
	if len(a) != len(b) || len(b) == 0 { // a core came or went
		return nil, nil
	}
	var stolen, all float64
	for i := range b {
		d := b[i].since(a[i])
		total := d.busy + d.idle + d.steal
		shares = append(shares, round(d.busy/max(total, 1), 3))
		stolen += d.steal
		all += total
	}
	return shares, new(round(stolen/max(all, 1), 4))
}

// buckets is how often each wait occurred between two readings, but for those that did not.
func buckets(a, b *metrics.Float64Histogram) [][2]float64 {
	var out [][2]float64
	for i, n := range b.Counts {
		if i < len(a.Counts) {
			n -= a.Counts[i]
		}
		if n == 0 {
			continue
		}
		edge := b.Buckets[i+1]
		if math.IsInf(edge, 1) {
			edge = b.Buckets[i]
		}
		out = append(out, [2]float64{round(edge*1e6, 3), float64(n)})
	}
	return out
}

// quantile is the upper edge in ms below which the share p of the waits lies; nil = there are none.
func quantile(buckets [][2]float64, p float64) *float64 {
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

func rate(a, b *time.Duration, span time.Duration) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(perSecond(*b-*a, span))
}

// perSecond is a time per time, to four digits: more is noise, and costs room in the file.
func perSecond(d, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return round(float64(max(d, 0))/float64(span), 4)
}

// increase is that of a counter. One that fell was reset, and says nothing.
func increase(a, b *int64) *int64 {
	if a == nil || b == nil || *b < *a {
		return nil
	}
	return new(*b - *a)
}

func round(x float64, digits int) float64 {
	f := math.Pow10(digits)
	return math.Round(x*f) / f
}
