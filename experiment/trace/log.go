package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	*Lines
	prints   *fingerprints
	timed    bool
	clock    clock
	sessions sessions
	dropped  map[string]bool // ignored keys
	media    int             // parts of prompts that are not text
}

// maxDropped bounds the number of names in dropped.
const maxDropped = 100

func newLog(l *Lines, first []byte, o Options) (*logfile, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(first, &row); err != nil {
		return nil, fmt.Errorf("not a row of a log: %w", err)
	}
	l.unread(first)
	return &logfile{Lines: l, prints: newFingerprints(o), timed: row[logTime] != nil, clock: o.clock(0),
		dropped: map[string]bool{}}, nil
}

func (g *logfile) info() Info { return g.prints.info(formatLog, g.timed) }

func (g *logfile) next(e *Entry) error {
	line, err := g.Lines.Next()
	if err != nil {
		return err
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return errors.New("not a JSON object") // the parser's message could quote the text
	}
	e.Line = g.Number
	if err := g.time(e, takeFirst(row, logTime)); err != nil {
		return err
	}
	p := prompt{f: g.prints}
	if err := p.read(takeFirst(row, logPrompt...)); err != nil {
		return err
	}
	p.fill(e)
	g.media += p.media
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
		return fmt.Errorf("no output\nhint: a row needs one of %s, or a token count in one of %s",
			strings.Join(logAnswer, ", "), strings.Join(logWritten, ", "))
	}
	return nil
}

type conversation struct {
	Turns []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
}

// sharegpt reads conversations from a JSON array or a sequence of objects. Each answer makes a request, whose
// prompt is everything before it.
type sharegpt struct {
	*walker
	prints *fingerprints
	count  int // conversations so far
	line   int // of the last one

	now    conversation
	spoken int // turns of it that were processed
	turn   int // requests of it so far
	prompt prompt
}

// textBlocks is the number of tokens in a block of text: small enough to detect a shared system prompt.
const textBlocks = 64

func newShareGPT(r io.Reader, line int, o Options) *sharegpt {
	return &sharegpt{walker: newWalker(r, line), prints: newFingerprints(o)}
}

func (s *sharegpt) info() Info { return s.prints.info(formatShareGPT, false) }

func (s *sharegpt) next(e *Entry) error {
	for {
		for ; s.spoken < len(s.now.Turns); s.spoken++ {
			turn := s.now.Turns[s.spoken]
			if answers[turn.From] && s.prompt.bytes > 0 {
				s.turn++
				*e = Entry{Line: s.line, Output: s.prints.tokens(len(turn.Value)), Session: s.count,
					Turn: s.turn}
				s.prompt.fill(e)
				s.prompt.add(turn.Value + "\n")
				s.spoken++
				return nil
			}
			s.prompt.add(turn.From + "\n" + turn.Value + "\n")
		}
		if err := s.converse(); err != nil {
			return err
		}
	}
}

// answers are the names of models in such files.
var answers = map[string]bool{"gpt": true, "assistant": true, "chatgpt": true, "model": true, "bot": true, "bard": true,
	"bing": true}

func (s *sharegpt) converse() error {
	s.now, s.spoken, s.turn = conversation{}, 0, 0
	s.prompt = prompt{f: s.prints}
	number := s.count + 1
	err := s.walker.next(func() error {
		s.count, s.line = number, s.at()
		return s.fields(map[string]any{"conversations": &s.now.Turns})
	})
	if err != nil && err != io.EOF {
		return fmt.Errorf("conversation %d: %w", number, err)
	}
	return err
}
