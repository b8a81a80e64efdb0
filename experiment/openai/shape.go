package openai

import (
	"bytes"

	"bench/experiment/scan"
)

// shape is what the events of one stream have in common: most differ only in the token's text and its id. It is
// learned from an event that the walker has read, and matches events with the same bytes around them.
type shape struct {
	head, tail     []byte // up to the text's opening quote; from its closing quote on. head empty: nothing learned
	end            []byte // behind the token ids or the number, which stand behind tail; empty: the events have neither
	numbered       bool   // it is a number
	idFrom, idUpTo int    // the request's id in head; both 0: behind the text, or none
	text           piece  // what the text is, without its bytes
	hasRole        bool   // the delta has a role
}

// longestShape is the longest event to learn from, in bytes: vLLM's first event can list the ids of the prompt.
const longestShape = 4 << 10

// match reads an event of the shape into the walker's chunk.
func (s *shape) match(w *walker, data []byte) bool {
	if len(s.head) == 0 || len(data) < len(s.head)+len(s.tail) || !bytes.Equal(data[:len(s.head)], s.head) {
		return false
	}
	w.JSON = scan.JSON{Text: data, At: len(s.head) - 1}
	if !w.Quoted() {
		return false
	}
	textEnd := w.At - 1
	w.c = chunk{hasChoices: true, hasRole: s.hasRole, hasToken: textEnd > len(s.head)}
	if !s.matchRest(w) {
		return false
	}
	switch text := data[len(s.head):textEnd]; {
	case len(text) == 0:
	case s.text.part == partReasoning:
		w.c.hasReasoning = true
	default:
		w.pieces = w.pieces[:0]
		w.addAnswer(s.text, text)
	}
	if s.idUpTo > 0 {
		w.c.id = data[s.idFrom:s.idUpTo]
	}
	return true
}

func (s *shape) matchRest(w *walker) bool {
	if len(s.end) == 0 {
		return bytes.Equal(w.Text[w.At-1:], s.tail)
	}
	if !bytes.HasPrefix(w.Text[w.At-1:], s.tail) {
		return false
	}
	w.At += len(s.tail) - 1
	if s.numbered {
		_, ok := w.Natural()
		return ok && bytes.Equal(w.Text[w.At:], s.end)
	}
	w.tokenIDs = w.tokenIDs[:0]
	for w.tokenID() {
		if !w.Eat(',') {
			w.c.tokenIDs = w.tokenIDs
			return bytes.Equal(w.Text[w.At:], s.end)
		}
	}
	return false
}

// learn takes the shape of the event that the walker has just read, if it has one text, and behind it at most one
// list of token ids or the event's number, and nothing else that may change. The request's id must stand before the
// text.
func (s *shape) learn(w *walker) {
	c := &w.c
	if w.texts != 1 || !c.hasChoices || len(c.finishReason) > 0 || c.hasPrompt || c.hasOutput || c.hasCached ||
		c.hasApart ||
		c.times != (ServerTimes{}) || c.refused != nil || c.more != nil || c.ended || len(w.Text) > longestShape {
		return
	}
	from, upTo := w.idsFrom, w.idsUpTo
	numbered := w.eventNumber.upTo > 0
	if numbered {
		from, upTo = w.eventNumber.from, w.eventNumber.upTo
	}
	hole := c.idCount > 0 || numbered
	if hole && from < w.textUpTo {
		return
	}
	idFrom, idUpTo := 0, 0
	if len(c.id) > 0 {
		// both slices extend to the end of the event's array
		if idFrom = cap(w.Text) - cap(c.id); idFrom >= w.textFrom {
			return
		}
		idUpTo = idFrom + len(c.id)
	}
	s.idFrom, s.idUpTo, s.text, s.hasRole = idFrom, idUpTo, w.last, c.hasRole
	s.numbered = numbered
	s.head = append(s.head[:0], w.Text[:w.textFrom]...)
	s.tail, s.end = append(s.tail[:0], w.Text[w.textUpTo:]...), s.end[:0]
	if hole {
		s.tail = append(s.tail[:0], w.Text[w.textUpTo:from]...)
		s.end = append(s.end, w.Text[upTo:]...)
	}
}

func (s *shape) clear() { s.head = s.head[:0] }
