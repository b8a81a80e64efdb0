package mock

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Bounds of the stored records: requests, and the sum of their events (24 bytes each).
const (
	maxRecords = 65536
	maxEvents  = 4 << 20
)

// Record has the actual times of one request that the engine accepted: one line of GET /debug/requests. Times
// are monotonic, in ns since the server's start. A time t is ArrivalUnixNS + (t − ArrivalNS) by the wall clock.
type Record struct {
	N           uint64 `json:"n"`  // counts finished requests from 1; ?since=N returns later ones
	ID          string `json:"id"` // as in the response
	RequestID   string `json:"request_id,omitempty"`
	API         string `json:"api"`                   // completions, chat, responses, messages
	Model       string `json:"model"`                 // that the request asked for
	Session     string `json:"session,omitempty"`     // the header X-Session-ID
	Traceparent string `json:"traceparent,omitempty"` // the header
	Category    string `json:"category,omitempty"`    // of metadata.category
	// The bytes of prompt, messages, input, or query and documents, as in the body.
	PromptSHA256  string  `json:"prompt_sha256,omitempty"` // hexadecimal
	PromptBytes   int     `json:"prompt_bytes,omitempty"`
	Images        []Image `json:"images,omitempty"` // of the prompt, in order
	ArrivalUnixNS int64   `json:"arrival_unix_ns"`
	ArrivalNS     int64   `json:"arrival_ns"`            // request headers read
	AdmittedNS    int64   `json:"admitted_ns,omitempty"` // left the queue
	HeadersNS     int64   `json:"headers_ns,omitempty"`  // response headers written
	// For each event with tokens: the due time of its last token, and the start and end of its write. On
	// loopback it arrives in between. Events of one write have the same times. A response without streaming
	// is one event.
	DueNS           []int64 `json:"due_ns"`
	WritingNS       []int64 `json:"writing_ns"`
	WrittenNS       []int64 `json:"written_ns"`
	TokensPerEvent  []int   `json:"tokens_per_event,omitempty"` // absent: 1 each
	PromptTokens    int     `json:"prompt_tokens"`
	CachedTokens    int     `json:"cached_tokens"`
	OutputTokens    int     `json:"output_tokens"`              // written
	Preemptions     int     `json:"preemptions,omitempty"`      // number of preemptions
	ReasoningTokens int     `json:"reasoning_tokens,omitempty"` // written, of OutputTokens
	// of the first event with an answer token, neither reasoning nor without text; 0: none
	FirstAnswerDueNS     int64 `json:"first_answer_due_ns,omitempty"`
	FirstAnswerWrittenNS int64 `json:"first_answer_written_ns,omitempty"`
	Drafts               int   `json:"drafts,omitempty"`          // steps that verified draft tokens
	DraftTokens          int   `json:"draft_tokens,omitempty"`    // verified
	AcceptedTokens       int   `json:"accepted_tokens,omitempty"` // of these
	// a structured answer or a tool call fits its schema; nil: neither
	Valid *bool `json:"valid,omitempty"`
	// a known question got the right answer; nil: no known question
	Correct *bool   `json:"correct,omitempty"`
	Aborted bool    `json:"aborted,omitempty"` // the client left before the end
	Answer  []int32 `json:"-"`                 // token ids; nil unless Job.KeepAnswer
	// "length", "stop", "tool_calls", or "abort": the client disconnected, or a fault ended it
	Finish string `json:"finish"`
}

type Image struct {
	Bytes  int    `json:"bytes"`  // decoded from base64
	SHA256 string `json:"sha256"` // of these, hexadecimal
	Type   string `json:"type"`   // png or jpeg
	Width  int    `json:"width"`  // pixels
	Height int    `json:"height"`
}

// reserve allocates space for events in advance, at most 8192, so that writing them does not allocate.
func (r *Record) reserve(events int) {
	n := min(events, 8192)
	all := make([]int64, 3*n)
	r.DueNS, r.WritingNS, r.WrittenNS = all[:0:n], all[n:n:2*n], all[2*n:2*n:3*n]
}

type recordRing struct {
	mu      sync.Mutex
	n       uint64
	events  int
	records []*Record
	refused []time.Duration
	frozen  []Span
}

// Span is from one time since the server's start to another.
type Span struct{ From, To time.Duration }

// Truth is what a server did.
type Truth struct {
	Records []*Record       // in the order of their ends
	Refused []time.Duration // arrivals of requests without a record, as an error answered them, or a page
	Frozen  []Span          // by the fault freeze
}

// Truth has the latest requests, without those that have not ended.
func (s *Server) Truth() Truth {
	t := &s.records
	records := t.after(0)
	t.mu.Lock()
	defer t.mu.Unlock()
	return Truth{records, slices.Clone(t.refused), slices.Clone(t.frozen)}
}

// note adds to refused or frozen.
func note[T any](t *recordRing, list *[]T, x T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(*list) < maxRecords {
		*list = append(*list, x)
	}
}

func (t *recordRing) add(r *Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	r.N = t.n
	t.records = append(t.records, r)
	t.events += cap(r.DueNS)
	for len(t.records) > maxRecords || (t.events > maxEvents && len(t.records) > 1) {
		t.events -= cap(t.records[0].DueNS)
		t.records[0] = nil
		t.records = t.records[1:]
	}
}

func (t *recordRing) after(n uint64) []*Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []*Record
	for _, r := range t.records {
		if r.N > n {
			found = append(found, r)
		}
	}
	return found
}

func (s *Server) listRequests(w http.ResponseWriter, r *http.Request) {
	var since uint64
	if text := r.URL.Query().Get("since"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			badRequest("since=%s is not the number of a record", text).write(w)
			return
		}
		since = n
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	for _, record := range s.records.after(since) {
		if lines.Encode(record) != nil {
			return // the client disconnected
		}
	}
}

func (s *Server) clearRequests(w http.ResponseWriter, _ *http.Request) {
	t := &s.records
	t.mu.Lock()
	t.records, t.events = nil, 0
	t.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
