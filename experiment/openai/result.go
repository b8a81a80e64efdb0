package openai

import (
	"errors"
	"math"
	"net/http"
	"time"
)

// Never is the time of what did not happen.
const Never = time.Duration(math.MinInt64)

// ErrUnfinished, as the cause of a context's cancellation, makes the outcome Unfinished instead of Cancelled: the row's
// grace period was over.
var ErrUnfinished = errors.New("unfinished when the row ended")

// Outcome says how a request ended.
type Outcome string

// The outcomes. All but OK and Short are failures.
const (
	OK         Outcome = "ok"
	Short      Outcome = "short"      // ended by the server before the tokens that were forced
	Truncated  Outcome = "truncated"  // ended with neither a finish reason nor [DONE], or before any token
	Timeout    Outcome = "timeout"    // took longer than a request may, in whatever phase
	Connect    Outcome = "connect"    // no connection, or it was lost before any byte of an answer
	Status     Outcome = "status"     // an HTTP status other than 2xx; redirects are not followed
	Protocol   Outcome = "protocol"   // no answer of the API: HTML, garbage, an error object inside a 200
	Cancelled  Outcome = "cancelled"  // by the caller
	Unfinished Outcome = "unfinished" // by the caller, with ErrUnfinished as the cause
)

// Failed says whether the outcome is a failure.
func (o Outcome) Failed() bool { return o != OK && o != Short }

// Call is one request ready to go. Body and the header that it implies are sent as they are.
type Call struct {
	Body       []byte        // the whole body, encoded
	Stream     bool          // the body asks for a stream
	Epoch      time.Time     // the result's times count from here; zero: from the call of Do
	RequestID  string        // sent as X-Request-Id; empty: none
	Fresh      bool          // over a connection of its own, which is closed behind it
	MinTokens  int           // tokens that the server was made to write; fewer are Short. 0: it may stop when it likes
	Counter    *TokenCounter // counts the tokens as they come; nil: nobody counts
	Prompt     int           // tokens of the prompt, for the meter
	KeepAnswer bool          // the result is to have the answer
}

// Result is what became of one request. All times count from Call.Epoch and are Never where the thing did not happen;
// what came before a failure stays.
//
// A time of arrival is when the kernel received the last byte of the event, or, where it gives no stamp, when the read
// that delivered it returned. An event counts as arrived with its data; the empty line behind it may come later.
type Result struct {
	Sent       time.Duration // the request's last byte is handed to the kernel (the moment before that system call): no server can have it whole before
	FirstEvent time.Duration // the first event with data, token or not; streams only
	First      time.Duration // the first token-bearing event; streams only
	Last       time.Duration // the last token-bearing event; without streaming, the body's last byte
	End        time.Duration // it is over: [DONE], the body's end, or the failure. Do may return later, when the connection is drained

	Gaps           []time.Duration // between successive token-bearing events
	TokensPerEvent []int           // of each token-bearing event, by token ids or running usage; nil when every event carried one, as far as is known
	Events         int             // token-bearing events; without streaming 0

	PromptTokens int  // by the server's usage; 0 without HasUsage
	CachedTokens int  // of them, taken from the prefix cache; 0 without HasCached
	OutputTokens int  // by the server's usage, else Estimated
	HasUsage     bool // the server sent usage
	HasCached    bool // and told the cached tokens
	Estimated    bool // OutputTokens is counted from events; without streaming it is the listed token ids, or 1 for some text

	Outcome  Outcome
	Error    string // why it failed: one line of at most 500 bytes, without secrets; empty for OK and Short
	Status   int    // HTTP status; 0: no answer
	Finish   string // the finish reason; empty: none came
	Answer   Answer // what the server said; empty without Call.Keep
	ServerID string // the server's name for the request

	KernelStamps int           // arrivals (token-bearing events, or a document's end) stamped by the kernel
	UserStamps   int           // arrivals stamped at the return of the read
	ReadLag      time.Duration // the longest wait between a kernel stamp and the return of its read
	ReadLagSum   time.Duration // of all of them, KernelStamps in number

	Header  http.Header   // of the response, without secrets; nil: no answer
	Reused  bool          // the connection was open already: used before, or prepared
	Connect time.Duration // what its set-up took, TLS handshake and all; 0 when reused, Never without a connection
	Setup   Setup         // the same part by part, as far as it is known; zero when reused
}

// Answer is what the server said, without its reasoning, in the form in which it is sent back as part of a conversation.
type Answer struct {
	Text []byte  // text, content and tool calls in their order, as they stand inside of a JSON string
	IDs  []int32 // the tokens, where the server lists them
}

// maxName bounds the server's texts that are kept, in bytes.
const maxName = 200

// reset makes the result that of a request of which nothing is known, and keeps the room of its gaps.
func (r *Result) reset() {
	*r = Result{Sent: Never, FirstEvent: Never, First: Never, Last: Never, End: Never, Connect: Never, Gaps: r.Gaps[:0],
		Answer: Answer{Text: r.Answer.Text[:0], IDs: r.Answer.IDs[:0]}}
}

// token notes a token-bearing event of n tokens.
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

// stamped counts which clock an arrival's time is from.
func (r *Result) countStamp(a arrival) {
	if !a.kernel {
		r.UserStamps++
		return
	}
	r.KernelStamps++
	r.ReadLag = max(r.ReadLag, a.lag)
	r.ReadLagSum += a.lag
}
