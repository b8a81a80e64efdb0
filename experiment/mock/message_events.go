package mock

import (
	"encoding/json"
	"fmt"
)

// messageEvents are the events of Anthropic's Messages API, as vLLM sends them
// (vllm/entrypoints/anthropic/serving.py): message_start with the first token; for each content block its start, its
// deltas and its stop; message_delta with stop reason and usage; message_stop.
type messageEvents struct {
	frame
	p      *reply
	opened itemKind
	blocks int    // that have ended
	head   []byte // of the open block's deltas
	tail   []byte // likewise
}

const signature = "bW9jaw=="

func (e *messageEvents) early() bool { return e.p.f.has("role-early") }

func (e *messageEvents) begin(b []byte) []byte {
	m := e.message([]any{}, nil)
	if !e.p.f.has("no-usage") {
		m["usage"] = e.usage(0)
	}
	return e.event(b, "message_start", map[string]any{"type": "message_start", "message": m})
}

// usage are the token counts after a number of output tokens. Before the first token none are known as cached.
func (e *messageEvents) usage(output int) map[string]int {
	u := e.p.usage(output)
	if output == 0 { // wrong-usage is for the end
		u.output = 0
	}
	if !u.hasCached {
		return map[string]int{"input_tokens": u.prompt, "output_tokens": u.output}
	}
	return map[string]int{"input_tokens": max(0, u.prompt-u.cached), "output_tokens": u.output,
		"cache_read_input_tokens": u.cached}
}

// open: the name of a tool has no delta; the start of its block has it.
func (e *messageEvents) open(b []byte, k tokenKind) []byte {
	if item := itemOf(k); item != e.opened {
		b = e.openBlock(e.closeBlock(b), item)
	}
	if k == toolNameToken {
		return b
	}
	return append(b, e.head...)
}

func (e *messageEvents) close(b []byte, k tokenKind, _ []int32) []byte {
	if k == toolNameToken {
		return b
	}
	return e.endEvent(append(b, e.tail...))
}

func (e *messageEvents) textless(b []byte, _ tokenKind) []byte {
	return e.event(b, "ping", map[string]string{"type": "ping"})
}

func (e *messageEvents) openBlock(b []byte, item itemKind) []byte {
	e.opened = item
	b = e.event(b, "content_block_start", map[string]any{"type": "content_block_start", "index": e.blocks,
		"content_block": e.block(item, "")})
	e.head = fmt.Appendf(e.name(nil, "content_block_delta"),
		`data: {"type":"content_block_delta","delta":{"type":%q,%q:"`, itemForms[item].delta, itemForms[item].field)
	e.tail = fmt.Appendf(nil, `"},"index":%d}`, e.blocks)
	return b
}

func (e *messageEvents) closeBlock(b []byte) []byte {
	if e.opened == noItem {
		return b
	}
	if e.opened == reasoningItem {
		b = e.event(b, "content_block_delta", map[string]any{"type": "content_block_delta", "index": e.blocks,
			"delta": map[string]string{"type": "signature_delta", "signature": signature}})
	}
	b = e.event(b, "content_block_stop", map[string]any{"type": "content_block_stop", "index": e.blocks})
	e.blocks++
	e.opened = noItem
	return b
}

func (e *messageEvents) end(b []byte) []byte {
	last := map[string]any{"type": "message_delta",
		"delta": map[string]any{"stop_reason": e.stopReason(), "stop_sequence": nil}}
	if !e.p.f.has("no-usage") {
		last["usage"] = e.usage(e.p.sent)
	}
	b = e.event(e.closeBlock(b), "message_delta", last)
	if e.p.f.has("no-done") {
		return b
	}
	return e.event(b, "message_stop", map[string]string{"type": "message_stop"})
}

func (e *messageEvents) fail(b []byte, bad *apiError) []byte {
	return e.data(e.name(b, "error"), string(bad.object(messages)))
}

func (e *messageEvents) stopReason() string {
	switch {
	case e.p.q.finish == "length":
		return "max_tokens"
	case e.p.calls():
		return "tool_use"
	}
	return "end_turn"
}

func (e *messageEvents) block(item itemKind, text string) map[string]any {
	switch item {
	case reasoningItem:
		return map[string]any{"type": "thinking", "thinking": text}
	case callItem:
		input := any(text) // planted without its end
		if text == "" {
			input = raw("{}") // the stream has its arguments
		}
		if json.Valid([]byte(text)) {
			input = raw(text)
		}
		return map[string]any{"type": "tool_use", "id": "toolu_" + e.p.rec.ID, "name": e.p.answer.tool, "input": input}
	}
	return map[string]any{"type": "text", "text": text}
}

func (e *messageEvents) object() map[string]any {
	p, from := e.p, e.p.reasoned()
	var blocks []any
	if from > 0 {
		thinking := e.block(reasoningItem, p.text(0, from))
		thinking["signature"] = signature
		blocks = append(blocks, thinking)
	}
	if from < p.q.want {
		blocks = append(blocks, e.block(itemOf(p.kind(from)), p.text(from, p.q.want)))
	}
	m := e.message(blocks, e.stopReason())
	if !p.f.has("no-usage") {
		m["usage"] = e.usage(p.q.want)
	}
	return m
}

func (e *messageEvents) message(content []any, stop any) map[string]any {
	return map[string]any{"id": e.p.rec.ID, "type": "message", "role": "assistant", "model": e.p.rec.Model,
		"content": content, "stop_reason": stop, "stop_sequence": nil}
}
