package mock

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// writeWhole writes the response without streaming after its last token; false: it did not reach the end.
func (p *reply) writeWhole(ctx context.Context) bool {
	var last time.Duration
	for n := 0; n < p.q.want; {
		due, err := p.q.mail.take(ctx, nil)
		if err != nil {
			return false
		}
		if len(due) > 0 { // a signal can refer to tokens that were taken before
			n += len(due)
			last = due[len(due)-1]
		}
	}
	body, _ := json.Marshal(p.object()) // always encodes
	p.w.Header().Set("Content-Type", "application/json")
	p.w.WriteHeader(http.StatusOK)
	p.rec.HeadersNS = int64(time.Since(p.start))
	if p.f.breaks(p.q.want) && p.f.ending != "error-in-stream" {
		p.write(body[:len(body)/2])
		return false
	}
	writing := time.Since(p.start)
	// Flushed, hence chunked: the end of the body is sent after the record is stored, so that a client that
	// has read the whole response finds the record.
	done := p.write(body)
	p.sent = p.q.want
	p.rec.DueNS = []int64{int64(last)}
	p.rec.WritingNS = []int64{int64(writing)}
	p.rec.WrittenNS = []int64{int64(time.Since(p.start))}
	p.rec.TokensPerEvent = []int{p.q.want}
	return done
}

// object is the response in vLLM's form.
func (p *reply) object() map[string]any {
	choice := map[string]any{"index": 0, "logprobs": nil, "finish_reason": p.finish(), "stop_reason": nil}
	if p.listsIDs() {
		ids := make([]int32, p.q.want)
		for i := range ids {
			ids[i] = p.q.generated(i)
		}
		choice["token_ids"] = ids
	}
	object := "text_completion"
	if p.shape == chat {
		object = "chat.completion"
		choice["message"] = p.message()
	} else {
		choice["text"] = p.words(0, p.q.want)
	}
	answer := map[string]any{"id": p.rec.ID, "object": object, "created": p.rec.ArrivalUnixNS / 1e9, "model": p.rec.Model, "choices": []any{choice}}
	output, cached := p.q.want, p.q.cached
	if p.f.wrongUsage {
		output, cached = p.f.wrongOutput, p.f.wrongCached
	}
	if !p.f.noUsage {
		usage := map[string]any{"prompt_tokens": len(p.q.prompt), "completion_tokens": output, "total_tokens": len(p.q.prompt) + output}
		if !p.f.noDetails && (!p.f.noZero || p.q.cached > 0) {
			usage["prompt_tokens_details"] = map[string]int{"cached_tokens": cached}
		}
		answer["usage"] = usage
	}
	return answer
}

func (p *reply) message() map[string]any {
	all := p.words(0, p.q.want)
	switch {
	case p.f.tools:
		call := map[string]any{"id": "chatcmpl-tool-0", "type": "function", "function": map[string]string{"name": p.f.tool, "arguments": `{"words":"` + p.words(1, p.q.want) + `"}`}}
		return map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}
	case p.f.reasoning:
		half := (p.q.want + 1) / 2
		return map[string]any{"role": "assistant", "content": p.words(half, p.q.want), "reasoning_content": p.words(0, half)}
	}
	return map[string]any{"role": "assistant", "content": all}
}

// words is the text of the output tokens [from, to).
func (p *reply) words(from, to int) string {
	var b []byte
	for i := from; i < to; i++ {
		if p.hasText(textToken, i) {
			b = p.appendWord(b, i)
		}
	}
	return string(b)
}
