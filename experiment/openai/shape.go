package openai

import "bytes"

// shape is what the events of one stream have in common: most differ only in the token's text. It is learned
// from an event that the walker has read, and matches events with the same bytes before and behind the text.
type shape struct {
	head, tail     []byte // up to the text's opening quote, and from its closing quote on; empty: nothing learned
	idFrom, idUpTo int    // the request's id in head; both 0: behind the text, or none
	isAnswer       bool   // the text belongs to the answer, not to the reasoning
}

// match reads an event of this shape, for which only the text has to be scanned.
func (s *shape) match(w *walker, data []byte) (chunk, bool) {
	if len(s.head) == 0 || len(data) < len(s.head)+len(s.tail) || !bytes.Equal(data[:len(s.head)], s.head) {
		return chunk{}, false
	}
	w.b, w.i = data, len(s.head)-1
	if !w.anyString() || !bytes.Equal(data[w.i-1:], s.tail) {
		return chunk{}, false
	}
	c := chunk{hasChoices: true, hasToken: w.i-1 > len(s.head)}
	if s.isAnswer {
		c.answerText = data[len(s.head) : w.i-1]
	}
	if s.idUpTo > 0 {
		c.id = data[s.idFrom:s.idUpTo]
	}
	return c, true
}

// learn takes the shape of the event that the walker has just read, if it has one text and nothing else that
// may change. The request's id must stand before the text.
func (s *shape) learn(w *walker) {
	c := &w.c
	if w.texts != 1 || c.idCount > 0 || len(c.finishReason) > 0 || c.hasPrompt || c.hasOutput || c.hasCached {
		return
	}
	s.idFrom, s.idUpTo, s.isAnswer = 0, 0, w.isAnswer
	if len(c.id) > 0 {
		from := cap(w.b) - cap(c.id) // both slices extend to the end of the event's array
		if from >= w.textFrom {
			return
		}
		s.idFrom, s.idUpTo = from, from+len(c.id)
	}
	s.head = append(s.head[:0], w.b[:w.textFrom]...)
	s.tail = append(s.tail[:0], w.b[w.textUpTo:]...)
}

// clear forgets the shape and keeps its buffers.
func (s *shape) clear() { s.head = s.head[:0] }
