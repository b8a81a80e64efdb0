package proxy

import (
	"bytes"
	"hash/maphash"

	"bench/experiment/target"
)

// Bounds of what is read of a body: hostile ones may nest and enumerate without end.
const (
	maxMessages = 1 << 14
	maxNesting  = 64
)

// textBlock is the size of the blocks in whose hashes a completion's prompt is looked up, in bytes.
const textBlock = 256

// minText is the length of the shortest prompt that a longer one can continue, in bytes: one word begins the prompts
// of many.
const minText = 64

// bodyKeys is what identifies a request's conversation: hashes, and the text of a completion's prompt.
type bodyKeys struct {
	readable bool
	head     uint64 // of what may change between turns: model, tools, system prompt
	// ends are hashes of the messages up to each one, without the system prompt before them. A last message of the
	// assistant, which the answer completes, is left out.
	ends []uint64
	// examples is how many messages go up to the assistant's last: those of earlier turns, or examples. 0 = none.
	examples int
	state    uint64 // of the name of what the server has stored; 0 = the request names nothing
	atServer bool   // the request refers to something that the server has stored
	text     []byte // a completion's prompt, escaped; nil = another API, or several prompts
}

type bodyReader struct {
	cursor
	seed      maphash.Seed
	hash      maphash.Hash // of the message, or another value, that is read now
	assistant int          // how many ends go up to the assistant's last message so far
	whole     int          // how many ends go up to the last message that is not the assistant's
	keys      bodyKeys
}

// readBody reads a request's body under a hash key.
func readBody(seed maphash.Seed, api string, body []byte) bodyKeys {
	r := &bodyReader{cursor: cursor{b: body}, seed: seed}
	r.hash.SetSeed(seed)
	r.object(func(name []byte) { r.member(api, string(name)) })
	if r.bad {
		return bodyKeys{atServer: r.keys.atServer}
	}
	r.keys.ends = r.keys.ends[:r.whole]
	r.keys.readable = true
	return r.keys
}

func (r *bodyReader) member(api, name string) {
	switch {
	case name == "messages" && (api == target.Chat || api == target.Messages):
		r.messages()
	case name == "input" && api == target.Responses:
		r.messages()
	case name == "prompt" && api == target.Completions:
		r.keys.text = r.prompt()
	case name == "model" || name == "tools" || name == "system" || name == "instructions":
		r.hash.Reset()
		r.write([]byte(name))
		r.feed(0)
		r.keys.head = mix(r.seed, r.keys.head, r.hash.Sum64())
	case (name == "previous_response_id" || name == "conversation") && api == target.Responses:
		r.serverState()
	default:
		r.raw()
	}
}

// serverState reads the name of something stored: a string, or an object with an id.
func (r *bodyReader) serverState() {
	var id []byte
	switch r.peek() {
	case '"':
		id = unquoted(r.raw())
	case '{':
		r.object(func(name []byte) {
			if value := r.raw(); string(name) == "id" {
				id = unquoted(value)
			}
		})
	default: // null
		r.raw()
	}
	if len(id) > 0 {
		r.keys.atServer = true
		r.keys.state = nameKey(r.seed, stateName, string(id))
	}
}

// messages reads a list of messages, or a string, which is short for one of the user.
func (r *bodyReader) messages() {
	r.keys.ends, r.keys.examples, r.assistant, r.whole = r.keys.ends[:0], 0, 0, 0 // of a name that is there twice the last one counts
	if r.peek() == '[' {
		r.array(r.message)
		return
	}
	r.hash.Reset()
	r.write([]byte(`"user"`))
	r.write(r.raw())
	r.add(`"user"`, "")
}

// message reads one message, or item of the Responses API. Two spellings of one message have one hash: clients write a
// text as a string or as a part, and move the marks of what to cache from turn to turn.
func (r *bodyReader) message() {
	r.hash.Reset()
	if r.peek() != '{' {
		r.feed(1)
		r.add("", "")
		return
	}
	var role, kind string
	r.object(func(name []byte) {
		switch string(name) {
		case "role":
			role = string(r.raw())
			r.write([]byte(role))
		case "type":
			kind = string(r.raw())
			r.writeType(kind)
		default:
			r.memberOf(name, 1)
		}
	})
	r.add(role, kind)
}

// add ends a message of a role and, in the Responses API, a type, both in quotes.
func (r *bodyReader) add(role, kind string) {
	sum, n := r.hash.Sum64(), len(r.keys.ends)
	r.keys.atServer = r.keys.atServer || kind == `"item_reference"`
	switch {
	case n == 0 && (role == `"system"` || role == `"developer"`):
		r.keys.head = mix(r.seed, r.keys.head, sum)
		return
	case n == maxMessages:
		r.fail()
		return
	}
	before := uint64(0)
	if n > 0 {
		before = r.keys.ends[n-1]
	}
	r.keys.ends = append(r.keys.ends, mix(r.seed, before, sum))
	if role == `"assistant"` || role == "" && (kind == `"reasoning"` || bytes.HasSuffix([]byte(kind), []byte(`_call"`))) {
		r.assistant = n + 1
		return
	}
	r.whole, r.keys.examples = n+1, r.assistant
}

// feed hashes the next value.
func (r *bodyReader) feed(depth int) {
	switch next := r.peek(); {
	case next == '{' && depth < maxNesting:
		r.object(func(name []byte) { r.memberOf(name, depth+1) })
	case next == '[' && depth < maxNesting:
		r.array(func() { r.feed(depth + 1) })
	default:
		r.write(r.raw())
	}
}

// memberOf hashes a member of a message, or of a value in it.
func (r *bodyReader) memberOf(name []byte, depth int) {
	switch string(name) {
	case "cache_control":
		r.raw()
		return
	case "type":
		r.writeType(string(r.raw()))
		return
	case "content", "text":
	default:
		r.write(name)
	}
	r.feed(depth)
}

// writeType hashes a type that is not a mere text's.
func (r *bodyReader) writeType(kind string) {
	switch kind {
	case `"text"`, `"input_text"`, `"output_text"`, `"message"`:
	default:
		r.write([]byte(kind))
	}
}

// write hashes a text and a separator, which no text in UTF-8 contains.
func (r *bodyReader) write(text []byte) {
	r.hash.Write(text)
	r.hash.WriteByte(0xff)
}

// prompt reads a completion's prompt: its escaped text, or its token ids, each with a comma; nil for several prompts.
func (r *bodyReader) prompt() []byte {
	if r.peek() != '[' {
		return unquoted(r.raw())
	}
	text := r.raw()
	inner := bytes.TrimSpace(text[1:max(1, len(text)-1)])
	list := cursor{b: text}
	prompts := 0
	list.array(func() {
		switch list.peek() {
		case '"', '[':
			prompts++
		}
		list.raw()
	})
	switch {
	case list.bad || prompts > 1 || len(inner) == 0:
		return nil
	case prompts == 1 && inner[0] == '"':
		return unquoted(inner)
	}
	ids := make([]byte, 0, len(inner)+1)
	for _, b := range inner {
		switch b {
		case ' ', '\t', '\r', '\n', '[', ']':
		default:
			ids = append(ids, b)
		}
	}
	return append(ids, ',')
}

// mix is the hash of two hashes.
func mix(seed maphash.Seed, a, b uint64) uint64 {
	return maphash.Comparable(seed, [2]uint64{a, b})
}

// Kinds of names.
const (
	headerName = iota + 1 // a value of the session header
	stateName             // the id of an answer, or of a conversation, at the server
)

func nameKey(seed maphash.Seed, kind uint64, name string) uint64 {
	return mix(seed, kind, maphash.String(seed, name))
}
