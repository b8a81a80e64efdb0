package endpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/measured"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

type measurement struct {
	t        RunConfig
	e        *verdict.Measured
	encoders classEncoders
	plan     *workload.Plan
	answers  *answerChecks // nil: answers have no text, as in a prediction
	target   experiment.Target

	severalModels bool // the requests go to more than one model
	namesSessions bool // in a header

	sent    connectionLog
	maxLag  atomic.Int64  // since the last sample of the client, ns; noLag: none
	ended   atomic.Bool   // the load is over
	samples *samples      // taken by watch
	shares  []ShareResult // of workers; nil: this process sends the load

	early    *earlyEnd             // nil: the row runs to its end
	overload *verdict.OverloadTest // nil: the cool-down lasts as long as the row
}

func (m *measurement) primePrefixes(ctx context.Context) error {
	encode := m.encoders.encode()
	for q := range m.plan.Priming {
		e := m.encoders[q.Class]
		// a text is shortened by it at the end, where the suffix is; the prefix must be whole
		q.Input += e.first.Overhead
		for _, q.Model = range e.models() { // each adapter has a cache of its own
			if err := m.prime(ctx, e, encode(&q)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *measurement) prime(ctx context.Context, e *classEncoder, body []byte) error {
	for _, c := range e.apis {
		var r openai.Result
		c.client.Do(ctx, &openai.Call{Body: body, Stream: m.t.Spec.Streams(), Epoch: time.Now()}, &r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.Outcome.Failed() {
			m.e.FailedPriming++
		}
	}
	return nil
}

func (m *measurement) openConnections(ctx context.Context, n int) error {
	clients, parts := m.encoders.clients()
	for i, c := range clients {
		setups, err := c.Prepare(ctx, connectionsOfPart(n, parts[i]))
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // another error shows in the records
		}
		m.sent.Setups = append(m.sent.Setups, setups...)
	}
	m.sent.ahead = len(m.sent.Setups)
	return nil
}

func (m *measurement) send(ctx context.Context, job *load.Job, body []byte, epoch time.Time) (finish func()) {
	m.t.Progress.requestSent(job)
	e := m.encoders[job.Request.Class]
	call := openai.Call{
		Body: body, Stream: m.t.Spec.Streams(), Epoch: epoch,
		Fresh:      m.t.Spec.ConnectsPerRequest(),
		RequestID:  requestID(m.t.Salt, job.Request.Index),
		LeaveAfter: job.Request.LeaveAfter,
		KeepAnswer: job.Request.Continued(),
		MaxTokens:  job.Request.Output,
		Counter:    m.t.Progress.Counter,
		Prompt:     cmp.Or(job.Input, job.Request.Input),
		KeepParts:  m.answers.keeps(&job.Request),
	}
	if e.ignoreEOS {
		call.MinTokens = job.Request.Output
	}
	if m.namesSessions {
		call.SessionID = sessionID(m.t.Salt, &job.Request)
	}
	if m.target.Traceparent {
		call.Traceparent = traceparent(m.t.Salt, &job.Request)
	}
	return e.apis[m.plan.Replica(&job.Request)].client.Start(ctx, &call, &job.Result)
}

// requestID has the form of a UUID (version 4), since some servers refuse anything else with HTTP 400. It
// contains the row's salt and the request's index.
func requestID(salt string, index int) string {
	salt = (salt + "000000000000")[:12]
	return fmt.Sprintf("%s-%s-4000-8000-%012x", salt[:8], salt[8:], uint64(index)&(1<<48-1))
}

func (m *measurement) laterTurn() func(*workload.Request, int, *load.Job, []byte) (*load.Job, []byte) {
	if !m.t.Spec.HasConversations() {
		return nil
	}
	return func(first *workload.Request, turn int, before *load.Job, body []byte) (*load.Job, []byte) {
		return m.encoders.laterTurn(m.plan, first, turn, before, body)
	}
}

func (m *measurement) each(job *load.Job) error {
	if err := m.encoders.err(); err != nil {
		return err
	}
	r := requestRecord(job)
	m.answers.check(job, r)
	m.addRoute(r, job)
	m.sent.add(job, r)
	m.addLag(job.Ready, job.Result.Sent)
	if job.SessionOver {
		m.t.Progress.over.Add(1)
	}
	return m.collect(r)
}

func (m *measurement) collect(r *record.Record) error {
	if m.early.decided() && r.Phase == record.PhaseWindow {
		r.Phase = record.PhaseCooldown
	}
	m.overload.Add(r)
	m.t.Progress.requestEnded(r, m.t.Spec.Streams())
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

func requestRecord(j *load.Job) *record.Record {
	r := &j.Result
	rec := measured.Record(r)
	rec.I, rec.Class, rec.Phase = j.Request.Index, j.Request.Class, phases[j.Phase]
	rec.Arrival, rec.Ready = measured.Offset(j.At), measured.Offset(j.Ready)
	rec.PromptRequested, rec.OutputRequested = cmp.Or(j.Input, j.Request.Input), j.Request.Output
	if q := &j.Request; q.InSession() { // of a conversation, or of a trace with sessions
		rec.Session, rec.Turn = new(q.Session), new(q.Turn)
		rec.Agent = q.Agent()
		if q.Turn == 0 && q.Whole() {
			rec.Turns = q.Turns
		}
		if r.Outcome != openai.Unfinished && r.Outcome != openai.Cancelled {
			rec.TurnsLost = j.Lost
		}
	}
	if r.HasUsage && j.InputEstimated { // else the estimate counts
		rec.PromptRequested = 0
	}
	if p := j.Request.Prompt; p != nil {
		rec.Category, rec.PromptHash = p.Category, p.Hash
		private(rec, r, p)
	}
	return rec
}

var phases = [...]string{load.Warmup: record.PhaseWarmup, load.Window: record.PhaseWindow,
	load.Cooldown: record.PhaseCooldown}

// connectionsOfPart is the number of connections to open to one of the replicas: an equal share of all, and what
// chance adds, since a request is not sent to the replica with the fewest.
func connectionsOfPart(all, parts int) int {
	if parts == 1 {
		return all
	}
	share := float64(all) / float64(parts)
	return min(all, int(math.Ceil(share+2*math.Sqrt(share))))
}

// sessionID is the value of the session header: the same for all requests of a session, and another one in each
// attempt.
func sessionID(salt string, r *workload.Request) string {
	if !r.InSession() {
		return ""
	}
	return salt + "-" + strconv.Itoa(r.Session)
}

// traceparent is the W3C trace context of a request, with the sampled flag (https://www.w3.org/TR/trace-context). Both
// ids are the beginning of SHA-256 digests, so that a user can find the traces of the records: the trace id that of
// "bench/SALT/session/N" or, outside of sessions, of "bench/SALT/request/I"; the span id is characters 33 to 48 of the
// digest of "bench/SALT/request/I".
func traceparent(salt string, r *workload.Request) string {
	request := digest(salt, "/request/", r.Index)
	trace := request
	if r.InSession() {
		trace = digest(salt, "/session/", r.Session)
	}
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, trace[:16]), '-')
	b = hex.AppendEncode(b, request[16:24])
	return string(append(b, "-01"...))
}

func digest(salt, kind string, number int) [sha256.Size]byte {
	b := append(make([]byte, 0, 64), "bench/"...)
	b = append(append(b, salt...), kind...)
	return sha256.Sum256(strconv.AppendInt(b, int64(number), 10))
}

func (m *measurement) addRoute(r *record.Record, job *load.Job) {
	e := m.encoders[job.Request.Class]
	if e == nil { // of a prediction
		return
	}
	if m.severalModels {
		r.Model = e.model(&job.Request)
	}
	if len(e.apis) > 1 {
		r.Endpoint = new(m.plan.Replica(&job.Request))
	}
}
