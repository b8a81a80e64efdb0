// Package collect takes the samples of package telemetry. WatchClient samples this process and its machine:
// each sample is the difference of two readings of /proc and the Go runtime. Sources (Open) are the server's
// metrics page and its GPUs; Sources.Watch samples them. HostLoad and ReadLimits are single readings.
//
// A figure that a source does not report is absent.
package collect

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"bench/experiment/telemetry"
)

type Load struct {
	InFlight int                // now
	Ended    int                // since the start
	LagMax   time.Duration      // largest client lag since the last call; negative: none
	Sockets  *telemetry.Sockets // of the requests' connections, since the start; nil: not read
}

// WatchClient samples this process and its machine until ctx ends, and then once more. It calls each with
// every sample, in order, on the caller's goroutine; each may keep the sample. It calls load for every
// sample; nil: no requests. server is the server under test; nil: on another machine, or not found.
func WatchClient(ctx context.Context, server *ServerProcesses, load func() Load, each func(telemetry.Sample)) {
	s := newSampler("/proc")
	s.server = server
	defer s.close()
	s.watch(ctx, load, each)
}

func (s *sampler) watch(ctx context.Context, load func() Load, each func(telemetry.Sample)) {
	before, now := new(reading), new(reading)
	s.read(before, load)
	timer := time.NewTimer(telemetry.ClientInterval(0))
	defer timer.Stop()
	for ended := false; !ended; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			ended = true
		}
		s.read(now, load)
		each(difference(before, now))
		timer.Reset(telemetry.ClientInterval(now.cost))
		before, now = now, before
	}
}

type sampler struct {
	runtime []metrics.Sample
	procfs  procfs // of the system
	server  *ServerProcesses
}

func newSampler(proc string) *sampler {
	return &sampler{runtime: []metrics.Sample{{Name: "/sched/latencies:seconds"}}, procfs: openProcfs(proc)}
}

func (s *sampler) close() { s.procfs.close() }

func (s *sampler) read(r *reading, load func() Load) {
	runtime.LockOSThread() // cost is CPU time of a thread
	defer runtime.UnlockOSThread()
	start := threadTime()
	r.at = time.Now()
	r.user, r.system = processTime()
	s.procfs.read(r, s.server)
	s.readRuntime(r)
	r.load = nil
	if load != nil {
		r.load = new(load())
	}
	r.cost = threadTime() - start
}

// readRuntime reads the Go runtime without stopping the world, unlike runtime.ReadMemStats.
func (s *sampler) readRuntime(r *reading) {
	metrics.Read(s.runtime)
	if v := s.runtime[0].Value; v.Kind() == metrics.KindFloat64Histogram {
		h := v.Float64Histogram() // the next reading overwrites it
		r.sched.Counts, r.sched.Buckets = append(r.sched.Counts[:0], h.Counts...), h.Buckets
	}
}

// reading is one reading of the counters. A nil pointer, list or map was not reported.
type reading struct {
	at   time.Time
	cost time.Duration // CPU time of the reading; 0: unknown

	user, system *time.Duration           // CPU time of the process since its start
	delays       map[int]time.Duration    // run-queue waits by thread
	cores        []coreTicks              //
	pressure     *time.Duration           // in which some task of the machine waited for a core
	server       *serverReading           // nil: no server of this machine is known
	sched        metrics.Float64Histogram // Buckets belongs to the runtime
	load         *Load
}

func difference(a, b *reading) telemetry.Sample {
	span := b.at.Sub(a.at)
	s := telemetry.Sample{Source: telemetry.SourceClient, At: b.at, Span: span.Microseconds()}
	if b.cost > 0 {
		s.Cost = new(telemetry.Round(float64(b.cost)/1e3, 1))
	}
	s.UserCores, s.SystemCores = rate(a.user, b.user, span), rate(a.system, b.system, span)
	if a.delays != nil && b.delays != nil {
		s.RunDelay = new(perTime(threadTimes(a.delays, b.delays), span))
	}
	s.CoreBusy, s.Steal = coreShares(a.cores, b.cores)
	s.CPUPressure = rate(a.pressure, b.pressure, span)
	if x, y := a.server, b.server; x != nil && y != nil {
		s.ServerCPUPressure = rate(x.pressure, y.pressure, span)
		if x.delays != nil && y.delays != nil {
			s.ServerCores, s.ServerRunDelay = new(perTime(threadTimes(x.cpu, y.cpu),
				span)), new(perTime(threadTimes(x.delays, y.delays), span))
		}
	}
	s.Sched = histogramDelta(&a.sched, &b.sched)
	if a.load != nil && b.load != nil {
		s.Own = b.load.Sockets
		s.InFlight, s.Ended = new(b.load.InFlight), new(b.load.Ended-a.load.Ended)
		if b.load.LagMax >= 0 {
			s.LagMax = new(telemetry.Round(b.load.LagMax.Seconds()*1e3, 3))
		}
	}
	return s
}

// threadTimes is what a counter of all threads grew between two readings. The last part of a thread that ended is
// lost; a counter that fell belongs to a new thread.
func threadTimes(a, b map[int]time.Duration) time.Duration {
	var sum time.Duration
	for id, now := range b {
		if before := a[id]; before <= now {
			now -= before
		}
		sum += now
	}
	return sum
}

// coreShares is the busy share of each core, and the CPU steal of all, relative to the ticks counted by the
// kernel. A core without a tick is idle.
func coreShares(a, b []coreTicks) (shares []float64, steal *float64) {
	if len(a) != len(b) || len(b) == 0 { // a core was added or removed
		return nil, nil
	}
	var stolen, all float64
	for i := range b {
		d := b[i].since(a[i])
		total := d.busy + d.idle + d.steal
		shares = append(shares, telemetry.Round(d.busy/max(total, 1), 3))
		stolen += d.steal
		all += total
	}
	return shares, new(telemetry.Round(stolen/max(all, 1), 4))
}

// histogramDelta lists the non-empty buckets of the difference of two histograms: [upper edge in µs, count].
func histogramDelta(a, b *metrics.Float64Histogram) [][2]float64 {
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
		out = append(out, [2]float64{telemetry.Round(edge*1e6, 3), float64(n)})
	}
	return out
}

func rate(a, b *time.Duration, span time.Duration) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(perTime(*b-*a, span))
}

// perTime is d / span to four digits. More digits are noise and enlarge the file.
func perTime(d, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return telemetry.Round(float64(max(d, 0))/float64(span), 4)
}
