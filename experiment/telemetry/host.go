package telemetry

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
