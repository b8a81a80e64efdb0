package record

import (
	"bench/experiment/workload"
)

// ColdStart is what a row of that kind says beside its figures: they are of single requests to a server that had nothing to
// do, each over a connection of its own, and no load.
type ColdStart struct {
	IdleS workload.Span `json:"idle_s"` // before each request
	// Server is the way of the server itself, where bench started it; null: it ran already.
	Server *Startup `json:"server_start"`
}

// Startup is the way of a server that bench started, ms from the start of its command.
type Startup struct {
	ReadyMs      float64  `json:"ready_ms"`       // it said that it was ready
	FirstTokenMs *float64 `json:"first_token_ms"` // of the first request to it; null: none came
}
