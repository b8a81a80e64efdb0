package telemetry

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

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
