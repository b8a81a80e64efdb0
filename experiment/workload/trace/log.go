package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Alternative keys for each value of a log; the first one in a row counts.
var (
	logPrompt  = []string{"prompt", "messages", "text_input"}
	logAnswer  = []string{"output", "response", "completion"}
	logWritten = []string{"output_length", "output_tokens", "completion_tokens"}
	logSession = []string{"session", "session_id", "conversation_id"}
	logClass   = []string{"class", "model"}
)

const logTime = "timestamp"

// logfile reads a log with text, one JSON object a line. It keeps only lengths and fingerprints of the text.
type logfile struct {
	lines    *lines
	prints   *fingerprints
	timed    bool
	clock    clock
	sessions sessions
	dropped  map[string]bool // ignored keys
	parts    map[string]bool // types of prompt parts that are not text
}

// maxDropped bounds the number of names in dropped and parts.
const maxDropped = 100

func newLog(l *lines, first []byte, o Options) (*logfile, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(first, &row); err != nil {
		return nil, fmt.Errorf("not a row of a log: %w", err)
	}
	l.unread(first)
	return &logfile{lines: l, prints: newFingerprints(o, textBlocks), timed: row[logTime] != nil, clock: o.clock(0), dropped: map[string]bool{}, parts: map[string]bool{}}, nil
}

func (g *logfile) info() Info { return g.prints.info(Log, g.timed) }
func (g *logfile) at() int    { return g.lines.line }

func (g *logfile) next(e *Entry) error {
	line, err := g.lines.next()
	if err != nil {
		return err
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return errors.New("not a JSON object") // the parser's message could quote the text
	}
	if key := twice(line); key != "" {
		return fmt.Errorf("duplicate key %s\nhint: remove one of the two", shown(key))
	}
	e.Line = g.lines.line
	if err := g.time(e, takeFirst(row, logTime)); err != nil {
		return err
	}
	p := prompt{f: g.prints, parts: g.parts}
	if err := p.read(takeFirst(row, logPrompt...)); err != nil {
		return err
	}
	p.fill(e)
	if err := g.output(e, takeFirst(row, logWritten...), takeFirst(row, logAnswer...)); err != nil {
		return err
	}
	if name := takeFirst(row, logSession...); name != nil {
		e.Session, e.Turn = g.sessions.next(string(name))
	}
	if class := takeFirst(row, logClass...); class != nil && json.Unmarshal(class, &e.Class) != nil {
		return errors.New("the class or model is not a string")
	}
	for name := range row {
		if len(g.dropped) < maxDropped {
			g.dropped[name] = true
		}
	}
	return nil
}

// takeFirst returns the first of these keys that a row has, and removes all of them from the row.
func takeFirst(row map[string]json.RawMessage, names ...string) (found json.RawMessage) {
	for _, name := range names {
		if v := row[name]; v != nil && found == nil && string(v) != "null" {
			found = v
		}
		delete(row, name)
	}
	return found
}

func (g *logfile) time(e *Entry, raw json.RawMessage) (err error) {
	switch {
	case raw == nil && !g.timed:
		return nil
	case raw == nil:
		return errors.New("timestamp is missing, but the first row has one")
	case !g.timed:
		return errors.New("unexpected timestamp: the first row has none")
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		e.At, err = g.clock.parse(string(raw))
		return err
	}
	e.At, err = parseDate(text)
	return err
}

func (g *logfile) output(e *Entry, tokens, text json.RawMessage) error {
	switch {
	case tokens != nil:
		if json.Unmarshal(tokens, &e.Output) != nil {
			return errors.New("the number of output tokens is not an integer")
		}
	case text != nil:
		var s string
		if json.Unmarshal(text, &s) != nil {
			return errors.New("the output is not a string")
		}
		e.Output = g.prints.tokens(len(s))
	default:
		return fmt.Errorf("no output\nhint: a row needs one of %s, or a token count in one of %s", strings.Join(logAnswer, ", "), strings.Join(logWritten, ", "))
	}
	return nil
}

// droppedKeys are the ignored keys, sorted.
func (g *logfile) droppedKeys() []string { return slices.Sorted(maps.Keys(g.dropped)) }

// message is one message of a chat; its content is a string or a list of parts.
type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Parts     json.RawMessage `json:"parts"`      // of OpenTelemetry: instead of content
	ToolCalls json.RawMessage `json:"tool_calls"` // counted by its bytes
}

// read adds a prompt: a string, or the messages of a chat.
func (p *prompt) read(raw json.RawMessage) error {
	var text string
	var messages []message
	switch {
	case raw == nil:
		return fmt.Errorf("no prompt\nhint: a row needs one of %s", strings.Join(logPrompt, ", "))
	case json.Unmarshal(raw, &text) == nil:
		p.add(text)
		return nil
	case json.Unmarshal(raw, &messages) != nil:
		return errors.New("the prompt is neither a string nor a list of messages")
	}
	for i, m := range messages {
		p.add(m.Role + "\n")
		if !p.content(m.Content) || !p.content(m.Parts) {
			return fmt.Errorf("the content of message %d is neither a string nor a list of parts", i+1)
		}
		p.add(string(m.ToolCalls) + "\n")
	}
	return nil
}

// content adds a string, or the texts of a list of parts; any other part (an image) counts by its bytes.
func (p *prompt) content(raw json.RawMessage) bool {
	var text string
	var parts []map[string]json.RawMessage
	switch {
	case raw == nil || json.Unmarshal(raw, &text) == nil: // null too: a message with only tool calls
		p.add(text)
		return true
	case json.Unmarshal(raw, &parts) != nil:
		return false
	}
	for _, part := range parts {
		text = ""
		if json.Unmarshal(part["text"], &text) == nil || json.Unmarshal(part["content"], &text) == nil && text != "" {
			p.add(text)
			continue
		}
		var kind string
		if json.Unmarshal(part["type"], &kind) == nil && len(p.parts) < maxDropped {
			p.parts[shown(kind)] = true
		}
		for _, key := range slices.Sorted(maps.Keys(part)) {
			p.add(string(part[key]))
		}
	}
	return true
}
