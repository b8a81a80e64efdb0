package openai

import (
	"bytes"

	"bench/experiment/scan"
	"bench/experiment/target"
)

// walker reads a chunk byte by byte, without allocating, and accepts only strict JSON of the usual shapes. It
// leaves everything else to parse: escapes in keys, repeated fields, other types, deep nesting, errors. For
// what it accepts, parse gives the same result; a fuzz test checks that.
type walker struct {
	scan.JSON
	api string // empty: completions
	c   chunk

	texts              int   // content strings so far
	textFrom, textUpTo int   // the last one's bytes, without its quotes
	last               piece // and what it is, without its text
	pieces             []piece
	call               int // index of the tool call that is read
	tokenIDs           []int32
	idsFrom, idsUpTo   int                      // the items of the last list of token ids
	eventNumber        struct{ from, upTo int } // the event's number in its stream; upTo 0: none
	responses          responses
	messages           messages
	shape              shape
	more               moreUsage // of the chunk
}

const maxDepth = 32

func (w *walker) read(data []byte) (chunk, bool) {
	if c, ok := w.shape.match(w, data); ok {
		return c, true
	}
	w.JSON, w.c, w.texts, w.tokenIDs, w.pieces = scan.JSON{Text: data}, chunk{}, 0, w.tokenIDs[:0], w.pieces[:0]
	w.Space()
	ok := false
	switch w.api {
	case target.Responses:
		ok = w.walkResponse()
	case target.Messages:
		ok = w.walkMessage()
	default:
		ok = w.object((*walker).topField)
	}
	w.Space()
	if ok = ok && w.At == len(w.Text); ok {
		w.shape.learn(w)
	}
	return w.c, ok
}

// A field reads the value of one key. It returns the key's bit, by which repeats are found; 0: unknown.
type field func(w *walker, key []byte) (bit uint, ok bool)

func (w *walker) clear() {
	w.shape.clear()
	if cap(w.tokenIDs) > maxKeptBuffer/4 { // of 4 bytes each
		w.tokenIDs = nil
	}
	if cap(w.pieces) > 64 {
		w.pieces = nil
	}
	clear(w.pieces[:cap(w.pieces)])
	w.Text, w.c = nil, chunk{}
}

func (w *walker) topField(key []byte) (uint, bool) {
	switch string(key) {
	case "choices":
		return 1, w.array(func(w *walker) bool {
			w.c.hasChoices = true
			return w.object((*walker).choiceField)
		})
	case "usage":
		return 2, w.Null() || w.object((*walker).usageField)
	case "id":
		return 4, w.Null() || w.Plain(&w.c.id)
	case "object":
		var name []byte
		return 8, w.Null() || w.Plain(&name) && string(name) != "error"
	case "error":
		return 16, w.Null()
	case "timings":
		return 32, w.Null() || w.object((*walker).timingField)
	case "metrics": // both of them are left to parse
		return 32, w.Null() || w.object((*walker).metricField)
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) choiceField(key []byte) (uint, bool) {
	switch string(key) {
	case "delta", "message":
		bit := uint(1)
		if key[0] == 'm' {
			bit = 2
		}
		return bit, w.Null() || w.object((*walker).deltaField)
	case "text":
		return 4, w.content(partContent)
	case "finish_reason":
		var reason []byte
		ok := w.Null() || w.Plain(&reason)
		if len(reason) > 0 {
			w.c.finishReason = reason
		}
		return 8, ok
	case "token_ids":
		from, first := w.At+1, w.c.idCount == 0
		ok := w.array((*walker).tokenID)
		if w.idsFrom, w.idsUpTo = from, w.At-1; !first { // no shape has two lists
			w.idsFrom = 0
		}
		w.c.tokenIDs = w.tokenIDs
		return 16, ok
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) deltaField(key []byte) (uint, bool) {
	switch string(key) {
	case "content":
		return 1, w.content(partContent)
	case "reasoning":
		return 2, w.content(partReasoning)
	case "reasoning_content":
		return 4, w.content(partReasoning)
	case "tool_calls":
		position := -1
		return 8, w.array(func(w *walker) bool {
			position++
			return w.toolCall(position)
		})
	case "function_call":
		w.call = 0
		return 16, w.Null() || w.object((*walker).functionField)
	case "role":
		var role []byte
		ok := w.Null() || w.Plain(&role)
		w.c.hasRole = w.c.hasRole || len(role) > 0
		return 32, ok
	}
	return 0, w.Skip(maxDepth)
}

// toolCall reads a piece of a tool call. Its index, which defaults to its position, may stand behind its texts.
func (w *walker) toolCall(position int) bool {
	w.call = position
	from := len(w.pieces)
	ok := w.object((*walker).callField)
	for i := range w.pieces[from:] {
		w.pieces[from+i].call = w.call
	}
	w.last.call = w.call
	return ok
}

func (w *walker) callField(key []byte) (uint, bool) {
	switch string(key) {
	case "function":
		return 1, w.Null() || w.object((*walker).functionField)
	case "index":
		has := false
		return 2, w.Null() || w.count(&w.call, &has)
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) functionField(key []byte) (uint, bool) {
	switch string(key) {
	case "name":
		return 1, w.content(partName)
	case "arguments":
		return 2, w.content(partArguments)
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) usageField(key []byte) (uint, bool) {
	switch string(key) {
	case "prompt_tokens":
		return 1, w.Null() || w.count(&w.c.prompt, &w.c.hasPrompt)
	case "completion_tokens":
		return 2, w.Null() || w.count(&w.c.output, &w.c.hasOutput)
	case "prompt_tokens_details":
		return 4, w.Null() || w.object((*walker).detailField)
	case "completion_tokens_details":
		return 8, w.Null() || w.object((*walker).usageDetailField)
	case "reasoning_tokens":
		return w.moreCount(ofOwnReasoning, 4)
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) detailField(key []byte) (uint, bool) {
	if string(key) == "cached_tokens" {
		return 1, w.Null() || w.count(&w.c.cached, &w.c.hasCached)
	}
	return 0, w.Skip(maxDepth)
}

// object reads an object field by field. It leaves a repeated key to parse, where the last value counts.
func (w *walker) object(f field) bool {
	var seen uint
	return w.Sequence('{', '}', func() bool {
		var key []byte
		if !w.Plain(&key) || !w.Colon() {
			return false
		}
		bit, ok := f(w, key)
		if seen&bit != 0 {
			return false
		}
		seen |= bit
		return ok
	})
}

func (w *walker) array(item func(w *walker) bool) bool {
	return w.Null() || w.Sequence('[', ']', func() bool { return item(w) })
}

func (w *walker) content(p part) bool {
	if w.Null() {
		return true
	}
	ok := w.text()
	if ok {
		w.addText(p)
	}
	return ok
}

func (w *walker) text() bool {
	from := w.At
	ok := w.Quoted()
	w.texts++
	w.textFrom, w.textUpTo = from+1, w.At-1
	return ok
}

func (w *walker) addText(p part) {
	w.last = piece{part: p, call: w.call}
	if w.textFrom >= w.textUpTo {
		return
	}
	w.c.hasToken = true
	if p == partReasoning {
		w.c.hasReasoning = true
	} else {
		w.addAnswer(&w.c, w.last, w.Text[w.textFrom:w.textUpTo])
	}
}

// count reads a number of tokens in its usual form.
func (w *walker) count(into *int, has *bool) bool {
	n, ok := w.Natural()
	if !ok || n >= maxCount || w.At < len(w.Text) && bytes.IndexByte([]byte(".eE"), w.Text[w.At]) >= 0 {
		return false
	}
	*into, *has = int(n), true
	return true
}

func (w *walker) integer() bool {
	n, has := 0, false
	return w.count(&n, &has)
}

func (w *walker) index() bool {
	has := false
	return w.count(&w.call, &has)
}

func (w *walker) tokenID() bool {
	id, ok := 0, false
	if !w.count(&id, &ok) || id > maxID {
		return false
	}
	w.c.idCount++
	w.c.hasToken = true
	w.tokenIDs = append(w.tokenIDs, int32(id))
	return true
}

// addAnswer adds a text of the answer, without allocating if it is the only one of the event.
func (w *walker) addAnswer(c *chunk, p piece, text []byte) {
	p.text = text
	w.pieces = append(w.pieces, p)
	c.pieces = w.pieces
	c.hasAnswer = true
	c.appendAnswer(text)
}
