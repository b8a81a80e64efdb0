package trace

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
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
