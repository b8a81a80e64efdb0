package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Prompt is a request's prompt: exactly one field is set.
type Prompt struct {
	IDs  []int32 // token ids; only /v1/completions takes them
	Text string
}

// Params are what the requests of a row have in common.
type Params struct {
	API       string          // Completions (also when empty) or Chat
	Model     string          // sent even when empty
	Stream    bool            // and ask for a usage chunk at its end
	Output    int             // tokens to write if Body is given none; 0: the server's default
	IgnoreEOS bool            // send ignore_eos and min_tokens, so that every answer has its full length
	Omit      map[string]bool // fields of bench's own that the server refused; Extra is sent all the same
	Extra     map[string]any  // further fields; they replace bench's own except prompt, messages, model and stream
}

// Encoder makes bodies. The constant part is encoded once, prompt and length per request.
type Encoder struct {
	params   Params
	constant map[string]any
	head     []byte   // the constant part, without its closing brace
	lengths  []string // fields whose value is the number of output tokens
}

// Encoder encodes the constant part. It fails on an unknown API, a reserved field in Extra, and values
// without a JSON form.
func (p Params) Encoder() (*Encoder, error) {
	if p.API != "" && p.API != Completions && p.API != Chat {
		return nil, fmt.Errorf("encoding the body: %q is no API", p.API)
	}
	for _, key := range reservedFields {
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
		e.lengths = append(e.lengths, "max_tokens") // vLLM, SGLang and llama.cpp take it in both APIs
	}
	if p.IgnoreEOS && p.sends("min_tokens") {
		e.lengths = append(e.lengths, "min_tokens")
	}
	return e, nil
}

// sends reports whether a field of bench's own goes into the body.
func (p Params) sends(field string) bool {
	_, replaced := p.Extra[field]
	return !replaced && !p.Omit[field]
}

func (p Params) constant() map[string]any {
	m := map[string]any{"model": p.Model, "stream": p.Stream}
	if p.sends("temperature") {
		m["temperature"] = 0 // greedy sampling, for the same tokens each time
	}
	if p.Stream && p.sends("stream_options") {
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

// Body appends the body of a request for output tokens (0: Params.Output) to dst. The chat API has no token
// ids: for them Body returns nil.
func (e *Encoder) Body(dst []byte, prompt Prompt, output int) []byte {
	chat := e.params.API == Chat
	if chat && prompt.IDs != nil {
		return nil
	}
	dst = e.begin(slices.Grow(dst, len(e.head)+len(prompt.Text)+7*len(prompt.IDs)+80), output)
	switch {
	case chat:
		dst = append(append(dst, keyMessages...), '[')
		return append(appendMessage(dst, prompt.Text), "]}"...)
	case prompt.IDs != nil:
		dst = append(append(dst, keyPrompt...), '[')
		return append(appendIDs(dst, prompt.IDs), "]}"...)
	}
	return append(appendString(append(dst, keyPrompt...), prompt.Text), '}')
}

// The prompt is a body's last field.
const (
	keyMessages = `,"messages":`
	keyPrompt   = `,"prompt":`
)

// begin appends a body up to its prompt.
func (e *Encoder) begin(dst []byte, output int) []byte {
	dst = append(dst, e.head...)
	if output <= 0 {
		output = e.params.Output
	}
	for _, field := range e.lengths {
		if output > 0 {
			dst = append(append(append(dst, `,"`...), field...), `":`...)
			dst = strconv.AppendInt(dst, int64(output), 10)
		}
	}
	return dst
}

// appendIDs appends the items of a list.
func appendIDs(dst []byte, ids []int32) []byte {
	for _, id := range ids {
		if c := dst[len(dst)-1]; c != '[' {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return dst
}
