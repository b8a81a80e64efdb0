package collector

import (
	"bench/experiment/telemetry"
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Load is what the caller knows of its requests.
type Load struct {
	InFlight int           // now
	Ended    int           // since the start
	LagMax   time.Duration // the largest since the last call; negative = none
}

const (
	// every is short enough that a stall of a second shows, and long enough to be cheap.
	every = 250 * time.Millisecond
	// share is what sampling may take of a core: beyond it the interval grows. Large machines have
	// large files to read.
	share = 0.002
	// rarest is the longest interval, whatever it costs.
	rarest = 5 * time.Second
)

// WatchClient samples this process and its machine until ctx ends, and then once more. each takes the
// samples, in order, from the caller's goroutine; it may keep them. load is asked for each sample; nil
// = there is none.
func WatchClient(ctx context.Context, load func() Load, each func(telemetry.Sample)) {
	s := newSystem("/proc")
	defer s.close()
	s.watch(ctx, load, each)
}

func (s *system) watch(ctx context.Context, load func() Load, each func(telemetry.Sample)) {
	before, now := new(reading), new(reading)
	s.read(before, load)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for ended := false; !ended; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			ended = true
		}
		s.read(now, load)
		each(difference(before, now))
		timer.Reset(pause(now.cost))
		before, now = now, before
	}
}

// pause is how long to wait after a sample that took so much CPU time; 0 = not known.
func pause(cost time.Duration) time.Duration {
	return min(max(every, time.Duration(float64(cost)/share)), rarest)
}

// system is where readings come from.
type system struct {
	runtime []metrics.Sample
	files   files // those of the system
}

// Of the Go runtime, in the order of system.runtime.
const (
	schedLatencies = iota
	heapObjects
	goroutines
)

func newSystem(proc string) *system {
	return &system{
		runtime: []metrics.Sample{{Name: "/sched/latencies:seconds"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}},
		files:   openFiles(proc),
	}
}

func (s *system) close() { s.files.close() }

// read takes a reading; what r holds of an earlier one is used again.
func (s *system) read(r *reading, load func() Load) {
	runtime.LockOSThread() // the cost is that of a thread
	defer runtime.UnlockOSThread()
	start := threadTime()
	r.at = time.Now()
	r.user, r.system = processTime()
	s.files.read(r)
	s.readRuntime(r)
	r.load = nil
	if load != nil {
		r.load = new(load())
	}
	r.cost = threadTime() - start
}

// readRuntime stops nothing: runtime.ReadMemStats would.
func (s *system) readRuntime(r *reading) {
	metrics.Read(s.runtime)
	if v := s.runtime[schedLatencies].Value; v.Kind() == metrics.KindFloat64Histogram {
		h := v.Float64Histogram() // the next reading writes over it
		r.sched.Counts, r.sched.Buckets = append(r.sched.Counts[:0], h.Counts...), h.Buckets
	}
	if v := s.runtime[heapObjects].Value; v.Kind() == metrics.KindUint64 {
		r.heap = v.Uint64()
	}
	if v := s.runtime[goroutines].Value; v.Kind() == metrics.KindUint64 {
		r.routines = int(v.Uint64())
	}
	debug.ReadGCStats(&r.gc)
}
