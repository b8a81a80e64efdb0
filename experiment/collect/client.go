// Package collect takes the samples of package telemetry. WatchClient samples this process and its machine:
// each sample is the difference of two readings of /proc and the Go runtime. Sources (Open) are the server's
// metrics page and its GPUs; Sources.Watch samples them. HostLoad and ReadLimits are single readings.
//
// A figure that a source does not report is absent.
package collect

import (
	"bench/experiment/telemetry"
	"context"
	"runtime"
	"runtime/metrics"
	"time"
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
