package endpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// Workers are other processes that send a row's load in place of this one, each a share of its arrivals.
type Workers interface {
	// Drive has the workers send a row. It blocks until all of them have ended, and returns their results by number.
	// Like load.Run it returns the error of ctx or of DriveConfig.Each; it is a WorkerError if a worker cut the row,
	// which can be sent again.
	Drive(ctx context.Context, c DriveConfig) ([]ShareResult, error)
	// Complete waits, for a bounded time, until all workers are there.
	Complete(ctx context.Context) error
}

type WorkerError struct {
	Worker int
	Host   string // safe to show; empty = the worker is not there
	Text   string // safe to show
	// Reported: the worker is there, and this error is its own. The same one twice will not heal.
	Reported bool
}

func (e *WorkerError) Error() string {
	name := "worker " + strconv.Itoa(e.Worker)
	if e.Host != "" {
		name += " (" + e.Host + ")"
	}
	return name + ": " + e.Text
}

type DriveConfig struct {
	Server  ServerAddress
	Row     Share                 // Worker and Of are not set: each worker gets its own
	Started func(epoch time.Time) // called once, when the common start is known
	// Each gets every record with its Worker, in the order in which a worker's requests ended, from one goroutine. Its
	// error ends the row.
	Each func(*record.Record) error
	// Sample gets the workers' samples of their machines, from the same goroutine and after Started; At is not set.
	Sample func(worker int, s telemetry.Sample)
	// Ends closes the window when it ends, Decided ends the row (load.Config); nil: the load itself decides.
	Ends, Decided context.Context
	Progress      *Progress // its counts of requests sent, and of sessions, are the workers'
}

type ServerAddress struct {
	Base   string            `json:"base"` // URL
	Target experiment.Target `json:"target"`
	Start  int               `json:"start"` // counts the servers of a run: a worker reaches each anew
}

type Share struct {
	Spec   *experiment.Spec `json:"spec"`
	ID     string           `json:"id"`
	Salt   string           `json:"salt"`
	Worker int              `json:"worker"` // number, from 0
	Of     int              `json:"of"`     // workers

	// Drain is how long requests in flight may go on after the row is decided.
	Drain time.Duration `json:"drain_ns,omitempty"`
	// Plan identifies the whole plan, and Bodies its first requests as the leader encodes them: a worker that makes
	// others refuses the row.
	Plan   string        `json:"plan"`
	Bodies string        `json:"bodies"`
	Counts []PromptCount `json:"prompt_counts,omitempty"` // of real prompts
}

const (
	identifiedArrivals = 1000
	identifiedBodies   = 8
)

func planOf(spec *experiment.Spec, salt string) string {
	plan := spec.Plan(salt)
	defer plan.Close()
	return plan.Fingerprint(identifiedArrivals)
}

func (m *measurement) bodiesOf() string {
	plan := m.newPlan()
	defer plan.Close()
	encode, h := m.encoders.encode(), sha256.New()
	for range identifiedBodies {
		if !plan.More() {
			break
		}
		r := plan.Next()
		body := sha256.Sum256(encode(&r))
		h.Write(body[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (m *measurement) driveWorkers(ctx context.Context, s *Server, c load.Config) (load.Measured, error) {
	var epoch time.Time
	results, err := m.t.Workers.Drive(ctx, DriveConfig{
		Server: ServerAddress{Base: s.options.BaseURL, Target: s.Target, Start: m.t.ServerStart},
		Row: Share{
			Spec: m.t.Spec, ID: m.t.ID, Salt: m.t.Salt, Drain: c.DecidedDrain,
			Plan: planOf(m.t.Spec, m.t.Salt), Bodies: m.bodiesOf(), Counts: s.countedPrompts().of(m.t.Spec, m.encoders),
		},
		Started: func(at time.Time) { epoch = at },
		Each:    m.collect,
		Sample: func(worker int, sample telemetry.Sample) {
			sample.Worker, sample.At = &worker, epoch.Add(time.Duration(sample.TUs)*time.Microsecond)
			m.samples.add(sample)
		},
		Ends: c.Ends, Decided: c.Decided, Progress: m.t.Progress,
	})
	m.shares = results
	m.joinShares()
	var parts []load.Measured
	for i := range results {
		if w := results[i].Window; w != nil {
			parts = append(parts, *w)
		}
	}
	measured := c.Join(parts)
	measured.Epoch = epoch
	return measured, err
}

func (m *measurement) joinShares() {
	lost, active := 0, 0
	for i := range m.shares {
		r := &m.shares[i]
		m.sent.Abandoned += r.Abandoned
		if r.Window == nil {
			continue
		}
		m.sent.join(r)
		if active++; r.Lost {
			lost++
		}
	}
	m.e.ServerLost = active > 0 && lost == active
}

func (c *connectionLog) join(r *ShareResult) {
	ahead := min(max(r.Worker.Connections.Ahead, 0), len(r.Setups))
	c.Setups = slices.Concat(c.Setups[:c.ahead:c.ahead], r.Setups[:ahead], c.Setups[c.ahead:], r.Setups[ahead:])
	c.ahead += ahead
	c.kernel += r.Worker.Clock.KernelStamps
	c.user += r.Worker.Clock.UserStamps
	c.ReadLagSum += r.ReadLagSum
	c.ReadLagMax = max(c.ReadLagMax, r.ReadLagMax)
	if c.Headers == nil {
		c.Headers = r.Headers
	}
	c.Gateway.Version = cmp.Or(c.Gateway.Version, r.Gateway.Version)
	c.Gateway.Overhead = append(c.Gateway.Overhead, r.Gateway.Overhead...)
}

// fillWorkers completes each worker's part from its samples. Conclude adds what the records show.
func (m *measurement) fillWorkers(samples []telemetry.Sample) {
	if m.t.Workers == nil {
		return
	}
	window := m.e.Window
	sampled := make([][]telemetry.Sample, len(m.shares))
	for _, s := range samples {
		if s.Worker != nil {
			sampled[*s.Worker] = append(sampled[*s.Worker], s)
		}
	}
	for i := range m.shares {
		w := &m.shares[i].Worker
		if w.Client = telemetry.Summarize(sampled[i], window.StartUs, window.EndUs); w.Client != nil {
			w.Client.MaxProcs = m.shares[i].Procs
		}
		w.Connections.Sockets = telemetry.SummarizeSockets(sampled[i], window.StartUs, window.EndUs)
		w.Concurrency = m.t.Spec.Share(w.Worker, len(m.shares)).Concurrency()
		w.Sent, w.MaxInFlight = 0, 0 // counted from the records, and no worker's claim
		m.e.Workers = append(m.e.Workers, *w)
	}
}
