package openai

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Never is the time of an event that did not happen.
const Never = time.Duration(math.MinInt64)

// ErrUnfinished as the cause of a context's cancellation makes the outcome Unfinished instead of Cancelled:
// the row's grace period was over. The cause may wrap it, to state another reason.
var ErrUnfinished = errors.New("unfinished when the row ended")

type Outcome string

// The outcomes. All but OK, Short and Left are failures.
const (
	OK         Outcome = "ok"
	Short      Outcome = "short"      // the server stopped before Call.MinTokens
	Truncated  Outcome = "truncated"  // without a finish reason and [DONE], or before any token
	Timeout    Outcome = "timeout"    // over a time limit, in any phase
	Connect    Outcome = "connect"    // no connection, or lost before any byte of the answer
	Status     Outcome = "status"     // an HTTP status other than 2xx; redirects are not followed
	Protocol   Outcome = "protocol"   // not the API's answer: HTML, garbage, an error object in a 200
	Cancelled  Outcome = "cancelled"  // by the caller
	Unfinished Outcome = "unfinished" // by the caller, with ErrUnfinished as the cause
	Left       Outcome = "left"       // the user left, as Call.LeaveAfter demands: neither completed nor failed
)

var Outcomes = []Outcome{OK, Short, Truncated, Timeout, Connect, Status, Protocol, Cancelled, Unfinished, Left}

func (o Outcome) Known() bool { return slices.Contains(Outcomes, o) }

func (o Outcome) Failed() bool { return !o.Completed() && o != Left }

func (o Outcome) Completed() bool { return o == OK || o == Short }

type Call struct {
	Body        []byte    // the whole encoded body
	Stream      bool      // the body asks for a stream
	Epoch       time.Time // origin of the result's times; zero: the call of Do or Start
	RequestID   string    // sent as X-Request-Id; empty: none
	SessionID   string    // sent in the header Options.SessionHeader; empty: none
	Traceparent string    // sent as traceparent; empty: none
	// LeaveAfter is when the user leaves, since Do or Start: the connection is closed (HTTP/2: the stream is reset)
	// unless the answer has ended. 0: the user stays.
	LeaveAfter time.Duration
	Fresh      bool          // over a new connection, which is closed afterwards
	MinTokens  int           // tokens that the server was told to write: fewer are Short. 0: natural EOS
	MaxTokens  int           // tokens that the server may write: usage of more is impossible. 0: unknown
	Counter    *TokenCounter // counts tokens while they arrive; nil: none
	Prompt     int           // prompt tokens as requested, for Counter and the test of usage; 0: unknown
	KeepAnswer bool          // fill Result.Answer's Text and IDs
	KeepParts  bool          // fill Result.Answer's Parts
}

// Result is what a request measured. Times count from Call.Epoch and are Never if the event did not happen; a
// failure keeps what came before it.
//
// An event's time is the kernel's receive stamp of its last data byte or, without a stamp, the return of the
// read. The empty line behind an event may come later.
type Result struct {
	Sent       time.Duration // just before the system call that handed over the last byte
	FirstEvent time.Duration // first event with data, token or not; streams only
	// first token-bearing event; streams only. Never in a complete answer: not known, see placeEmpties
	First time.Duration
	// FirstAnswer is the first event with text or a tool call. Without reasoning it is First; Never without an answer.
	FirstAnswer time.Duration
	Last        time.Duration // last token-bearing event, Never likewise; without streaming, the body's last byte
	End         time.Duration // [DONE], the body's end, or the failure
	// Free is when the response was over: its last byte, which may come behind [DONE]. A failure, and a body
	// whose end only the connection's end shows, have no stamp: the moment at which the client noticed.
	Free time.Duration

	Gaps           []time.Duration // between successive token-bearing events
	TokensPerEvent []int           // by token ids or running usage; nil if every event carried one as far as known
	Events         int             // token-bearing events; without streaming 0

	PromptTokens int    // by the server's usage; 0 without HasUsage
	CachedTokens int    // prompt tokens from the prefix cache; 0 without HasCached
	OutputTokens int    // by the server's usage, else Estimated
	HasUsage     bool   // the server sent usage
	HasCached    bool   // usage had the cached tokens
	Impossible   *Usage // usage that cannot be true, in no other field; nil: none
	Estimated    bool   // OutputTokens counts events; without streaming, token ids, or 1 for any text

	HasReasoning       bool // the answer has reasoning
	ReasoningTokens    int  // of OutputTokens, by the server's usage; 0: none, or in a complete answer not known
	ReasoningEstimated bool // ReasoningTokens counts token ids or events
	ThinkTag           bool // the text has <think> or </think>: reasoning that the server did not parse

	Speculation Speculation // as the server reports in the answer; zero: not reported, or none

	Server ServerTimes // as the server reports in the answer

	Outcome  Outcome
	Error    string // of a failure: one line of at most 500 bytes, without secrets
	Status   int    // HTTP status; 0: no answer
	Finish   string // finish reason; empty: none came
	Answer   Answer // empty without Call.KeepAnswer and Call.KeepParts
	ServerID string // the server's id of the request

	KernelStamps int           // arrivals (token-bearing events, or a document's end) with a kernel stamp
	UserStamps   int           // arrivals stamped when the read returned
	ReadLag      time.Duration // longest time from a kernel stamp to the return of its read
	ReadLagSum   time.Duration // of all KernelStamps

	Header  http.Header   // of the response, without secrets; nil: no answer
	Reused  bool          // the connection was open: used before, or prepared
	Connect time.Duration // its set-up time, TLS handshake included; 0 when reused, Never without a connection
	Setup   Setup         // the steps of Connect, as far as known; zero when reused
}

// Answer is the server's answer: without reasoning, as Extend sends it back in a conversation, and in its parts.
type Answer struct {
	Text  []byte  // text, content and tool calls in their order, escaped as inside a JSON string
	IDs   []int32 // token ids, if the server lists them
	Parts Parts
}

// Speculation is the speculative decoding of one answer, by llama.cpp's timings, vLLM's metrics with
// --enable-per-request-metrics, or OpenAI's usage.
type Speculation struct {
	Steps    int // steps that verified a draft; 0: not reported
	Drafted  int // draft tokens
	Accepted int // of them
}

// ServerTimes are a request's times in the server, as its answer reports them.
type ServerTimes struct {
	Queue   time.Duration // from the arrival to being scheduled; 0 without HasQueue
	Prefill time.Duration // from being scheduled to the first token; 0 without HasPrefill
	Decode  time.Duration // from the first token to the last; 0 without HasDecode

	HasQueue, HasPrefill, HasDecode bool
}

const maxName = 200

// Reset makes it the result of a request to which nothing has happened. It keeps slices for reuse.
func (r *Result) Reset() {
	*r = Result{Sent: Never, FirstEvent: Never, First: Never, FirstAnswer: Never, Last: Never, End: Never, Free: Never,
		Connect: Never, Gaps: r.Gaps[:0],
		Answer: Answer{Text: r.Answer.Text[:0], IDs: r.Answer.IDs[:0], Parts: r.Answer.Parts.reuse()}}
}

func (r *Result) addToken(at time.Duration, n int) {
	if r.Events == 0 {
		r.First = at
	} else {
		r.Gaps = append(r.Gaps, at-r.Last)
	}
	r.Last = at
	if n != 1 && r.TokensPerEvent == nil {
		r.TokensPerEvent = make([]int, r.Events, r.Events+16)
		for i := range r.TokensPerEvent {
			r.TokensPerEvent[i] = 1
		}
	}
	if r.TokensPerEvent != nil {
		r.TokensPerEvent = append(r.TokensPerEvent, n)
	}
	r.Events++
}

func (r *Result) countStamp(a arrival) {
	if !a.kernel {
		r.UserStamps++
		return
	}
	r.KernelStamps++
	r.ReadLag = max(r.ReadLag, a.lag)
	r.ReadLagSum += a.lag
}

// TokenCounter counts tokens while requests run: prompt tokens when the first answer token arrives, since the
// prompt has been computed by then, and answer tokens event by event. Any number of calls may share one.
type TokenCounter struct{ Prompt, Output atomic.Int64 }

// add counts n tokens of an answer; first: with its prompt. A nil counter counts nothing.
func (m *TokenCounter) add(first bool, prompt, n int) {
	if m == nil {
		return
	}
	if first {
		m.Prompt.Add(int64(prompt))
	}
	m.Output.Add(int64(n))
}
