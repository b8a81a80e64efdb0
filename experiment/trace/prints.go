package trace

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// printBits are the bits of a block's number: all that a reader with floating-point numbers keeps. Among ten million
// different blocks, two have the same number with a chance of 0.6 %.
const printBits = 53

// Prints makes numbers of the prompts in request bodies that pass: equal beginnings, equal numbers. A number is a
// hash under a random key that exists only in this process, so that a guessed text cannot be confirmed. Memory does
// not grow with the requests. It is safe for concurrent use.
type Prints struct {
	key        []byte
	blockBytes int
}

// NewPrints returns prints of blocks of that many bytes of a prompt's text, 1 or more.
func NewPrints(blockBytes int) *Prints {
	return &Prints{key: randomKey(), blockBytes: max(blockBytes, 1)}
}

// Print is a prompt without its text.
type Print struct {
	Blocks []uint64 // each stands for the prompt up to the end of its block; the last block may be shorter
	Bytes  int      // of text; a token id counts as 4 bytes
	Media  int      // parts that are not text: images, sound, files. They are in Blocks, but not in Bytes
}

// Request returns the print of the prompt in a request's body: what is before the messages (tools, system,
// instructions), then messages, input or prompt, whichever the API has. An error names no text.
func (p *Prints) Request(body []byte) (Print, error) {
	f := &fingerprints{mac: hmac.New(sha256.New, p.key), tokenBytes: 1, blockTokens: p.blockBytes}
	q := prompt{f: f}
	found, err := q.body(body)
	switch {
	case err != nil:
		return Print{}, err
	case !found:
		return Print{}, errors.New("the body has no prompt")
	}
	var e Entry
	q.fill(&e)
	return Print{Blocks: e.Blocks, Bytes: q.bytes, Media: q.media}, nil
}

// body adds the prompt of a request's body; found: it has one.
func (p *prompt) body(raw []byte) (found bool, err error) {
	var b struct {
		Messages                                   []message
		Input, Prompt, Tools, System, Instructions json.RawMessage
	}
	if err := json.Unmarshal(raw, &b); err != nil { // its message could quote the text
		return false, errors.New("the request's body is not an object with messages, input or prompt")
	}
	text := b.Input
	if emptyJSON(text) {
		text = b.Prompt
	}
	if len(b.Messages) == 0 && emptyJSON(text) {
		return false, nil
	}
	for _, before := range []json.RawMessage{b.Tools, b.System, b.Instructions} {
		if !emptyJSON(before) {
			p.add(string(before))
		}
	}
	if len(b.Messages) > 0 {
		return true, p.chat(b.Messages)
	}
	return true, p.messages(text)
}

func emptyJSON(raw json.RawMessage) bool {
	if len(raw) > 64 {
		return false
	}
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "{}", "[]", `""`, `"{}"`, `"[]"`:
		return true
	}
	return false
}

// tokenIDs adds a prompt of token ids, or of several such prompts; false: it is another one.
func (p *prompt) tokenIDs(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	var several [][]int32
	if json.Unmarshal(raw, &several) != nil {
		var ids []int32
		if json.Unmarshal(raw, &ids) != nil {
			return false
		}
		several = [][]int32{ids}
	}
	for _, ids := range several {
		text := make([]byte, 0, 4*len(ids))
		for _, id := range ids {
			text = binary.LittleEndian.AppendUint32(text, uint32(id))
		}
		p.add(string(text))
	}
	return true
}

func (p *prompt) strings(raw json.RawMessage) bool {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return false
	}
	for _, text := range list {
		p.add(text)
	}
	return true
}

// addMedia adds a part that is not text to what the following blocks stand for, without a length: equal images in
// equal places make equal numbers.
func (p *prompt) addMedia(raw []byte) {
	p.media++
	p.f.mac.Reset()
	p.f.mac.Write([]byte("media"))
	p.f.mac.Write(p.last[:])
	p.f.mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p.rest))))
	p.f.mac.Write(raw)
	p.f.mac.Sum(p.last[:0])
}

type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Parts     json.RawMessage `json:"parts"`      // of OpenTelemetry: instead of content
	ToolCalls json.RawMessage `json:"tool_calls"` // counted by its bytes

	// Items of the Responses API that are no messages: calls of tools, and their results.
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// read adds a prompt: a string, the messages of a chat, strings or token ids. The first bytes decide, since each
// attempt scans the whole text.
func (p *prompt) read(raw json.RawMessage) error {
	var messages []message
	switch open, item := firstBytes(raw); {
	case raw == nil:
		return fmt.Errorf("no prompt\nhint: a row needs one of %s", strings.Join(logPrompt, ", "))
	case open == '"' || open == 'n':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return errPrompt
		}
		p.add(text)
		return nil
	case item == '"' && p.strings(raw), item != '{' && item != ']' && p.tokenIDs(raw):
		return nil
	case json.Unmarshal(raw, &messages) != nil:
		return errPrompt
	}
	return p.chat(messages)
}

var errPrompt = errors.New("the prompt is neither a string nor a list of messages")

// firstBytes are the first bytes of a JSON value and of the value within; 0 = there is none.
func firstBytes(raw json.RawMessage) (open, item byte) {
	const space = " \t\r\n"
	rest := bytes.TrimLeft(raw, space)
	if len(rest) == 0 {
		return 0, 0
	}
	if inner := bytes.TrimLeft(rest[1:], space); len(inner) > 0 {
		item = inner[0]
	}
	return rest[0], item
}

func (p *prompt) chat(messages []message) error {
	for i, m := range messages {
		p.add(m.Role + "\n")
		if !p.content(m.Content) || !p.content(m.Parts) || !p.content(m.Output) {
			return fmt.Errorf("the content of message %d is neither a string nor a list of parts", i+1)
		}
		p.add(m.Name + m.Arguments + string(m.ToolCalls) + "\n")
	}
	return nil
}

var mediaParts = map[string]bool{"image": true, "image_url": true, "input_image": true, "audio": true,
	"audio_url": true, "input_audio": true,
	"video": true, "video_url": true, "input_video": true, "file": true, "input_file": true, "document": true}

// content adds a string, or the texts of a list of parts. An image or a file has no text; any other part (the call of
// a tool) counts by its bytes.
func (p *prompt) content(raw json.RawMessage) bool {
	var text string
	var parts []map[string]json.RawMessage
	switch open, _ := firstBytes(raw); {
	case len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0: // a value that was parsed, without escapes
		p.add(string(raw[1 : len(raw)-1]))
		return true
	case open != '[' && (raw == nil || json.Unmarshal(raw, &text) == nil): // null too: a message with only tool calls
		p.add(text)
		return true
	case json.Unmarshal(raw, &parts) != nil:
		return false
	}
	for _, part := range parts {
		p.part(part)
	}
	return true
}

func (p *prompt) part(part map[string]json.RawMessage) {
	text, kind := "", ""
	if json.Unmarshal(part["text"], &text) == nil || json.Unmarshal(part["content"], &text) == nil && text != "" {
		p.add(text)
		return
	}
	_ = json.Unmarshal(part["type"], &kind) // none, or no string
	keys := slices.Sorted(maps.Keys(part))
	switch {
	case mediaParts[kind]:
		var all []byte
		for _, key := range keys {
			all = append(all, part[key]...)
		}
		p.addMedia(all)
	case kind == "tool_result" && p.content(part["content"]): // which may have an image
	default:
		for _, key := range keys {
			p.add(string(part[key]))
		}
	}
}
