package proxy

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/measured"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/trace"
	"bench/live/recording"
)

// maxQueue is the number of steps of exchanges that can wait for the recorder. What comes on top is dropped and
// counted.
const maxQueue = 8192

// maxModels get a number or name of their own; maxModelName is a name's longest, bytes: callers choose both.
const (
	maxModels    = 1000
	maxModelName = 128
)

// recorder is one goroutine off the path of the bytes: it hashes prompts, finds conversations, hands exchanges over.
type recorder struct {
	p      *Proxy
	queue  chan step
	stop   chan struct{}
	done   chan struct{}
	prints *trace.Prints
	models map[string]string // the class of a model
	late   sync.WaitGroup    // ends of copies that wait for the queue, and of exchanges that found it full
	next   int               // number of the next request

	missed   atomic.Bool // a request was sent and will not be read
	doubtful int         // steps that may have been queued before such a request

	conversations *conversations
}

type known struct {
	asked  bool // the request was read
	number int  // from 0, in the order in which requests were read
	over   bool // the answer has ended
	print  trace.Print
	class  string
	turn   turn

	copy      *copied // to the candidate; nil = none
	copyEnded bool
	candidate *openai.Result // of the copy; nil = not measured
}

func newRecorder(p *Proxy) *recorder {
	r := &recorder{p: p, queue: make(chan step, maxQueue), stop: make(chan struct{}), done: make(chan struct{}),
		prints: trace.NewPrints(BlockBytes), models: map[string]string{},
		conversations: newConversations(p.config.SessionHeader)}
	go r.run()
	return r
}

// BlockBytes is the size of the blocks of a prompt's text that are hashed, in bytes: about 64 tokens.
const BlockBytes = 256

func (r *recorder) run() {
	defer close(r.done)
	for {
		select {
		case s := <-r.queue:
			r.take(s)
		case <-r.stop:
			for {
				select {
				case s := <-r.queue:
					r.take(s)
				default:
					return
				}
			}
		}
	}
}

func (r *recorder) close(ctx context.Context) error {
	r.late.Wait()
	close(r.stop)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *recorder) take(s step) {
	if r.missed.Swap(false) {
		r.doubtful = cap(r.queue)
		r.lose()
	} else if r.doubtful > 0 {
		r.doubtful--
	}
	x := s.x
	if x.over && s.what == eventSent {
		return // the transport can find out after the answer's end, which has read the request
	}
	if !x.asked {
		r.read(x, s.what == eventSent)
	}
	switch s.what {
	case eventEnded:
		r.end(x)
	case eventCopyEnded:
		x.copyEnded = true
		x.body.free()
		r.p.figures.add(ofCandidate, x.candidate) // also if the exchange is not recorded
	}
	if x.over && (x.copy == nil || x.copyEnded) {
		r.emit(x)
	}
}

// read reads a request, offers it to the candidate, and frees its copy if that does not need it. A request that was
// not read when it was sent comes too late for the candidate.
func (r *recorder) read(x *exchange, inTime bool) {
	body := x.body.get()
	x.asked = true
	if inTime || !x.refused {
		x.number = r.next
		r.next++
	}
	x.turn = r.conversations.find(x.api, x.header, body)
	if r.doubtful > 0 || x.turn.conversation == nil && x.body.lacksRoom() {
		r.lose()
	}
	if body != nil {
		if print, err := r.prints.Request(body); err == nil {
			x.print = print
		}
		x.class = r.class(body)
	}
	if x.sent.Load() != 0 {
		o := original{turn: x.turn, api: x.api, url: x.url, header: x.header, body: body, done: func(q *openai.Result) {
			x.candidate = q
			r.copyEnded(x)
		}}
		if !inTime {
			o.body = nil
		}
		x.copy = r.p.shadow.offer(o)
	}
	x.header = nil
	if x.copy == nil {
		x.body.free()
	}
}

// lose ends the copying of all conversations so far: one of them lacks a turn, it is not known which.
func (r *recorder) lose() { r.p.shadow.lose(r.conversations.last) }

func (r *recorder) class(body []byte) string {
	var q struct{ Model string }
	if json.Unmarshal(body, &q) != nil || q.Model == "" {
		return ""
	}
	class, known := r.models[q.Model]
	if !known {
		if len(r.models) >= maxModels || len(q.Model) > maxModelName {
			return "other"
		}
		class = strconv.Itoa(len(r.models) + 1)
		if r.p.config.KeepModels {
			class = q.Model
		}
		r.models[q.Model] = class
	}
	return class
}

func (r *recorder) end(x *exchange) {
	x.over = true
	measured := x.finish()
	if x.result.Outcome == openai.Left {
		x.copy.callerLeft()
	}
	r.conversations.answered(x.turn, x.answerID)
	if x.refused {
		return
	}
	if !measured {
		r.p.counts.unreadable.Add(1)
	}
	if x.print.Blocks == nil {
		r.p.counts.unhashed.Add(1)
	}
}

func (r *recorder) emit(x *exchange) {
	if x.refused {
		return
	}
	if r.p.config.Done != nil {
		r.p.config.Done(r.exchange(x))
	}
	r.p.figures.add(ofPrimary, &x.result)
	if x.candidate != nil {
		r.p.shadow.ended(&x.result, x.candidate)
	}
}

func (r *recorder) exchange(x *exchange) *recording.Exchange {
	arrived := x.arrived.Sub(r.p.config.Started)
	q := r.record(&x.result, x)
	e := &recording.Exchange{
		Timestamp: milliseconds(arrived), Input: x.input(), Bytes: x.print.Bytes, Media: x.print.Media,
		HashIDs: x.print.Blocks, Class: x.class,
		Session: x.turn.session, Turn: x.turn.number,
		BlockedUs: x.blocked.Microseconds(), Request: *q,
	}
	if q.OK() || q.Left() {
		e.Output = q.OutputTokens
	}
	if x.candidate != nil {
		e.Shadow = r.record(x.candidate, x)
		e.Shadow.Arrival, e.Shadow.Ready = q.Sent, q.Sent // when it could be sent: the rest is its wait in the queue
	}
	return e
}

// record is what is stored of an answer to x's request: without any text, since pages show it too.
func (r *recorder) record(q *openai.Result, x *exchange) *record.Record {
	rec := measured.Record(q)
	rec.I = x.number
	rec.Phase = record.PhaseWindow
	rec.Arrival = record.At(record.RoundMicros(x.arrived.Sub(r.p.config.Started)))
	rec.Ready = rec.Arrival
	return recording.Stripped(rec)
}

func (x *exchange) input() int {
	if x.result.HasUsage {
		return x.result.PromptTokens
	}
	return (x.print.Bytes + 3) / 4
}

func milliseconds(d time.Duration) json.Number {
	return json.Number(strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 3, 64))
}
