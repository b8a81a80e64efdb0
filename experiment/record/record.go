package record

import (
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// Micros is a time as an offset from the row's start, in microseconds. The zero value means that
// it did not happen, which is not the same as offset 0.
type Micros struct {
	us int64
	ok bool
}

// At is the offset of us microseconds.
func At(us int64) Micros { return Micros{us: us, ok: true} }

// Get returns the offset in µs and whether it happened.
func (m Micros) Get() (us int64, ok bool) { return m.us, m.ok }

// Us is the offset in µs, 0 where it did not happen.
func (m Micros) Us() int64 { return m.us }

// Add moves the offset by us microseconds; what did not happen stays so.
func (m Micros) Add(us int64) Micros {
	if m.ok {
		m.us += us
	}
	return m
}

// IsZero says that it did not happen; encoding/json's omitzero leaves the field out then.
func (m Micros) IsZero() bool { return !m.ok }

// MarshalJSON writes the bare number; an absent time that was not omitted is null.
func (m Micros) MarshalJSON() ([]byte, error) {
	if !m.ok {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, m.us, 10), nil
}

// UnmarshalJSON reads a number; null is absent.
func (m *Micros) UnmarshalJSON(b []byte) error {
	*m = Micros{}
	if string(b) == "null" {
		return nil
	}
	us, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("reading a time in µs: %w", err)
	}
	*m = At(us)
	return nil
}

// Phases of a row. Only requests whose intended arrival lies in the window count.
const (
	PhaseWarmup   = "warmup"
	PhaseWindow   = "window"
	PhaseCooldown = "cooldown"
)

// Record is what became of one request: one line of <row>.requests.jsonl.zst, the evidence from
// which every figure of the row is computed. Times are µs from the row's start; an absent time
// did not happen.
type Record struct {
	Schema string `json:"schema,omitempty"` // on a file's first record only

	I        int    `json:"i"`
	ServerID string `json:"server_id,omitempty"`
	Class    string `json:"class,omitempty"`
	Session  *int   `json:"session,omitempty"` // number of the conversation; absent = the request is in none
	Turn     *int   `json:"turn,omitempty"`    // of the conversation, from 0; its at_us is the end of the turn before and the think time
	Phase    string `json:"phase"`

	At         Micros `json:"at_us,omitzero"`          // intended arrival
	Ready      Micros `json:"ready_us,omitzero"`       // intended arrival, and a slot free under the cap
	Sent       Micros `json:"sent_us,omitzero"`        // its last byte was about to be handed to the kernel
	FirstEvent Micros `json:"first_event_us,omitzero"` // first event of any kind
	First      Micros `json:"first_us,omitzero"`       // first token-bearing event
	Last       Micros `json:"last_us,omitzero"`        // last token-bearing event; without streaming, the last byte
	End        Micros `json:"end_us,omitzero"`         // the request was over for the client

	ConnectUs *int64 `json:"connect_us,omitempty"` // set-up of the connection, part of sent − ready; absent = an open one was used

	Gaps           Packed `json:"gaps_us,omitzero"`          // between successive token-bearing events; they sum to last − first
	TokensPerEvent Packed `json:"tokens_per_event,omitzero"` // only where not all are 1

	PromptAsked  int  `json:"prompt_asked"`
	PromptTokens *int `json:"prompt_tokens,omitempty"` // as the server counted; absent = it did not say
	CachedTokens *int `json:"cached_tokens,omitempty"` // of the prompt, as the server said; absent = it did not say
	OutputAsked  int  `json:"output_asked"`
	OutputTokens int  `json:"output_tokens"`
	Estimated    bool `json:"estimated"` // output tokens were counted from events, not told by the server

	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	Status  int    `json:"status,omitempty"`
	Finish  string `json:"finish,omitempty"`

	TurnsLost int `json:"turns_lost,omitempty"` // further turns of the conversation, which were never asked since this one failed
}

// OK says that the request ran to its end (ok or short): its latencies count.
func (r *Record) OK() bool { return r.Outcome == "ok" || r.Outcome == "short" }

// RecordWriter writes records as zstd-compressed JSON lines. What was flushed survives a kill.
type RecordWriter struct {
	z *zstd.Encoder
	n int
	b []byte // room for a line
}

// flushEvery bounds what a kill can lose, at little cost in size.
const flushEvery = 500

// NewRecordWriter writes to w, which stays the caller's to close.
func NewRecordWriter(w io.Writer) (*RecordWriter, error) {
	// With a frame even around nothing, a stream of no record differs from a file that was never written.
	// What there is to gain is in the digits' frequencies, not in far matches: the fastest level makes gaps as small as the
	// default one does, within 3 % either way and in half of its time; a larger window only makes them larger.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
	if err != nil {
		return nil, fmt.Errorf("starting the record stream: %w", err)
	}
	return &RecordWriter{z: z}, nil
}

// Write appends one record. The first one carries the file's schema.
func (w *RecordWriter) Write(r *Record) error {
	if w.n == 0 {
		first := *r
		first.Schema = SchemaRecord
		r = &first
	}
	w.b = append(r.AppendJSON(w.b[:0]), '\n')
	if _, err := w.z.Write(w.b); err != nil {
		return fmt.Errorf("writing a request record: %w", err)
	}
	if w.n++; w.n%flushEvery == 0 {
		return w.z.Flush()
	}
	return nil
}

// Close ends the stream; the file is whole only after it.
func (w *RecordWriter) Close() error { return w.z.Close() }
