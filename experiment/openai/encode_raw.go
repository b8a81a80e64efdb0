package openai

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"bench/experiment/target"
)

// RawPrompt is a prompt as JSON, which goes into the body byte for byte. Exactly one of Text and Messages is set.
type RawPrompt struct {
	Text     []byte // a string; of the completions API also a list of token ids
	Messages []byte // a list of messages
	// Fields are further fields of the body; they replace bench's own except the prompt, model and stream.
	Fields []RawField
}

type RawField struct {
	Name  string
	Value []byte
}

func (e *Encoder) RawBody(dst []byte, p RawPrompt, output int) []byte {
	dst = e.rawHead(dst, p.Fields, output)
	dst = append(dst, e.params.promptKey()...)
	switch {
	case p.Messages != nil:
		dst = append(dst, p.Messages...)
	case target.InMessages(e.params.API):
		dst = append(appendRawMessage(append(dst, '['), p.Text), ']')
	default:
		dst = append(dst, p.Text...)
	}
	return append(dst, '}')
}

// RawExtend appends the body of a conversation's next turn to dst. before is the body of the turn before, as RawBody or
// RawExtend made it for a nil dst and these fields; answer is the server's answer to it, and text the user's, a JSON
// string.
func (e *Encoder) RawExtend(dst, before []byte, fields []RawField, answer *Answer, text []byte, output int) []byte {
	dst = e.extend(dst, before, fields, len(answer.Text)+len(text), output)
	if target.InMessages(e.params.API) {
		return append(appendRawMessage(e.appendAnswer(dst, answer), text), "]}"...)
	}
	dst = append(append(dst, answer.Text...), text[1:len(text)-1]...)
	return append(dst, `"}`...)
}

func (e *Encoder) rawHead(dst []byte, fields []RawField, output int) []byte {
	replaced := func(name string) bool {
		return slices.ContainsFunc(fields, func(f RawField) bool { return f.Name == name })
	}
	dst = append(dst, '{')
	for _, f := range e.fields {
		if !replaced(f.Name) {
			dst = appendField(dst, f)
		}
	}
	for _, f := range fields {
		dst = appendField(dst, f)
	}
	for _, name := range e.lengths {
		if output > 0 && !replaced(name) {
			dst = strconv.AppendInt(appendField(dst, RawField{Name: name}), int64(output), 10)
		}
	}
	return dst
}

func appendField(dst []byte, f RawField) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(appendString(dst, f.Name), ':'), f.Value...)
}

func appendRawMessage(dst, text []byte) []byte {
	return append(append(append(dst, `{"role":"user","content":`...), text...), '}')
}

func fieldsOf(body map[string]any) ([]RawField, error) {
	var out []RawField
	for _, name := range slices.Sorted(maps.Keys(body)) {
		value, err := encodeJSON(body[name])
		if err != nil {
			return nil, err
		}
		out = append(out, RawField{name, value})
	}
	return out, nil
}

// templateFields are the fields of a request that a chat template reads.
var templateFields = []string{"tools", "chat_template", "chat_template_kwargs", "add_generation_prompt",
	"continue_final_message", "documents"}

// Tokenize counts the tokens of a prompt by POST /tokenize, as vLLM and SGLang have it: with the chat template for
// messages, and without computing anything. ok is false if the server does not count so.
func (c *Client) Tokenize(ctx context.Context, e *Encoder, p RawPrompt) (tokens int, ok bool) {
	e = e.forTokenize()
	p.Fields = slices.DeleteFunc(slices.Clone(p.Fields),
		func(f RawField) bool { return !slices.Contains(templateFields, f.Name) })
	status, answer, err := c.post(ctx, "/tokenize", e.RawBody(nil, p, 0))
	var said struct{ Count int }
	if err != nil || status != 200 || json.Unmarshal(answer, &said) != nil || said.Count <= 0 {
		return 0, false
	}
	return said.Count, true
}

// TokenizeText counts the tokens of a text without a template, as vLLM, SGLang and llama.cpp have it: the last takes
// content in place of prompt, and states no count. ok is false if the server does not count so.
func (c *Client) TokenizeText(ctx context.Context, model, text string) (tokens int, ok bool) {
	body, err := json.Marshal(map[string]string{"model": model, "prompt": text, "content": text})
	if err != nil {
		return 0, false
	}
	status, answer, err := c.post(ctx, "/tokenize", body)
	var said struct {
		Count  int
		Tokens []json.RawMessage
	}
	if err != nil || status != 200 || json.Unmarshal(answer, &said) != nil {
		return 0, false
	}
	tokens = max(said.Count, len(said.Tokens))
	return tokens, tokens > 0
}

func (e *Encoder) forTokenize() *Encoder {
	own := *e
	own.fields = slices.DeleteFunc(slices.Clone(e.fields), func(f RawField) bool {
		return f.Name != "model" && !slices.Contains(templateFields, f.Name)
	})
	own.head = len(own.rawHead(nil, nil, 0))
	return &own
}
