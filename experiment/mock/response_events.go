package mock

import (
	"fmt"
	"strconv"
)

// responseEvents are the events of the Responses API, as vLLM sends them
// (vllm/entrypoints/openai/responses/streaming_events.py): created and in_progress at once; for each output item
// its beginning, its deltas, and its end with the whole text; completed with everything.
type responseEvents struct {
	frame
	p      *reply
	number int // sequence number of the next event
	items  []any
	opened itemKind
	from   int    // first token of the open item
	head   []byte // of its deltas
	tail   []byte // likewise
}

type itemKind int

const (
	noItem itemKind = iota
	reasoningItem
	messageItem
	callItem
)

func itemOf(k tokenKind) itemKind {
	switch {
	case k == reasoningToken:
		return reasoningItem
	case k.isTool():
		return callItem
	}
	return messageItem
}

func (e *responseEvents) early() bool { return true }

func (e *responseEvents) begin(b []byte) []byte {
	started := e.response("in_progress", []any{}, nil)
	b = e.send(b, "response.created", map[string]any{"response": started})
	return e.send(b, "response.in_progress", map[string]any{"response": started})
}

func (e *responseEvents) send(b []byte, kind string, fields map[string]any) []byte {
	fields["type"], fields["sequence_number"] = kind, e.number
	e.number++
	return e.event(b, kind, fields)
}

// open: the name of a tool has no delta; the beginning of its item has it.
func (e *responseEvents) open(b []byte, k tokenKind) []byte {
	if item := itemOf(k); item != e.opened {
		b = e.openItem(e.closeItem(b), item)
	}
	if k == toolNameToken {
		return b
	}
	return append(b, e.head...)
}

func (e *responseEvents) close(b []byte, k tokenKind, _ []int32) []byte {
	if k == toolNameToken {
		return b
	}
	b = strconv.AppendInt(append(b, e.tail...), int64(e.number), 10)
	e.number++
	b = append(append(append(b, `,"type":"`...), itemForms[e.opened].event...), `.delta"}`...)
	return e.endEvent(b)
}

func (e *responseEvents) textless(b []byte, k tokenKind) []byte {
	if k == toolNameToken {
		return b
	}
	return e.close(e.open(b, k), k, nil)
}

// itemForms are the names of an item: of its id, its events and its part, if it has parts; in the Messages API of its
// block's delta and the delta's text.
var itemForms = [...]struct{ id, event, part, delta, field string }{
	reasoningItem: {"rs", "response.reasoning_text", "reasoning_text", "thinking_delta", "thinking"},
	messageItem:   {"msg", "response.output_text", "output_text", "text_delta", "text"},
	callItem:      {"fc", "response.function_call_arguments", "", "input_json_delta", "partial_json"},
}

func (e *responseEvents) itemID() string {
	return fmt.Sprintf("%s_%s_%d", itemForms[e.opened].id, e.p.rec.ID, len(e.items))
}

func (e *responseEvents) openItem(b []byte, item itemKind) []byte {
	e.opened, e.from = item, e.p.sent+e.p.held
	b = e.send(b, "response.output_item.added", map[string]any{"output_index": len(e.items),
		"item": e.item(e.itemID(), item, "in_progress", "")})
	id, content, extra := marshal(e.itemID()), "", ""
	if item == messageItem {
		extra = `"logprobs":[],`
	}
	if item != callItem {
		content = `"content_index":0,`
		b = e.send(b, "response.content_part.added", e.at(map[string]any{"part": onlyPart(item, "")}))
	}
	e.head = append(e.name(nil, itemForms[item].event+".delta"), `data: {`+content+`"delta":"`...)
	e.tail = fmt.Appendf(nil, `","item_id":%s,%s"output_index":%d,"sequence_number":`, id, extra, len(e.items))
	return b
}

func (e *responseEvents) at(fields map[string]any) map[string]any {
	fields["item_id"], fields["output_index"] = e.itemID(), len(e.items)
	if e.opened != callItem {
		fields["content_index"] = 0
	}
	return fields
}

func (e *responseEvents) closeItem(b []byte) []byte {
	if e.opened == noItem {
		return b
	}
	item, text := e.opened, e.p.text(e.from, e.p.sent+e.p.held)
	fields := map[string]any{"text": text}
	switch item {
	case callItem:
		fields = map[string]any{"arguments": text, "name": e.p.answer.tool}
	case messageItem:
		fields["logprobs"] = []any{}
	}
	b = e.send(b, itemForms[item].event+".done", e.at(fields))
	if item != callItem {
		b = e.send(b, "response.content_part.done", e.at(map[string]any{"part": onlyPart(item, text)}))
	}
	done := e.item(e.itemID(), item, "completed", text)
	b = e.send(b, "response.output_item.done", map[string]any{"output_index": len(e.items), "item": done})
	e.items, e.opened = append(e.items, done), noItem
	return b
}

// end: like vLLM, an answer that max_output_tokens cut ends with response.completed, too.
func (e *responseEvents) end(b []byte) []byte {
	b = e.closeItem(b)
	if e.p.f.has("no-done") {
		return b
	}
	kind, response := "response.completed", e.ended(e.items)
	if e.p.f.has("incomplete-event") && response["status"] == "incomplete" {
		kind = "response.incomplete"
	}
	return e.send(b, kind, map[string]any{"response": response})
}

func (e *responseEvents) fail(b []byte, bad *apiError) []byte {
	return e.send(b, "error", map[string]any{"code": "server_error", "message": bad.message, "param": nil})
}

func (e *responseEvents) object() map[string]any {
	p := e.p
	for from := 0; from < p.q.want; {
		e.opened = itemOf(p.kind(from))
		to := from + 1
		for to < p.q.want && itemOf(p.kind(to)) == e.opened {
			to++
		}
		e.items = append(e.items, e.item(e.itemID(), e.opened, "completed", p.text(from, to)))
		from = to
	}
	return e.ended(e.items)
}

func onlyPart(item itemKind, text string) map[string]any {
	part := map[string]any{"type": itemForms[item].part, "text": text}
	if item == messageItem {
		part["annotations"], part["logprobs"] = []any{}, []any{}
	}
	return part
}

func (e *responseEvents) item(id string, kind itemKind, status, text string) map[string]any {
	item := map[string]any{"id": id, "status": status}
	if kind == callItem {
		item["type"], item["call_id"], item["name"], item["arguments"] = "function_call", "call_"+
			id, e.p.answer.tool, text
		return item
	}
	parts := []any{}
	if status == "completed" {
		parts = append(parts, onlyPart(kind, text))
	}
	item["type"], item["content"] = "message", parts
	if kind == reasoningItem {
		item["type"], item["summary"] = "reasoning", []any{}
	} else {
		item["role"] = "assistant"
	}
	return item
}

func (e *responseEvents) ended(output []any) map[string]any {
	p, status := e.p, "completed"
	if p.q.finish == "length" {
		status = "incomplete"
	}
	var used any
	if !p.f.has("no-usage") {
		used = p.usage(p.q.want).responses()
	}
	return e.response(status, output, used)
}

func (e *responseEvents) response(status string, output []any, used any) map[string]any {
	p := e.p
	answer := map[string]any{
		"id": p.rec.ID, "object": "response", "created_at": p.rec.created(), "model": p.rec.Model, "status": status,
		"output": output, "usage": used,
		"incomplete_details": nil, "error": nil, "instructions": nil, "metadata": nil, "parallel_tool_calls": true,
		"tool_choice": "auto", "tools": []any{}, "temperature": 1.0, "top_p": 1.0, "max_output_tokens": p.req.MaxTokens,
		"previous_response_id": nil, "truncation": "disabled", "background": false, "service_tier": "auto",
	}
	if status == "incomplete" {
		answer["incomplete_details"] = map[string]string{"reason": "max_output_tokens"}
	}
	if times := p.ownTimes(); times != "" && used != nil {
		answer["metrics"] = raw(times)
	}
	return answer
}
