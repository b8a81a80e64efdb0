package telemetry

// Host is how busy this machine was at the two ends of a row: its load average over a minute, which is processes that run or
// want to, its own among them. nil = not told.
type Host struct {
	Before *float64 `json:"load_before,omitempty"` // before anything of the row was sent
	After  *float64 `json:"load_after,omitempty"`
	Cores  int      `json:"cores,omitempty"`       // of this machine, whose share of them the client may have; 0 = not told
	Server bool     `json:"with_server,omitempty"` // the server runs here too: its work is in it
}

// Limits are what the system lets this process have; 0 = not known, or none.
type Limits struct {
	Files int // open file descriptors
	Open  int // of them, those that are open now
	Ports int // ephemeral ports: connections to one address
}
