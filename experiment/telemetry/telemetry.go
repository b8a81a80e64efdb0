// Package telemetry is the telemetry of a row as data: the [telemetry] table, the samples of the client, the
// server and its GPUs, their file format, and their summaries over the measurement window. Package collector
// takes the samples.
//
// It contains no checks. Figures that are not reported are absent, never zero, and Missing is the reason.
package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Schema of the lines of <row>.telemetry.jsonl.zst.
const Schema = "bench/telemetry/v1"

// Sources of samples.
const (
	SourceClient = "client" // the machine that sends the load
	SourceServer = "server" // the metrics page of the server under test
	SourceGPU    = "gpu"    // the GPUs, by an exporter or the vendor's tool
)

// Readings of a page at the ends of a row.
const (
	EdgeBefore = "before" // before the first request
	EdgeAfter  = "after"  // after the last request ended
)

// Sample is one line of <row>.telemetry.jsonl.zst. A client sample covers one interval: differences of
// counters, and levels at its end. A server or GPU sample is one reading, under server and gpus. Figures that
// are not reported are absent, never 0. Figures marked "machine" include all processes of the machine, or the
// network of the container.
type Sample struct {
	Schema string `json:"schema,omitempty"` // on the first sample of a file only
	Source string `json:"source"`           // client, server or gpu

	// number of the load worker whose machine a client sample is of; absent: bench sweep's
	Worker *int `json:"worker,omitempty"`

	At  time.Time `json:"-"`    // end of the interval, by the monotonic clock
	TUs int64     `json:"t_us"` // end of the interval, from the row's epoch; negative: before the load
	// length of the interval; of a server or GPU sample the duration of the query, with t_us in its middle
	Span int64    `json:"span_us"`
	Cost *float64 `json:"cost_us,omitempty"` // CPU time of taking this sample

	// Next is the planned time to the next reading of a page; 0: not planned.
	Next int64  `json:"next_us,omitempty"`
	Edge string `json:"edge,omitempty"` // of a page's reading: EdgeBefore, EdgeAfter, or empty: during the load

	Server *ServerReading `json:"server,omitempty"`
	// Roles are the readings of several pages; Server combines them. Absent: one page.
	Roles []RoleReading `json:"roles,omitempty"`
	GPUs  []GPUReading  `json:"gpus,omitempty"`
	// Processes run on the GPUs, before and after the load; absent: not collected.
	Processes []GPUProcess `json:"gpu_processes,omitzero"`
	Error     string       `json:"error,omitempty"` // why the reading failed

	UserCores   *float64 `json:"user_cores,omitempty"`   // CPU seconds of the process per second, in user mode
	SystemCores *float64 `json:"system_cores,omitempty"` // the same, in the kernel
	// mean number of runnable threads of the process without a core
	RunDelay *float64 `json:"run_delay,omitempty"`
	// machine: busy share of each core, without idle time and CPU steal
	CoreBusy []float64 `json:"core_busy,omitempty"`
	Steal    *float64  `json:"steal,omitempty"` // machine: CPU steal, share of the cores' time
	// machine: share of the interval in which some task waited for a core (PSI)
	CPUPressure *float64 `json:"cpu_pressure,omitempty"`

	// Of the server's processes on the client's machine; absent: not found there.
	ServerCores *float64 `json:"server_cores,omitempty"` // CPU seconds per second
	// mean number of its runnable threads without a core
	ServerRunDelay    *float64 `json:"server_run_delay,omitempty"`
	ServerCPUPressure *float64 `json:"server_cpu_pressure,omitempty"` // cpu_pressure of its cgroup

	// Sched is the scheduling latency of goroutines: [upper edge in µs, count] per bucket of the Go runtime.
	// Buckets are up to 25 % wide; percentiles are upper edges.
	Sched [][2]float64 `json:"sched_us,omitempty"`

	Own *Sockets `json:"own_sockets,omitempty"` // absent: not read for this sample

	InFlight *int     `json:"in_flight,omitempty"`  // requests in flight
	Ended    *int     `json:"ended,omitempty"`      // requests that ended
	LagMax   *float64 `json:"lag_max_ms,omitempty"` // largest client lag of requests that ended; absent: none was sent
}

// Writer writes samples as zstd-compressed JSON lines.
type Writer struct {
	z *zstd.Encoder
	e *json.Encoder
	n int
}

// NewWriter writes to w. The caller closes w.
func NewWriter(w io.Writer) (*Writer, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("starting the telemetry stream: %w", err)
	}
	return &Writer{z: z, e: json.NewEncoder(z)}, nil
}

// Write appends one sample. The first sample of a file has the schema.
func (w *Writer) Write(s *Sample) error {
	line := *s
	if w.n++; w.n == 1 {
		line.Schema = Schema
	}
	if err := w.e.Encode(&line); err != nil {
		return fmt.Errorf("writing a telemetry sample: %w", err)
	}
	return nil
}

// Lines is the number of samples so far.
func (w *Writer) Lines() int { return w.n }

// Close ends the stream. The file is incomplete before.
func (w *Writer) Close() error { return w.z.Close() }

// Host is the load of the client machine before and after a row: its one-minute load average, which counts
// running and runnable processes, including bench. nil: not reported.
type Host struct {
	Before *float64 `json:"load_before,omitempty"` // before the first request of the row
	After  *float64 `json:"load_after,omitempty"`
	// of this machine, which may be more than the client may use; 0: not reported
	Cores  int  `json:"cores,omitempty"`
	Server bool `json:"with_server,omitempty"` // the server runs on this machine too, and adds to the load
}

// Limits are the resource limits of this process; 0: unknown, or unlimited.
type Limits struct {
	Files int // open file descriptors
	Open  int // currently open file descriptors
	Ports int // ephemeral ports: the maximum number of connections to one address
}
