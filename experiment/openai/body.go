package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Prompt is what a request asks: exactly one of the two is set.
type Prompt struct {
	IDs  []int32 // token ids; only /v1/completions takes them
	Text string
}

// Params is what the requests of a row have in common.
type Params struct {
	API    string          // Completions (also when empty) or Chat
	Model  string          // sent even when empty
	Stream bool            // with a usage chunk at its end
	Output int             // tokens to write where Body is given none; 0: the server's default
	Forced bool            // make the server write them all: ignore_eos and min_tokens
	Omit   map[string]bool // fields of ours that the server refused; Extra is sent all the same
	Extra  map[string]any  // further fields; they replace ours, but for the prompt, model and stream
}

// Encoder makes bodies: the constant part is encoded once, and only the prompt and its length are written per request.
type Encoder struct {
	params   Params
	constant map[string]any
	head     []byte   // the constant part, without its closing brace
	lengths  []string // the fields that take a request's number of output tokens
}

// Encoder encodes the constant part. It errs on an unknown API, an extra field that is bench's own, and values that
// JSON can't hold.
func (p Params) Encoder() (*Encoder, error) {
	if p.API != "" && p.API != Completions && p.API != Chat {
		return nil, fmt.Errorf("encoding the body: %q is no API", p.API)
	}
	for _, key := range ownFields {
		if _, ok := p.Extra[key]; ok {
			return nil, fmt.Errorf("encoding the body: extra field %q is set by bench itself", key)
		}
	}
	e := &Encoder{params: p, constant: p.constant()}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.constant); err != nil {
		return nil, fmt.Errorf("encoding the body: %w", err)
	}
	e.head = bytes.TrimSuffix(bytes.TrimSpace(buf.Bytes()), []byte("}"))
	if _, own := p.Extra["max_completion_tokens"]; !own && p.sends("max_tokens") {
		e.lengths = append(e.lengths, "max_tokens") // vLLM, SGLang and llama.cpp all take it, in both APIs
	}
	if p.Forced && p.sends("min_tokens") {
		e.lengths = append(e.lengths, "min_tokens")
	}
	return e, nil
}

// sends says whether a field of ours goes into the body.
func (p Params) sends(field string) bool {
	_, replaced := p.Extra[field]
	return !replaced && !p.Omit[field]
}

func (p Params) constant() map[string]any {
	m := map[string]any{"model": p.Model, "stream": p.Stream}
	if p.sends("temperature") {
		m["temperature"] = 0 // the same tokens each time, as far as the server can
	}
	if p.Stream && p.sends("stream_options") {
		m["stream_options"] = map[string]any{"include_usage": true}
	}
	if p.Forced && p.sends("ignore_eos") {
		m["ignore_eos"] = true
	}
	maps.Copy(m, p.Extra)
	return m
}

// Sampling is the constant part of every body, for the metadata; the caller may change it (not what is inside Extra).
func (e *Encoder) Sampling() map[string]any { return maps.Clone(e.constant) }

// Body appends the body of one request to dst: output tokens are asked for, or Params.Output when it is not positive.
// Token ids have no form in the chat API: for them it returns nil.
func (e *Encoder) Body(dst []byte, prompt Prompt, output int) []byte {
	chat := e.params.API == Chat
	if chat && prompt.IDs != nil {
		return nil
	}
	dst = append(slices.Grow(dst, len(e.head)+len(prompt.Text)+7*len(prompt.IDs)+80), e.head...)
	if output <= 0 {
		output = e.params.Output
	}
	for _, field := range e.lengths {
		if output > 0 {
			dst = append(append(append(dst, `,"`...), field...), `":`...)
			dst = strconv.AppendInt(dst, int64(output), 10)
		}
	}
	switch {
	case chat:
		dst = appendString(append(dst, `,"messages":[{"role":"user","content":`...), prompt.Text)
		dst = append(dst, "}]"...)
	case prompt.IDs != nil:
		dst = appendIDs(append(dst, `,"prompt":`...), prompt.IDs)
	default:
		dst = appendString(append(dst, `,"prompt":`...), prompt.Text)
	}
	return append(dst, '}')
}

func appendIDs(dst []byte, ids []int32) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
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
