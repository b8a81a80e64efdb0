package endpoint

import (
	"context"
	"time"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/telemetry"
)

// Workers are other processes that send a row's load in place of this one, each a share of its arrivals.
type Workers interface {
	// Drive has the workers send a row. It blocks until all of them have ended, and returns their results by number.
	Drive(ctx context.Context, c DriveConfig) ([]ShareResult, error)
}

// DriveConfig is what the workers need to send a row.
type DriveConfig struct {
	Server  ServerAddress
	Row     Share // Worker is not set: each worker gets its own
	Started func(epoch time.Time)
	// Each gets every record, in the order in which a worker's requests ended, from one goroutine. Its error ends the row.
	Each func(*record.Record) error
	// Sample gets the workers' samples of their machines, from the same goroutine.
	Sample func(worker int, s telemetry.Sample)
	// Ends closes the window when it ends, Decided ends the row (load.Config); nil: the load itself decides.
	Ends, Decided context.Context
	Progress      *Progress
}

// ServerAddress is the server under test, as workers reach it.
type ServerAddress struct {
	Base   string            `json:"base"` // URL
	Target experiment.Target `json:"target"`
	Start  int               `json:"start"` // counts the servers of a run: a worker reaches each anew
}

// Share is one worker's part of a row: the arrivals that are dealt to it.
type Share struct {
	Spec   *experiment.Spec `json:"spec"`
	ID     string           `json:"id"`
	Salt   string           `json:"salt"`
	Worker int              `json:"worker"` // number, from 0
	Of     int              `json:"of"`     // workers
	// Drain is how long requests in flight may go on after the row is decided.
	Drain time.Duration `json:"drain_ns,omitempty"`
	// Fingerprint is of the whole plan's first requests: a worker whose plan differs refuses the row. Form is how the
	// leader makes requests: a worker that makes others refuses it, too.
	Fingerprint string `json:"fingerprint"`
	Form        string `json:"form"`
}

// ShareConfig is what a worker does with its share.
type ShareConfig struct {
	Share
	// Ready is called once, when everything is prepared; it returns the common start, or an error that ends the row.
	Ready func(ctx context.Context) (start time.Time, err error)
	// Each and Sample get records and samples of this machine, each from one goroutine; an error of Each ends the row.
	Each   func(*record.Record) error
	Sample func(telemetry.Sample)
	// Drained is called once, when the requests of the worker's own window have ended. It goes on sending, so that the
	// load stays whole, until Release ends.
	Drained func()
	Release context.Context
	// Ends and Decided are as in DriveConfig.
	Ends, Decided context.Context
	Progress      *Progress
}

// ShareResult is the end of a worker's share. Times are µs from the common start.
type ShareResult struct {
	Worker record.Worker `json:"worker"` // without what the leader knows: Host, StartSkewUs, RTTUs

	Window      ShareWindow       `json:"window"`
	ReadLagSum  time.Duration     `json:"read_lag_sum_ns"`
	Setups      []openai.Setup    `json:"setups,omitempty"` // those opened ahead first
	Headers     map[string]string `json:"headers,omitempty"`
	GatewayName string            `json:"gateway_version,omitempty"`
	GatewayMs   []float64         `json:"gateway_ms,omitempty"`
	Abandoned   int               `json:"abandoned,omitempty"`
	Lost        bool              `json:"lost,omitempty"` // the last requests did not reach the server
	Selftest    *selftest.Result  `json:"selftest,omitempty"`
}

// ShareWindow is what a worker knows of the row's measurement window.
type ShareWindow struct {
	StartUs int64 `json:"start_us"`
	EndUs   int64 `json:"end_us"`
	LastUs  int64 `json:"last_us"` // latest intended arrival of its requests of the window
	Cut     bool  `json:"cut,omitempty"`
}

// RunShare sends a worker's share of a row.
func (s *Server) RunShare(ctx context.Context, c ShareConfig) (*ShareResult, error) {
	panic("not written")
}
