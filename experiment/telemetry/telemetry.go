// Package telemetry owns the [telemetry] table: it says how the machines of a row fared while it ran.
//
// Watch samples the client: each Sample is the difference of two readings of what the system and the Go runtime
// count, and Summarize makes of the samples of the window what a row can be doubted for. Sources (Open) are the
// server's metrics page and its GPUs: Sources.Watch samples them, and Observe makes the same of their samples. Limits are
// what the system allows the process; they are read before anything is sent.
//
// It judges nothing, and a sample never makes up a figure: what nobody tells is absent, and why is said.
package telemetry

import (
	"time"
)

// Schema of the lines of <row>.telemetry.jsonl.zst.
const Schema = "bench/telemetry/v1"

// Who is sampled.
const (
	SourceClient = "client" // the machine that measures
	SourceServer = "server" // the metrics page of the thing under test
	SourceGPU    = "gpu"    // the GPUs, by their own tools
)

// Sample is one line of <row>.telemetry.jsonl.zst. Of the client it is what happened in one interval, and how it stood at its
// end; of a server and its GPUs how they stood at one moment, under server and gpus. What is not told is absent; nothing is 0
// for that. Figures marked "machine" are of all its processes, or of the container's network.
type Sample struct {
	Schema string `json:"schema,omitempty"` // on a file's first sample only
	Source string `json:"source"`           // who is sampled

	At   time.Time `json:"-"`                 // end of the interval, by the monotonic clock
	TUs  int64     `json:"t_us"`              // end of the interval, from the row's epoch; negative = before the load began
	Span int64     `json:"span_us"`           // length of the interval; of a server and its GPUs how long the answer took, of which t_us is the middle
	Cost *float64  `json:"cost_us,omitempty"` // CPU time that this sample took

	Server *ServerReading `json:"server,omitempty"`
	GPUs   []GPUReading   `json:"gpus,omitempty"`
	// Processes are those on the GPUs, before and after the load; absent: not told, or not asked.
	Processes []GPUProcess `json:"gpu_processes,omitzero"`
	Error     string       `json:"error,omitempty"` // why the server or the GPUs told nothing

	UserCores   *float64  `json:"user_cores,omitempty"`   // CPU seconds of the process per second, in user mode
	SystemCores *float64  `json:"system_cores,omitempty"` // the same, in the kernel
	RunDelay    *float64  `json:"run_delay,omitempty"`    // threads of the process that were ready and had no core, on average
	Threads     *int      `json:"threads,omitempty"`      // of the process
	CoreBusy    []float64 `json:"core_busy,omitempty"`    // machine: share of the time in which each core was neither idle nor stolen
	Steal       *float64  `json:"steal,omitempty"`        // machine: share of the cores' time that the hypervisor gave to others

	// Sched is how long goroutines that could run waited to run: [upper edge in µs, how many], by the
	// runtime's buckets, which are up to 25 % wide. Percentiles are upper edges.
	Sched     [][2]float64 `json:"sched_us,omitempty"`
	SchedP50  *float64     `json:"sched_p50_ms,omitempty"`
	SchedP99  *float64     `json:"sched_p99_ms,omitempty"`
	SchedMax  *float64     `json:"sched_max_ms,omitempty"`
	GCs       *int         `json:"gcs,omitempty"`         // garbage collections that ended
	GCPauses  *float64     `json:"gc_pause_ms,omitempty"` // in which the world was stopped for them, sum
	GCLongest *float64     `json:"gc_pause_max_ms,omitempty"`
	HeapMiB   *float64     `json:"heap_mib,omitempty"` // objects, live and not yet swept
	Routines  *int         `json:"goroutines,omitempty"`

	Files       *int   `json:"fds,omitempty"`                  // open file descriptors of the process
	Sockets     *int   `json:"tcp_sockets,omitempty"`          // machine: TCP sockets in use
	TimeWait    *int   `json:"tcp_time_wait,omitempty"`        // machine: closed ones that still hold their port
	SegmentsOut *int64 `json:"segments_out,omitempty"`         // machine: TCP segments sent
	SegmentsIn  *int64 `json:"segments_in,omitempty"`          // machine: TCP segments received
	Retransmits *int64 `json:"retransmits,omitempty"`          // machine: TCP segments sent again
	Needless    *int64 `json:"retransmits_needless,omitempty"` // machine: of them, those that the other end had already: it was only slow to say so
	Closed      *int64 `json:"zero_windows,omitempty"`         // machine: times that a reader here was so late that its sender was told to stop
	Timeouts    *int64 `json:"tcp_timeouts,omitempty"`         // machine: retransmission timers that ran out
	OutOfOrder  *int64 `json:"out_of_order,omitempty"`         // machine: segments that came before one that was sent earlier: a sign of loss on the way here

	InFlight *int     `json:"in_flight,omitempty"`  // requests sent and not over
	Ended    *int     `json:"ended,omitempty"`      // requests that ended
	LagMax   *float64 `json:"lag_max_ms,omitempty"` // of those that ended; absent: none was sent
}
