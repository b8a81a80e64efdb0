package mock

import (
	"encoding/json"
	"strconv"
)

type encoder interface {
	// early reports whether begin is written with the headers, not with the first token.
	early() bool
	begin(b []byte) []byte
	// open appends an event up to the text of its tokens.
	open(b []byte, k tokenKind) []byte
	// close appends the rest of an event. No ids leave the token ids out.
	close(b []byte, k tokenKind, ids []int32) []byte
	// textless appends what the fault empty-events adds before an event: one without text.
	textless(b []byte, k tokenKind) []byte
	// comment and emptyEvent append what no API needs and all permit.
	comment(b []byte) []byte
	emptyEvent(b []byte) []byte
	end(b []byte) []byte
	fail(b []byte, e *apiError) []byte
	object() map[string]any
}

type tokenKind int

const (
	textToken tokenKind = iota
	reasoningToken
	toolNameToken // the name of a tool
	toolArgumentToken
)

func (k tokenKind) isTool() bool { return k == toolNameToken || k == toolArgumentToken }

func (p *reply) newEncoder() encoder {
	frame := frame("\n")
	if p.f.has("crlf") {
		frame = "\r\n"
	}
	switch p.shape {
	case responses:
		return &responseEvents{frame: frame, p: p}
	case messages:
		return &messageEvents{frame: frame, p: p}
	}
	return newChunks(p, frame)
}

type frame string

func (f frame) data(b []byte, payload string) []byte {
	return f.endEvent(append(append(b, "data: "...), payload...))
}

func (f frame) event(b []byte, name string, v any) []byte {
	return f.data(f.name(b, name), string(marshal(v)))
}

func (f frame) name(b []byte, name string) []byte {
	return append(append(append(b, "event: "...), name...), f...)
}

func (f frame) comment(b []byte) []byte { return f.endEvent(append(b, ": ping"...)) }

func (f frame) emptyEvent(b []byte) []byte { return f.endEvent(append(b, "data:"...)) }

func (f frame) endEvent(b []byte) []byte { return append(append(b, f...), f...) }

func marshal(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

type usage struct {
	prompt, cached          int
	output, reasoning       int
	hasCached, hasReasoning bool // the answer reports them
}

func (p *reply) usage(output int) usage {
	u := usage{prompt: len(p.q.prompt), cached: p.q.cached, output: output}
	u.reasoning = min(output, p.answer.reasoning)
	u.hasReasoning = !p.f.has("no-completion-tokens-details") && p.answer.reasons
	u.hasCached = !p.f.has("no-prompt-tokens-details") && (!p.f.has("no-zero-cached-tokens") || u.cached > 0)
	if p.f.has("wrong-usage") {
		u.output, u.cached = p.f["wrong-usage"].n, p.f["wrong-usage"].cached
	}
	return u
}

func (u usage) object() map[string]any { return u.named("prompt_tokens", "completion_tokens") }

func (u usage) responses() map[string]any { return u.named("input_tokens", "output_tokens") }

func (u usage) named(prompt, output string) map[string]any {
	object := map[string]any{prompt: u.prompt, output: u.output, "total_tokens": u.prompt + u.output}
	if u.hasCached {
		object[prompt+"_details"] = map[string]int{"cached_tokens": u.cached}
	}
	if u.hasReasoning {
		object[output+"_details"] = map[string]int{"reasoning_tokens": u.reasoning}
	}
	return object
}

func (u usage) append(b []byte) []byte {
	return append(append(b, `"usage":`...), marshal(u.object())...)
}
