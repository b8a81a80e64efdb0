package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// row is one line of a Mooncake or native trace, as it is read and written.
type row struct {
	Timestamp json.Number `json:"timestamp,omitempty"`
	Input     *int        `json:"input_length"`
	Output    *int        `json:"output_length"`
	HashIDs   []uint64    `json:"hash_ids,omitempty"`
	Session   int         `json:"session,omitempty"`
	Turn      int         `json:"turn,omitempty"`
	Class     string      `json:"class,omitempty"`

	SessionID json.RawMessage `json:"session_id,omitempty"` // of Mooncake's rows in other tools; only read

	Node    int         `json:"node,omitempty"` // from 1
	Parents []int       `json:"parents,omitempty"`
	At      json.Number `json:"at_ms,omitempty"`
	Wait    json.Number `json:"wait_ms,omitempty"`
	Took    json.Number `json:"took_ms,omitempty"`
	Agent   int         `json:"agent,omitempty"`
}

type jsonl struct {
	*Lines
	what  Info
	clock clock
	row   row // the last one

	threads      map[string]uint64 // first block of the first row of a session_id
	later, delta int               // rows of a session_id behind its first, and those without its first block
}

const mostThreads = 100_000

// turn counts a later row of a session_id with blocks. It has the turns before in its prompt, as Mooncake's published
// rows, or only what the turn adds, which aiperf and Dynamo's mooncake-delta add up themselves.
func (j *jsonl) turn(r *row) {
	id := string(r.SessionID)
	if id == "" || id == "null" || len(r.HashIDs) == 0 || j.what.Format != Mooncake {
		return
	}
	first, later := j.threads[id]
	switch {
	case later:
		j.later++
		if r.HashIDs[0] != first {
			j.delta++
		}
	case len(j.threads) < mostThreads:
		j.threads[id] = r.HashIDs[0]
	}
}

// mooncakeBlock is the number of tokens in a block of Mooncake's traces, unless the options say another.
const mooncakeBlock = 512

func newMooncake(l *Lines, first []byte, o Options) *jsonl {
	l.unread(first)
	return &jsonl{Lines: l, clock: o.clock(time.Millisecond), threads: map[string]uint64{},
		what: Info{Format: Mooncake, Timed: true, BlockTokens: cmp.Or(o.BlockTokens, mooncakeBlock)}}
}

type header struct {
	Schema      string `json:"schema"`
	TimeUnit    string `json:"time_unit,omitempty"`    // s, ms, us, ns; absent: rows without times
	BlockTokens int    `json:"block_tokens,omitempty"` // absent: rows without hash ids
	Estimated   bool   `json:"estimated,omitempty"`    // lengths were estimated from text
	Grouped     bool   `json:"grouped,omitempty"`      // the requests of a session stand together, with their graph
	Ends        bool   `json:"ends,omitempty"`         // waits are tool time alone

	Recorded   json.RawMessage `json:"recorded,omitempty"`
	BlockBytes int             `json:"block_bytes,omitempty"` // of text in a block
}

func newNative(l *Lines, first []byte, o Options) (described, error) {
	var h header
	if err := decode(first, &h); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	unit, known := units[h.TimeUnit]
	switch {
	case h.Schema != nativeSchema:
		return nil, fmt.Errorf("unknown schema %q\nhint: this bench reads %q", h.Schema, nativeSchema)
	case h.TimeUnit != "" && !known:
		return nil, fmt.Errorf("unknown time_unit %q\nhint: use s, ms, us or ns", h.TimeUnit)
	case h.BlockTokens < 0 || h.BlockTokens > maxBlockTokens:
		return nil, fmt.Errorf("block_tokens %d is not between 1 and %d", h.BlockTokens, maxBlockTokens)
	case o.TimeUnit != "" || o.BlockTokens > 0:
		return nil, errors.New("the header of the trace sets time_unit and block_tokens\nhint: remove them from the options")
	}
	j := &jsonl{Lines: l, clock: clock{unit: unit, stated: true},
		what: Info{Format: Native, Timed: known, BlockTokens: h.BlockTokens, Estimated: h.Estimated, Grouped: h.Grouped,
			Ends: h.Ends}}
	switch {
	case h.Recorded != nil && h.TimeUnit == "":
		return nil, errors.New("a recording without time_unit")
	case h.Recorded != nil:
		return newRecorded(j, &h, o)
	case h.Grouped:
		return &native{jsonl: j}, nil
	}
	return j, nil
}

func (j *jsonl) info() Info { return j.what }

func (j *jsonl) next(e *Entry) error {
	line, err := j.Lines.Next()
	if err != nil {
		return err
	}
	j.row = row{}
	r := &j.row
	if err := decode(line, r); err != nil {
		return fmt.Errorf("not a row of a %s trace: %w", j.what.Format, err)
	}
	if r.Input == nil || r.Output == nil {
		return fmt.Errorf("not a row of a %s trace: input_length or output_length is missing", j.what.Format)
	}
	j.turn(r)
	if r.Session < 0 || r.Turn < 0 {
		return errors.New("session and turn count from 1")
	}
	*e = Entry{Line: j.Number, Input: *r.Input, Output: *r.Output, Blocks: r.HashIDs, Session: r.Session,
		Turn: r.Turn, Class: r.Class}
	if r.HashIDs != nil && j.what.BlockTokens == 0 {
		return errors.New("hash_ids in a trace whose header has no block_tokens")
	}
	e.At, err = j.time(string(r.Timestamp))
	return err
}

func (j *jsonl) time(text string) (time.Duration, error) {
	switch {
	case !j.what.Timed && text != "":
		return 0, errors.New("a timestamp in a trace whose header has no time_unit")
	case !j.what.Timed:
		return 0, nil
	case text == "":
		return 0, errors.New("no timestamp")
	}
	return j.clock.parse(text)
}
