package mock

import "fmt"

// reasoningField is one of the two names in use; the other is "reasoning".
const reasoningField = "reasoning_content"

// chunks are the events of completions and chat. Their constant part is encoded once.
type chunks struct {
	frame
	p         *reply
	head      []byte // from "data: " to the choices
	chat      bool
	tool      []byte  // its name, quoted
	promptIDs []int32 // for the first event that lists token ids; nil: none, or sent
}

func newChunks(p *reply, f frame) *chunks {
	object := "text_completion"
	if p.shape == chat {
		object = "chat.completion.chunk"
	}
	return &chunks{
		frame: f, p: p, chat: p.shape == chat, tool: marshal(p.answer.tool),
		head: fmt.Appendf(nil, `data: {"id":%s,"object":%q,"created":%d,"model":%s,"choices":[`, marshal(p.rec.ID),
			object, p.rec.created(), marshal(p.rec.Model)),
	}
}

// early implements encoder. vLLM sends the role with the first token.
func (c *chunks) early() bool { return c.chat && c.p.f.has("role-early") }

// begin appends the first event of a chat response. Like vLLM's, it lists the prompt's token ids.
func (c *chunks) begin(b []byte) []byte {
	if !c.early() && c.p.listsIDs() { // known with the first token
		c.promptIDs = c.p.q.prompt
	}
	if !c.chat {
		return b
	}
	b = append(append(b, c.head...),
		`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	if c.promptIDs != nil {
		b = appendIDs(append(b, `,"prompt_token_ids":`...), c.promptIDs)
	}
	return c.endEvent(append(b, '}'))
}

func (c *chunks) open(b []byte, k tokenKind) []byte {
	b = append(b, c.head...)
	switch {
	case !c.chat:
		return append(b, `{"index":0,"text":"`...)
	case k == reasoningToken:
		return append(b, `{"index":0,"delta":{"`+reasoningField+`":"`...)
	case k == toolNameToken:
		b = append(b,
			`{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-0","type":"function","index":0,"function":{"name":`...)
		return append(append(b, c.tool...), `,"arguments":"`...)
	case k == toolArgumentToken:
		return append(b, `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"`...)
	}
	return append(b, `{"index":0,"delta":{"content":"`...)
}

// close: the finish reason is null but in the last event.
func (c *chunks) close(b []byte, k tokenKind, ids []int32) []byte {
	switch {
	case !c.chat:
		b = append(b, '"')
	case k.isTool():
		b = append(b, `"}}]}`...)
	default:
		b = append(b, `"}`...)
	}
	p, finish := c.p, ""
	if p.sent == p.q.want {
		finish = p.finish()
	}
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	if finish == "" {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), finish...), '"')
	}
	if !c.chat || finish != "" {
		b = append(b, `,"stop_reason":null`...)
	}
	if len(ids) > 0 {
		b = c.tokenIDs(b, ids)
	}
	b = append(b, "}]"...)
	if o := p.req.StreamOptions; o.ContinuousUsageStats && o.IncludeUsage && !p.f.has("no-usage") {
		b = p.usage(p.sent).append(append(b, ','))
	}
	return c.endEvent(append(b, '}'))
}

// tokenIDs appends the token ids of an event. Like vLLM's, the first one of a completion lists the prompt's, too.
func (c *chunks) tokenIDs(b []byte, ids []int32) []byte {
	if !c.chat {
		b = append(b, `,"prompt_token_ids":`...)
		if c.promptIDs == nil {
			b = append(b, "null"...)
		} else {
			b = appendIDs(b, c.promptIDs)
		}
		c.promptIDs = nil
	}
	return appendIDs(append(b, `,"token_ids":`...), ids)
}

func (c *chunks) textless(b []byte, _ tokenKind) []byte {
	return c.close(c.open(b, textToken), textToken, nil)
}

func (c *chunks) end(b []byte) []byte {
	p := c.p
	if p.req.StreamOptions.IncludeUsage && !p.f.has("no-usage") {
		b = p.usage(p.sent).append(append(append(b, c.head...), `],`...))
		if times := p.ownTimes(); times != "" {
			b = append(append(b, `,"metrics":`...), times...)
		}
		b = c.endEvent(append(b, '}'))
	}
	if !p.f.has("no-done") {
		b = c.data(b, "[DONE]")
	}
	return b
}

func (c *chunks) fail(b []byte, e *apiError) []byte {
	return c.data(c.data(b, string(e.object(c.p.shape))), "[DONE]")
}

func (c *chunks) object() map[string]any {
	p := c.p
	choice := map[string]any{"index": 0, "logprobs": nil, "finish_reason": p.finish(), "stop_reason": nil}
	if p.listsIDs() {
		ids := make([]int32, p.q.want)
		for i := range ids {
			ids[i] = p.q.generated(i)
		}
		choice["token_ids"] = ids
	}
	object := "text_completion"
	if c.chat {
		object = "chat.completion"
		choice["message"] = c.message()
	} else {
		choice["text"] = p.text(0, p.q.want)
	}
	answer := map[string]any{"id": p.rec.ID, "object": object, "created": p.rec.created(), "model": p.rec.Model,
		"choices": []any{choice}}
	if !p.f.has("no-usage") {
		answer["usage"] = p.usage(p.q.want).object()
	}
	if times := p.ownTimes(); times != "" {
		answer["metrics"] = raw(times)
	}
	return answer
}

func (c *chunks) message() map[string]any {
	p := c.p
	from := p.reasoned()
	m := map[string]any{"role": "assistant"}
	if from > 0 {
		m[reasoningField] = p.text(0, from)
	}
	if !p.calls() {
		m["content"] = p.text(from, p.q.want)
		return m
	}
	m["content"] = nil
	m["tool_calls"] = []any{map[string]any{"id": "chatcmpl-tool-0", "type": "function",
		"function": map[string]string{"name": p.answer.tool, "arguments": p.text(from, p.q.want)}}}
	return m
}
