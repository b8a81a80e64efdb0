package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"bench/experiment/target"
)

type Prompt struct {
	IDs    []int32 // token ids; only /v1/completions takes them
	Text   string
	Images [][]byte // PNG files before the text; only the chat API takes them
}

type Params struct {
	API       string          // one of target.APIs; empty: Completions
	Model     string          // sent even when empty
	Stream    bool            // and ask for a usage chunk at its end
	IgnoreEOS bool            // send ignore_eos and min_tokens, so that every answer has its full length
	Omit      map[string]bool // fields of bench's own that the server refused; Extra is sent all the same
	Extra     map[string]any  // further fields; they replace bench's own except target.ReservedFields
}

type Encoder struct {
	params   Params
	constant map[string]any
	fields   []RawField // the constant part, field by field
	head     int        // bytes of the constant part, without its closing brace
	lengths  []string   // fields whose value is the number of output tokens
}

// Encoder fails on an unknown API, a reserved field in Extra, and values without a JSON form.
func (p Params) Encoder() (*Encoder, error) {
	if p.API != "" && !slices.Contains(target.APIs, p.API) {
		return nil, fmt.Errorf("encoding the body: unknown API %q", p.API)
	}
	for _, key := range target.ReservedFields {
		if _, ok := p.Extra[key]; ok {
			return nil, fmt.Errorf("encoding the body: extra field %q is set by bench itself", key)
		}
	}
	e := &Encoder{params: p, constant: p.constant()}
	var err error
	if e.fields, err = fieldsOf(e.constant); err != nil {
		return nil, fmt.Errorf("encoding the body: %w", err)
	}
	e.head = len(e.rawHead(nil, nil, 0))
	length := "max_tokens" // vLLM, SGLang and llama.cpp take it in chat, too
	if p.API == target.Responses {
		length = "max_output_tokens"
	}
	if p.sends(length) {
		e.lengths = append(e.lengths, length)
	}
	if p.IgnoreEOS && p.sends("min_tokens") {
		e.lengths = append(e.lengths, "min_tokens")
	}
	return e, nil
}

func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(buf.Bytes()), err
}

func (p Params) sends(field string) bool {
	_, replaced := p.Extra[field]
	if _, own := p.Extra["max_completion_tokens"]; field == "max_tokens" && p.API != target.Messages {
		replaced = replaced || own
	}
	return !replaced && !p.Omit[field]
}

func (p Params) constant() map[string]any {
	m := map[string]any{"model": p.Model, "stream": p.Stream}
	if p.sends("temperature") {
		m["temperature"] = 0 // greedy sampling, for the same tokens each time
	}
	if p.Stream && p.API != target.Responses && p.API != target.Messages && p.sends("stream_options") {
		m["stream_options"] = map[string]any{"include_usage": true}
	}
	if p.IgnoreEOS && p.sends("ignore_eos") {
		m["ignore_eos"] = true
	}
	maps.Copy(m, p.Extra)
	return m
}

// Sampling is a copy of the constant part of every body, for the metadata (values inside Extra are shared).
func (e *Encoder) Sampling() map[string]any { return maps.Clone(e.constant) }

// Body appends the body of a request for output tokens (0: the server's default) to dst. It returns nil for
// token ids in an API of messages, which has no form for them.
func (e *Encoder) Body(dst []byte, prompt Prompt, output int) []byte {
	inMessages := target.InMessages(e.params.API)
	if inMessages && prompt.IDs != nil {
		return nil
	}
	dst = e.rawHead(slices.Grow(dst, e.head+len(prompt.Text)+7*len(prompt.IDs)+bodyRoom), nil, output)
	switch {
	case inMessages:
		dst = append(append(dst, e.params.promptKey()...), '[')
		if prompt.Images != nil {
			return append(appendPictures(dst, &prompt), "]}"...)
		}
		return append(appendMessage(dst, prompt.Text), "]}"...)
	case prompt.IDs != nil:
		dst = append(append(dst, keyPrompt...), '[')
		return append(appendIDs(dst, prompt.IDs), "]}"...)
	}
	return append(appendString(append(dst, keyPrompt...), prompt.Text), '}')
}

const (
	bodyRoom    = 128 // bytes of what is neither the constant part nor a prompt, in a body or a turn
	keyMessages = `,"messages":`
	keyInput    = `,"input":`
	keyPrompt   = `,"prompt":`
)

func (p Params) promptKey() string {
	switch {
	case p.API == target.Responses:
		return keyInput
	case target.InMessages(p.API):
		return keyMessages
	}
	return keyPrompt
}

func appendIDs(dst []byte, ids []int32) []byte {
	for _, id := range ids {
		if c := dst[len(dst)-1]; c != '[' {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return dst
}

// Extend appends the body of a conversation's next turn to dst. before is the body of the turn before, as
// Body or Extend made it for a nil dst; answer is the server's answer to it; prompt is what the new turn
// adds. In an API of messages they become messages with their roles; in the other one prompt, as text or token ids.
func (e *Encoder) Extend(dst, before []byte, answer *Answer, prompt Prompt, output int) []byte {
	more := len(answer.Text) + len(prompt.Text) + 7*(len(answer.IDs)+len(prompt.IDs))
	dst = e.extend(dst, before, nil, more, output)
	switch {
	case target.InMessages(e.params.API):
		return append(appendMessage(e.appendAnswer(dst, answer), prompt.Text), "]}"...)
	case prompt.IDs != nil:
		return append(appendIDs(appendIDs(dst, answer.IDs), prompt.IDs), "]}"...)
	}
	dst = append(dst, answer.Text...)
	return append(slices.Delete(appendString(dst, prompt.Text), len(dst), len(dst)+1), '}') // without its first quote
}

// extend appends the body of the turn before without the end of its list or string; more bytes follow.
func (e *Encoder) extend(dst, before []byte, fields []RawField, more, output int) []byte {
	head := e.head
	if len(fields) > 0 {
		head = len(e.rawHead(nil, fields, 0))
	}
	dst = e.rawHead(slices.Grow(dst, len(before)+more+bodyRoom), fields, output)
	own := before[head:]
	return append(dst, own[bytes.Index(own, []byte(e.params.promptKey())):len(own)-len(`]}`)]...)
}

func appendPictures(dst []byte, p *Prompt) []byte {
	dst = append(dst, `{"role":"user","content":[`...)
	for _, file := range p.Images {
		dst = append(dst, `{"type":"image_url","image_url":{"url":"data:image/png;base64,`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, file), `"}},`...)
	}
	return append(appendString(append(dst, `{"type":"text","text":`...), p.Text), `}]}`...)
}

func (e *Encoder) appendAnswer(dst []byte, answer *Answer) []byte {
	dst = append(dst, `,{`...)
	if e.params.API == target.Responses { // llama.cpp takes no answer without it
		dst = append(dst, `"type":"message",`...)
	}
	return append(append(append(dst, `"role":"assistant","content":"`...), answer.Text...), `"},`...)
}

func appendMessage(dst []byte, text string) []byte {
	return append(appendString(append(dst, `{"role":"user","content":`...), text), '}')
}

// appendString appends a JSON string; bytes that are no UTF-8 become U+FFFD, as encoding/json does it.
func appendString(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, text[from:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, "\uFFFD"...)
		}
		i += size
		from = i
	}
	return append(append(dst, text[from:]...), '"')
}
