package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"bench/experiment/scan"
	"bench/experiment/target"
)

// walker reads the JSON of an event, or of an answer in one piece, as a chunk of its API. A value of another type than
// the API's counts as absent. Of the usual events nothing is allocated.
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
	odd                bool      // the chunk has what no shape describes
}

var errNoChunk = errors.New("not a JSON object of the API")

// decode reads any chunk, also an error.
func (w *walker) decode(data []byte) (chunk, error) {
	if c, ok := w.read(data); ok {
		return c, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var top map[string]any
	if err := dec.Decode(&top); err != nil {
		return chunk{}, err
	}
	if !w.c.failed || w.At < len(data) {
		return chunk{}, errNoChunk
	}
	return chunk{failed: true, message: errorMessage(top)}, nil
}

// read reads a chunk that is no error.
func (w *walker) read(data []byte) (chunk, bool) {
	ok := w.shape.match(w, data) || w.walk(data)
	return w.c, ok
}

func (w *walker) walk(data []byte) bool {
	w.JSON = scan.JSON{Text: data}
	w.Space()
	w.begin()
	ok := w.next() == '{'
	switch w.api {
	case target.Responses:
		ok = ok && w.walkResponse()
	case target.Messages:
		ok = ok && w.walkMessage()
	default:
		ok = ok && w.object(completionFields)
	}
	w.Space()
	if ok = ok && !w.c.failed && w.At == len(w.Text); ok && !w.odd {
		w.shape.learn(w)
	}
	return ok
}

func (w *walker) begin() {
	w.c, w.texts, w.tokenIDs, w.pieces, w.odd = chunk{}, 0, w.tokenIDs[:0], w.pieces[:0], false
}

// again begins anew at an answer in one piece, which the first pass has found to be one.
func (w *walker) again(from int, f fields) bool {
	failed := w.c.failed
	w.begin()
	w.At, w.odd, w.c.hasChoices, w.c.failed = from, true, true, failed
	return w.object(f)
}

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

// fields are those of an object that are read, with their readers. Of a repeated key both values count.
type fields []struct {
	name string
	read func(*walker) bool
}

// with are the fields of both; more wins.
func (f fields) with(more fields) fields { return slices.Concat(more, f) }

// Readers of a field's value.
func in(f fields) func(*walker) bool    { return func(w *walker) bool { return w.object(f) } }
func textOf(p part) func(*walker) bool  { return func(w *walker) bool { return w.content(p) } }
func textsOf(p part) func(*walker) bool { return func(w *walker) bool { return w.contents(p) } }
func countOf(i int) func(*walker) bool  { return func(w *walker) bool { return w.moreCount(i) } }
func (w *walker) promptTokens() bool    { return w.count(ofPrompt, &w.c.prompt, &w.c.hasPrompt) }
func (w *walker) outputTokens() bool    { return w.count(ofOutput, &w.c.output, &w.c.hasOutput) }
func (w *walker) cachedTokens() bool    { return w.count(ofCached, &w.c.cached, &w.c.hasCached) }
func (w *walker) id() bool              { return w.name(&w.c.id) }

var (
	completionFields = fields{
		{"choices", (*walker).choices},
		{"usage", in(usageFields)},
		{"id", (*walker).id},
		{"object", (*walker).kind},
		{"error", (*walker).failure},
		{"timings", in(timingFields)}, {"metrics", in(metricFields)},
	}
	choiceFields = fields{
		{"delta", in(deltaFields)}, {"message", in(deltaFields)},
		{"text", textOf(partContent)},
		{"finish_reason", (*walker).finish},
		{"token_ids", (*walker).idList},
	}
	deltaFields = fields{
		{"content", textsOf(partContent)},
		{"reasoning", textsOf(partReasoning)}, {"reasoning_content", textsOf(partReasoning)},
		{"tool_calls", (*walker).toolCalls},
		{"function_call", (*walker).functionCall},
		{"role", (*walker).role},
	}
	callFields     = fields{{"function", in(functionFields)}, {"index", (*walker).index}}
	functionFields = fields{{"name", textOf(partName)}, {"arguments", textOf(partArguments)}}
	usageFields    = fields{
		{"prompt_tokens", (*walker).promptTokens}, {"completion_tokens", (*walker).outputTokens},
		{"prompt_tokens_details", in(detailFields)}, {"completion_tokens_details", in(usageDetails)},
		{"reasoning_tokens", countOf(ofOwnReasoning)},
	}
	detailFields = fields{{"cached_tokens", (*walker).cachedTokens}}
)

func (w *walker) choices() bool {
	return w.array(func(w *walker) bool {
		w.c.hasChoices = true
		return w.object(choiceFields)
	})
}

func (w *walker) finish() bool {
	var reason []byte
	ok := w.name(&reason)
	if len(reason) > 0 {
		w.c.finishReason = reason
	}
	return ok
}

func (w *walker) idList() bool {
	from, first := w.At+1, w.c.idCount == 0
	ok := w.array((*walker).tokenID)
	if w.idsFrom, w.idsUpTo = from, w.At-1; !first { // no shape has two lists
		w.idsFrom = 0
	}
	w.c.tokenIDs = w.tokenIDs
	return ok
}

func (w *walker) toolCalls() bool {
	position := -1
	return w.array(func(w *walker) bool {
		position++
		return w.toolCall(position)
	})
}

func (w *walker) functionCall() bool {
	w.call = 0
	return w.object(functionFields)
}

func (w *walker) role() bool {
	var role []byte
	ok := w.name(&role)
	w.c.hasRole = w.c.hasRole || len(role) > 0
	return ok
}

// toolCall reads a piece of a tool call. Its index, which defaults to its position, may stand behind its texts.
func (w *walker) toolCall(position int) bool {
	w.call = position
	from := len(w.pieces)
	ok := w.object(callFields)
	for i := range w.pieces[from:] {
		w.pieces[from+i].call = w.call
	}
	w.last.call = w.call
	return ok
}

func (w *walker) object(f fields) bool {
	if w.next() != '{' {
		return w.skip()
	}
	return w.Sequence('{', '}', func() bool {
		var key []byte
		from := w.At
		if !(w.Plain(&key) || w.escaped(from, &key)) || !w.Colon() {
			return false
		}
		for i := range f {
			if f[i].name == string(key) {
				return f[i].read(w)
			}
		}
		return w.skip()
	})
}

func (w *walker) array(item func(w *walker) bool) bool {
	if w.next() != '[' {
		return w.skip()
	}
	return w.Sequence('[', ']', func() bool { return item(w) })
}

// next is the next byte; 0: none.
func (w *walker) next() byte {
	if w.At < len(w.Text) {
		return w.Text[w.At]
	}
	return 0
}

func (w *walker) skip() bool { return w.Skip(10_000) } // as deep as encoding/json reads

// failure reads the field of an error, and whether there is one.
func (w *walker) failure() bool {
	w.c.failed = w.c.failed || w.next() != 'n'
	return w.skip()
}

// kind reads the name of an object; that of an error is a failure.
func (w *walker) kind() bool {
	var name []byte
	ok := w.name(&name)
	w.c.failed = w.c.failed || string(name) == "error"
	w.responses.whole = string(name) == "response"
	return ok
}

func (w *walker) name(into *[]byte) bool {
	if w.next() != '"' {
		return w.skip()
	}
	from := w.At
	return w.Plain(into) || w.escaped(from, into)
}

// nameIn reads the name of one key in an object.
func (w *walker) nameIn(key string, into *[]byte) bool {
	return w.object(fields{{key, func(w *walker) bool { return w.name(into) }}})
}

// escaped reads the string at from, of any characters.
func (w *walker) escaped(from int, into *[]byte) bool {
	w.At, w.odd = from, true
	ok := w.Quoted()
	if ok {
		*into = []byte(Unescape(w.Text[from+1 : w.At-1]))
	}
	return ok
}

func (w *walker) content(p part) bool {
	if w.next() != '"' {
		return w.skip()
	}
	ok := w.text()
	if ok {
		w.addText(p)
	}
	return ok
}

// contents reads content that may be a list of parts: of those, only that there are some.
func (w *walker) contents(p part) bool {
	if w.next() != '[' {
		return w.content(p)
	}
	return w.array(func(w *walker) bool {
		w.odd, w.c.hasToken = true, true
		w.c.hasReasoning = w.c.hasReasoning || p == partReasoning
		w.c.hasAnswer = w.c.hasAnswer || p != partReasoning
		return w.skip()
	})
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
		w.addAnswer(w.last, w.Text[w.textFrom:w.textUpTo])
	}
}

// tokens reads a number of tokens: 12.0 is one, a fraction or a negative number is not. It passes over any other value.
func (w *walker) tokens() (n int, is, ok bool) {
	if n, digits := scan.Natural(w.Text[w.At:]); digits > 0 && n < maxCount {
		w.At += digits
		if c := w.next(); c != '.' && c|' ' != 'e' {
			return int(n), true, true
		}
		w.At -= digits
	}
	from := w.At
	if !w.skip() {
		return 0, false, false
	}
	f, err := strconv.ParseFloat(string(w.Text[from:w.At]), 64)
	if err != nil || f < 0 || f >= maxCount || f != float64(int(f)) {
		return 0, false, true
	}
	return int(f), true, true
}

// count reads a count of usage. One that is reported, but no number of tokens, is refused: kept if it is an integer.
func (w *walker) count(of func(*Usage) **int, into *int, has *bool) bool {
	from := w.At
	n, is, ok := w.tokens()
	switch text := w.Text[from:w.At]; {
	case is:
		*into, *has = n, true
	case ok && string(text) != "null":
		w.c.refuse(of, text)
	}
	return ok
}

func (w *walker) index() bool {
	n, is, ok := w.tokens()
	if is {
		w.call = n
	}
	return ok
}

func (w *walker) tokenID() bool {
	id, is, ok := w.tokens()
	w.c.idCount++
	w.c.hasToken = true
	if is && id <= maxID {
		w.tokenIDs = append(w.tokenIDs, int32(id))
	}
	return ok
}

// mostPieces bounds the texts of one chunk: many times those of any API.
const mostPieces = 1 << 16

// addAnswer adds a text of the answer.
func (w *walker) addAnswer(p piece, text []byte) {
	if len(w.pieces) == mostPieces {
		w.c.failed = true // of no API
		return
	}
	p.text = text
	w.pieces = append(w.pieces, p)
	w.c.pieces = w.pieces
	w.c.hasAnswer = true
}
