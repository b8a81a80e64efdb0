package openai

import (
	"context"
	"encoding/json"
	"slices"
)

// templateFields are the fields of a request that a chat template reads.
var templateFields = []string{"tools", "chat_template", "chat_template_kwargs", "add_generation_prompt",
	"continue_final_message", "documents"}

// Tokenize counts the tokens of a prompt by POST /tokenize, as vLLM and SGLang have it: with the chat template for
// messages, and without computing anything. ok is false if the server does not count so.
func (c *Client) Tokenize(ctx context.Context, e *Encoder, p RawPrompt) (tokens int, ok bool) {
	e = e.forTokenize()
	p.Fields = slices.DeleteFunc(slices.Clone(p.Fields),
		func(f RawField) bool { return !slices.Contains(templateFields, f.Name) })
	status, answer, err := c.Post(ctx, "/tokenize", e.RawBody(nil, p, 0))
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
	status, answer, err := c.Post(ctx, "/tokenize", body)
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
	return &own
}
