package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// conversation is one of a ShareGPT file.
type conversation struct {
	Turns []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
}

// sharegpt reads conversations, one after the other out of a JSON array or a sequence of objects. Each answer makes a request: its
// prompt is all that was said before it.
type sharegpt struct {
	meter  *meter
	json   *json.Decoder
	prints *fingerprints
	array  bool
	begun  bool
	count  int // conversations so far

	now    conversation
	spoken int // turns of it that were read
	turn   int // requests of it so far
	prompt prompt
}

// textBlocks is the size of blocks cut from text: fine enough to see a shared system prompt.
const textBlocks = 64

// newShareGPT reads r, which begins on that line of the file.
func newShareGPT(r io.Reader, array bool, line int, o Options) *sharegpt {
	m := &meter{r: r, line: line}
	return &sharegpt{meter: m, json: json.NewDecoder(m), array: array, prints: newFingerprints(o, textBlocks)}
}

func (s *sharegpt) info() Info { return s.prints.info(ShareGPT, false) }
func (s *sharegpt) at() int    { return s.meter.line }

func (s *sharegpt) next(e *Entry) error {
	for {
		for ; s.spoken < len(s.now.Turns); s.spoken++ {
			said := s.now.Turns[s.spoken]
			if answers[said.From] && s.prompt.bytes > 0 {
				s.turn++
				*e = Entry{Line: s.meter.line, Output: s.prints.tokens(len(said.Value)), Session: s.count, Turn: s.turn}
				s.prompt.fill(e)
				s.prompt.add(said.Value + "\n")
				s.spoken++
				return nil
			}
			s.prompt.add(said.From + "\n" + said.Value + "\n")
		}
		if err := s.converse(); err != nil {
			return err
		}
	}
}

// answers are the names that models have in such files.
var answers = map[string]bool{"gpt": true, "assistant": true, "chatgpt": true, "model": true, "bot": true, "bard": true, "bing": true}

// converse reads the next conversation.
func (s *sharegpt) converse() error {
	if s.array && !s.begun {
		if _, err := s.json.Token(); err != nil { // its bracket
			return cut(err)
		}
	}
	s.begun = true
	more := s.json.More() // looks at the next byte, so that the rest of it is buffered
	s.meter.begin(s.json.InputOffset(), s.json.Buffered())
	if s.array && !more {
		if _, err := s.json.Token(); err != nil {
			return fmt.Errorf("behind conversation %d: %w", s.count, cut(err))
		}
		return io.EOF
	}
	s.now, s.spoken, s.turn = conversation{}, 0, 0
	s.prompt = prompt{f: s.prints}
	switch err := s.json.Decode(&s.now); {
	case err == io.EOF && !s.array:
		return io.EOF
	case err != nil:
		return fmt.Errorf("conversation %d: %w", s.count+1, cut(err))
	}
	s.count++
	return nil
}

// cut says of an end of the file in the middle of something what it is.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends in the middle of it")
	}
	return err
}
