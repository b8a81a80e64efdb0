// Package record is what a run leaves on disk, and what can be computed from it alone: request records, samples, rows
// and the run's manifest. A row's figures are computed from the stored µs, so that the stored records always give the
// same figures. It opens no file, sends nothing and judges nothing.
package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
	"time"
)

// Phases of a row. A request belongs to a phase by its intended arrival; only those of the window count.
const (
	PhaseWarmup   = "warmup"
	PhaseWindow   = "window"
	PhaseCooldown = "cooldown"
)

// Record is one request: one line of <row>.requests.jsonl.zst. Times are µs from the row's start; an absent
// time did not happen.
type Record struct {
	Schema string `json:"schema,omitempty"` // in the first record of a file

	I        int    `json:"i"`
	ServerID string `json:"server_id,omitempty"`
	Class    string `json:"class,omitempty"`
	Model    string `json:"model,omitempty"`    // that the request names; absent = the row has one model only
	Endpoint *int   `json:"endpoint,omitempty"` // index of the replica in [target] replicas; absent = no replicas
	Category string `json:"category,omitempty"` // of the real prompt, as its file has it; absent = none
	// first 16 hex digits of the SHA-256 of the real prompt's JSON; absent = a synthetic prompt
	PromptHash string `json:"prompt_hash,omitempty"`
	Session    *int   `json:"session,omitempty"` // number of the conversation; absent = none
	// of the conversation, from 0; at_us of a later turn is the end of the previous one plus the think time
	Turn *int `json:"turn,omitempty"`
	// requests of the whole session, in the record of its first; absent in others, and if the session began at a
	// sampled point of its life
	Turns int `json:"turns,omitempty"`
	Agent int `json:"agent,omitempty"` // number of the subagent; absent = the main agent
	// number of the load worker that sent the request; absent = bench sweep itself
	Worker *int   `json:"worker,omitempty"`
	Phase  string `json:"phase"`

	Arrival    Micros `json:"at_us,omitzero"`          // intended arrival
	Ready      Micros `json:"ready_us,omitzero"`       // intended arrival, and a worker free under the cap
	Sent       Micros `json:"sent_us,omitzero"`        // before its last byte goes to the kernel
	FirstEvent Micros `json:"first_event_us,omitzero"` // first event of any kind
	First      Micros `json:"first_us,omitzero"`       // first token-bearing event
	// FirstAnswer is the first event with text or a tool call of an answer with reasoning; without reasoning it is
	// First.
	FirstAnswer Micros `json:"first_answer_us,omitzero"`
	Last        Micros `json:"last_us,omitzero"` // last token-bearing event; without streaming the last byte
	End         Micros `json:"end_us,omitzero"`  // the request ended for the client

	// connection set-up, part of sent − ready; absent = an open connection
	ConnectUs *int64 `json:"connect_us,omitempty"`

	// between successive token-bearing events; they sum to last − first
	Gaps           Packed `json:"gaps_us,omitzero"`
	TokensPerEvent Packed `json:"tokens_per_event,omitzero"` // absent = all are 1

	// 0 = not known: a real prompt, or a turn behind reasoning that is not counted
	PromptRequested int  `json:"prompt_asked"`
	PromptTokens    *int `json:"prompt_tokens,omitempty"` // as the server reports; absent = not reported
	CachedTokens    *int `json:"cached_tokens,omitempty"` // of the prompt, as the server reports; absent = not reported
	OutputRequested int  `json:"output_asked"`
	OutputTokens    int  `json:"output_tokens"`
	Estimated       bool `json:"estimated"` // output tokens are the client's count, not reported

	// of the output tokens; absent = an answer without reasoning
	ReasoningTokens    *int `json:"reasoning_tokens,omitempty"`
	ReasoningEstimated bool `json:"reasoning_estimated,omitempty"` // they are the client's count, not reported
	// the text has <think> or </think>: reasoning that the server did not parse
	ThinkTag bool `json:"think_tag,omitempty"`

	// steps that verified a draft of speculative decoding; absent = not reported
	Drafts *int `json:"drafts,omitempty"`
	// proposed tokens, as the answer reports; absent = not reported
	DraftTokens    *int `json:"draft_tokens,omitempty"`
	AcceptedTokens *int `json:"accepted_tokens,omitempty"` // of them

	// reported, but it cannot be true: the counts above do without it
	Impossible *Usage `json:"impossible_usage,omitempty"`

	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	Status  int    `json:"status,omitempty"`
	Finish  string `json:"finish,omitempty"`

	Server *ServerTimes `json:"server_us,omitempty"` // as the answer reports; absent = not reported

	// later turns of the conversation that were not sent because this one failed, or because its user left
	TurnsLost int `json:"turns_lost,omitempty"`

	// the answer has the form that the request asks for; absent = not checked
	Valid   *bool  `json:"valid,omitempty"`
	Correct *bool  `json:"correct,omitempty"`        // it is one of the expected answers; absent = none is known
	Invalid string `json:"invalid_reason,omitempty"` // a code of docs/matrix.md#answers; absent = valid, or not checked
}

type Usage struct {
	Prompt *int `json:"prompt_tokens,omitempty"`
	Cached *int `json:"cached_tokens,omitempty"`
	Output *int `json:"output_tokens,omitempty"`
}

func (r *Record) Left() bool { return r.Outcome == "left" }

func (r *Record) Failed() bool { return !r.OK() && !r.Left() }

// OK reports whether the request completed (ok or short): its latencies count.
func (r *Record) OK() bool { return r.Outcome == "ok" || r.Outcome == "short" }

// Micros is a time as an offset from the row's start, in µs. The zero value is a time that did not happen,
// unlike offset 0.
type Micros struct {
	us int64
	ok bool
}

func At(us int64) Micros { return Micros{us: us, ok: true} }

func (m Micros) Get() (us int64, ok bool) { return m.us, m.ok }

// Us is the offset in µs; 0 if it did not happen.
func (m Micros) Us() int64 { return m.us }

func (m Micros) Add(us int64) Micros {
	if m.ok {
		m.us += us
	}
	return m
}

func (m Micros) IsZero() bool { return !m.ok }

func (m Micros) MarshalJSON() ([]byte, error) {
	if !m.ok {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, m.us, 10), nil
}

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

// RoundGaps are the differences of the rounded times in µs, so that they sum to last − first.
func RoundGaps(first time.Duration, gaps []time.Duration) Packed {
	var room packing
	out := Packed{b: room[:0]}
	at, before := first, RoundMicros(first)
	for _, g := range gaps {
		at += g
		now := RoundMicros(at)
		out = out.Append(now - before)
		before = now
	}
	return out.clone()
}

func RoundMicros(d time.Duration) int64 {
	const half = time.Microsecond / 2
	if d < 0 {
		return int64((d - half) / time.Microsecond)
	}
	return int64((d + half) / time.Microsecond)
}

// Packed is a compact list of integers: two bytes each below 16.4 ms in µs, three below 2.1 s. The zero value is empty.
type Packed struct {
	b []byte // uvarints of encoding/binary; a negative number takes ten bytes
	n int
}

func Pack[T int | int64](xs ...T) Packed {
	var room packing
	p := Packed{b: room[:0]}
	for _, x := range xs {
		p = p.Append(int64(x))
	}
	return p.clone()
}

// packing is room on the stack to build a list: most fit, and are then allocated once, at their size.
type packing [4 << 10]byte

// Append returns the list with x appended; as with the built-in append, p must not be used afterwards.
func (p Packed) Append(x int64) Packed {
	return Packed{b: binary.AppendUvarint(p.b, uint64(x)), n: p.n + 1}
}

func (p Packed) clone() Packed {
	if p.n == 0 {
		return Packed{}
	}
	return Packed{b: bytes.Clone(p.b), n: p.n}
}

func (p Packed) Len() int { return p.n }

func (p Packed) IsZero() bool { return p.n == 0 }

// All yields the entries in order.
func (p Packed) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for b := p.b; len(b) > 0; {
			var x uint64
			n := 2
			if len(b) > 1 && b[0] >= 0x80 && b[1] < 0x80 { // most, and much faster
				x = uint64(b[0]&0x7f) | uint64(b[1])<<7
			} else {
				x, n = binary.Uvarint(b)
			}
			b = b[n:]
			if !yield(int64(x)) {
				return
			}
		}
	}
}

func (p *Packed) take() int64 {
	x, n := binary.Uvarint(p.b)
	p.b, p.n = p.b[n:], p.n-1
	return int64(x)
}

func (p Packed) MarshalJSON() ([]byte, error) { return p.appendJSON(nil), nil }

func (p Packed) appendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for x := range p.All() {
		dst = strconv.AppendInt(dst, x, 10)
		dst = append(dst, ',')
	}
	if p.n > 0 {
		dst = dst[:len(dst)-1]
	}
	return append(dst, ']')
}

func (p *Packed) UnmarshalJSON(text []byte) error {
	*p = Packed{}
	if string(text) == "null" {
		return nil
	}
	inner, ok := bytes.CutPrefix(text, []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	if !ok || !closed {
		return fmt.Errorf("reading a list of numbers: %.20q is not an array", text)
	}
	if len(bytes.TrimSpace(inner)) == 0 {
		return nil
	}
	var room packing
	q := Packed{b: room[:0]}
	for entry := range bytes.SplitSeq(inner, []byte(",")) {
		x, err := strconv.ParseInt(string(bytes.TrimSpace(entry)), 10, 64)
		if err != nil {
			return fmt.Errorf("reading a list of numbers: entry %d: %w", q.n+1, err)
		}
		q = q.Append(x)
	}
	*p = q.clone()
	return nil
}
