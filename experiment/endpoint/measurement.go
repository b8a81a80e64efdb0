package endpoint

import (
	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// measurement is what a running row collects.
type measurement struct {
	t        RunConfig
	e        *verdict.Measured
	encoders classEncoders
	plan     *workload.Plan

	setups         []openai.Setup
	kernel, user   int // timestamps by the kernel, by this process
	lagSum, lagMax time.Duration
	header         sync.Once
	gateway        gatewayHeaders
	maxLag         atomic.Int64 // since the last sample of the client, ns; noLag: none
	ended          atomic.Bool  // the load is over
	abandoned      int          // requests that were sent and given up
	lost           int          // failed connections since the last request that reached the server

	early *earlyEnd // nil: the row runs to its end
}

// primePrefixes sends the prefixes of a warm row, so that the server caches them.
func (m *measurement) primePrefixes(ctx context.Context) error {
	encode := m.encoders.encode()
	for q := range m.plan.Priming {
		e := m.encoders[q.Class]
		q.Input += e.first.Overhead // a text is shortened by it at the end, where the suffix is; the prefix must be whole
		var r openai.Result
		e.api.client.Do(ctx, &openai.Call{Body: encode(&q), Stream: m.t.Spec.Streams(), Epoch: time.Now()}, &r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.Outcome.Failed() {
			m.e.FailedPriming++
		}
	}
	return nil
}

// openConnections opens connections ahead of the row: for each API as many as if all requests were its own.
func (m *measurement) openConnections(ctx context.Context) error {
	for _, c := range m.encoders.apiClients() {
		setups, err := c.client.Prepare(ctx, m.t.Spec.ConnectionsToOpen())
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // another error shows in the records
		}
		m.setups = append(m.setups, setups...)
	}
	m.e.Connections.Ahead = len(m.setups)
	return nil
}

func (m *measurement) send(ctx context.Context, job *load.Job, body []byte, epoch time.Time) (finish func()) {
	m.t.Progress.requestSent(job)
	e := m.encoders[job.Request.Class]
	call := openai.Call{
		Body: body, Stream: m.t.Spec.Streams(), Epoch: epoch,
		Fresh:      m.t.Spec.ConnectsPerRequest(),
		RequestID:  requestID(m.t.Salt, job.Request.Index),
		KeepAnswer: job.Request.Turn+1 < job.Request.Turns,
		MaxTokens:  job.Request.Output,
		Counter:    m.t.Progress.Counter,
		Prompt:     cmp.Or(job.Input, job.Request.Input),
	}
	if e.ignoreEOS {
		call.MinTokens = job.Request.Output
	}
	return e.api.client.Start(ctx, &call, &job.Result)
}

// requestID has the form of a UUID (version 4), since some servers refuse anything else with HTTP 400. It
// contains the row's salt and the request's index.
func requestID(salt string, index int) string {
	salt = (salt + "000000000000")[:12]
	return fmt.Sprintf("%s-%s-4000-8000-%012x", salt[:8], salt[8:], uint64(index)&(1<<48-1))
}

// nextTurn makes the next turns of conversations; nil: the row has none.
func (m *measurement) nextTurn() func(*load.Job, []byte) (*load.Job, []byte) {
	if !m.t.Spec.HasConversations() {
		return nil
	}
	return func(job *load.Job, body []byte) (*load.Job, []byte) { return m.encoders.nextTurn(m.plan, job, body) }
}

// fewestLost connections at the end of a row, with no request between them that reached the server, mean that
// the server is gone.
const fewestLost = 3

// each collects a request that has ended.
func (m *measurement) each(job *load.Job) error {
	if m.early.decided() && job.Phase == load.Window {
		behind := *job // the driver still reads job
		behind.Phase = load.Cooldown
		job = &behind
	}
	r := requestRecord(job)
	m.t.Progress.requestEnded(job, r, m.t.Spec.Streams())
	if job.Result.Outcome == openai.Connect {
		m.lost++
	} else if job.Result.Sent != openai.Never { // also one that the row's end interrupted
		m.lost = 0
	}
	if job.Result.Sent != openai.Never && slices.Contains([]openai.Outcome{openai.Unfinished, openai.Cancelled, openai.Timeout}, job.Result.Outcome) {
		m.abandoned++
	}
	m.kernel += job.Result.KernelStamps
	m.user += job.Result.UserStamps
	m.addLag(job.Ready, job.Result.Sent)
	m.lagSum += job.Result.ReadLagSum
	m.lagMax = max(m.lagMax, job.Result.ReadLag)
	if job.Result.Setup != (openai.Setup{}) {
		m.setups = append(m.setups, job.Result.Setup)
	}
	if r.Phase == record.PhaseWindow {
		m.gateway.add(job.Result.Header)
	}
	if job.Result.Header != nil {
		m.header.Do(func() { m.e.Server.Headers = publicHeaders(job.Result.Header) })
	}
	if each := m.t.Progress.Each; each != nil {
		each(r)
	}
	if m.early != nil {
		return m.early.add(r)
	}
	return m.store(r)
}

// store keeps a record whose phase is certain.
func (m *measurement) store(r *record.Record) error {
	if m.t.Reread == nil {
		m.e.Records = append(m.e.Records, r)
	}
	return m.t.Each(r)
}

// summaryGCPercent limits the garbage while all records of a long row are in memory.
const summaryGCPercent = 20

// reread takes the records of a row that did not keep them in memory.
func (m *measurement) reread() error {
	if m.t.Reread == nil {
		return nil
	}
	return m.t.Reread(func(r *record.Record) error {
		r.Schema, r.ServerID = "", "" // Schema is per file; no summary uses ServerID
		m.e.Records = append(m.e.Records, r)
		return nil
	})
}
