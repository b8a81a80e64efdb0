package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names that logs have for the same thing; the first one that a row has counts.
var (
	logPrompt  = []string{"prompt", "messages", "text_input"}
	logAnswer  = []string{"output", "response", "completion"}
	logWritten = []string{"output_length", "output_tokens", "completion_tokens"}
	logSession = []string{"session", "session_id", "conversation_id"}
	logClass   = []string{"class", "model"}
)

const logTime = "timestamp"

// logfile reads a log with text, one JSON object a line. Of the text only lengths and fingerprints leave it.
type logfile struct {
	lines    *lines
	prints   *fingerprints
	timed    bool
	clock    clock
	sessions sessions
	dropped  map[string]bool // names of keys that say more than is kept
	parts    map[string]bool // kinds of parts of prompts that are no text
}

// maxDropped bounds the names that are remembered.
const maxDropped = 100

func newLog(l *lines, first []byte, o Options) (*logfile, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(first, &row); err != nil {
		return nil, fmt.Errorf("no row of a log: %w", err)
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
		return errors.New("no JSON object") // what the parser says may quote the text
	}
	if key := twice(line); key != "" {
		return fmt.Errorf("the key %s is there twice\nhint: which of the two is meant? remove the other", shown(key))
	}
	e.Line = g.lines.line
	if err := g.time(e, take(row, logTime)); err != nil {
		return err
	}
	p := prompt{f: g.prints, parts: g.parts}
	if err := p.read(take(row, logPrompt...)); err != nil {
		return err
	}
	p.fill(e)
	if err := g.output(e, take(row, logWritten...), take(row, logAnswer...)); err != nil {
		return err
	}
	if name := take(row, logSession...); name != nil {
		e.Session, e.Turn = g.sessions.next(string(name))
	}
	if class := take(row, logClass...); class != nil && json.Unmarshal(class, &e.Class) != nil {
		return errors.New("the class or model is no text")
	}
	for name := range row {
		if len(g.dropped) < maxDropped {
			g.dropped[name] = true
		}
	}
	return nil
}

// take gives the first of these keys that a row has, and removes them all.
func take(row map[string]json.RawMessage, names ...string) (found json.RawMessage) {
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
		return errors.New("no timestamp, but the first row has one")
	case !g.timed:
		return errors.New("a timestamp, but the first row has none")
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
			return errors.New("the number of output tokens is no whole number")
		}
	case text != nil:
		var s string
		if json.Unmarshal(text, &s) != nil {
			return errors.New("the output is no text")
		}
		e.Output = g.prints.tokens(len(s))
	default:
		return fmt.Errorf("no output\nhint: a row has one of %s, or a number of tokens, one of %s", strings.Join(logAnswer, ", "), strings.Join(logWritten, ", "))
	}
	return nil
}

// droppedKeys are the names of keys of the log that nothing was kept of.
func (g *logfile) droppedKeys() []string { return slices.Sorted(maps.Keys(g.dropped)) }

// message is one of a chat; its content is a text, or a list of parts.
type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"` // counted as they are written
}

// read takes a prompt: a text, or the messages of a chat.
func (p *prompt) read(raw json.RawMessage) error {
	var text string
	var messages []message
	switch {
	case raw == nil:
		return fmt.Errorf("no prompt\nhint: a row has one of %s", strings.Join(logPrompt, ", "))
	case json.Unmarshal(raw, &text) == nil:
		p.add(text)
		return nil
	case json.Unmarshal(raw, &messages) != nil:
		return errors.New("the prompt is neither a text nor a list of messages")
	}
	for i, m := range messages {
		p.add(m.Role + "\n")
		if !p.content(m.Content) {
			return fmt.Errorf("the content of message %d is neither a text nor a list of parts", i+1)
		}
		p.add(string(m.ToolCalls) + "\n")
	}
	return nil
}

// content adds a text, or the texts of a list of parts; a part of another kind (an image) counts as what it is written as.
func (p *prompt) content(raw json.RawMessage) bool {
	var text string
	var parts []map[string]json.RawMessage
	switch {
	case raw == nil || json.Unmarshal(raw, &text) == nil: // null too: a message of tool calls alone
		p.add(text)
		return true
	case json.Unmarshal(raw, &parts) != nil:
		return false
	}
	for _, part := range parts {
		text = ""
		if json.Unmarshal(part["text"], &text) == nil {
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
