package trace

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	if id == "" || id == "null" || len(r.HashIDs) == 0 || j.what.Format != formatMooncake {
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
		what: Info{Format: formatNative, Timed: known, BlockTokens: h.BlockTokens, Estimated: h.Estimated, Grouped: h.Grouped,
			Ends: h.Ends}}
	switch {
	case h.Recorded != nil && h.TimeUnit == "":
		return nil, errors.New("a recording without time_unit")
	case h.Recorded != nil && (h.BlockBytes < 0 || h.BlockBytes > maxBlockTokens*maxTextBytes):
		return nil, fmt.Errorf("block_bytes %d is not between 0 and %d", h.BlockBytes, maxBlockTokens*maxTextBytes)
	case h.Recorded != nil:
		return &recorded{jsonl: j, blockBytes: h.BlockBytes, tokenBytes: cmp.Or(o.BytesPerToken, defaultTextBytes)}, nil
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

type csvColumns struct {
	time, input, output string
	class, session      string // of newer files; empty = never
}

// csvFormats are the traces published by Azure (dates, with seven digits of the second in 2023 and a zone in 2024), and
// BurstGPT, in seconds, whose older files have neither sessions nor elapsed times.
var csvFormats = map[string]csvColumns{
	formatAzure: {time: "TIMESTAMP", input: "ContextTokens", output: "GeneratedTokens"},
	formatBurstGPT: {time: "Timestamp", input: "Request tokens", output: "Response tokens", class: "Model",
		session: "Session ID"},
}

type table struct {
	*Lines
	format   string
	names    csvColumns
	time     func(text string) (time.Duration, error)
	columns  map[string]int
	width    int
	sessions sessions
}

func newTable(l *Lines, header []byte, format string, o Options) (*table, error) {
	cells, err := cells(string(header))
	if err != nil {
		return nil, err
	}
	clock := o.clock(time.Second)
	t := &table{Lines: l, format: format, names: csvFormats[format], time: clock.parse, columns: map[string]int{},
		width: len(cells)}
	if format == formatAzure {
		t.time = parseDate
	}
	for i, name := range cells {
		if name != "" {
			t.columns[name] = i
		}
	}
	needed := []string{t.names.time, t.names.input, t.names.output}
	for _, name := range needed {
		if _, ok := t.columns[name]; !ok {
			return nil, fmt.Errorf("no column %q in the header\nhint: the first line must contain the column names %s",
				name, strings.Join(needed, ","))
		}
	}
	return t, nil
}

func cells(line string) ([]string, error) {
	fields := strings.Split(line, ",")
	if strings.Contains(line, `"`) {
		var err error
		if fields, err = csv.NewReader(strings.NewReader(line)).Read(); err != nil {
			return nil, errors.New("invalid CSV: unbalanced quotes")
		}
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

func (t *table) info() Info { return Info{Format: t.format, Timed: true} }

func (t *table) next(e *Entry) error {
	line, err := t.Lines.Next()
	if err != nil {
		return err
	}
	e.Line = t.Number
	fields, err := cells(string(line))
	if err != nil {
		return err
	}
	if len(fields) != t.width {
		return fmt.Errorf("%d columns, the header has %d", len(fields), t.width)
	}
	if e.At, err = t.time(fields[t.columns[t.names.time]]); err != nil {
		return err
	}
	if i, ok := t.columns[t.names.class]; ok {
		e.Class = fields[i]
	}
	if i, ok := t.columns[t.names.session]; ok && fields[i] != "" {
		e.Session, e.Turn = t.sessions.next(fields[i])
	}
	if e.Input, err = t.tokens(fields, t.names.input); err != nil {
		return err
	}
	e.Output, err = t.tokens(fields, t.names.output)
	return err
}

func (t *table) tokens(fields []string, column string) (int, error) {
	text := fields[t.columns[column]]
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not an integer", column, text)
	}
	return n, nil
}
