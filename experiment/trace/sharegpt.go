package trace

import (
	"errors"
	"fmt"
	"io"
)

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
	array  bool
	begun  bool
	count  int // conversations so far

	now    conversation
	spoken int // turns of it that were processed
	turn   int // requests of it so far
	prompt prompt
}

// textBlocks is the number of tokens in a block of text: small enough to detect a shared system prompt.
const textBlocks = 64

func newShareGPT(r io.Reader, array bool, line int, o Options) *sharegpt {
	return &sharegpt{walker: newWalker(r, line), array: array, prints: newFingerprints(o)}
}

func (s *sharegpt) info() Info { return s.prints.info(ShareGPT, false) }

func (s *sharegpt) next(e *Entry) error {
	for {
		for ; s.spoken < len(s.now.Turns); s.spoken++ {
			turn := s.now.Turns[s.spoken]
			if answers[turn.From] && s.prompt.bytes > 0 {
				s.turn++
				*e = Entry{Line: s.counter.line, Output: s.prints.tokens(len(turn.Value)), Session: s.count,
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
	if s.array && !s.begun {
		if _, err := s.json.Token(); err != nil { // opening bracket
			return cut(err)
		}
	}
	s.begun = true
	more := s.json.More() // peeks at the next byte, so that the rest of it is buffered
	s.mark()
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

// cut replaces an end of file inside a value by an readable error.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("unexpected end of file")
	}
	return err
}
