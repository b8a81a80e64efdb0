package trace

import (
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

func (s *sharegpt) info() Info { return s.prints.info(ShareGPT, false) }

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
