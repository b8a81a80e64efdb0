package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"bench/experiment/target"
)

// newer is the later API that a path belongs to; empty: it is of the older ones.
func newer(path string) string {
	for _, api := range []string{target.Responses, target.Messages} {
		if strings.HasSuffix(path, "/v1/"+api) {
			return api
		}
	}
	return ""
}

// said is the text of all messages of a body.
func said(body map[string]any) string {
	messages, _ := body["messages"].([]any)
	if input, ok := body["input"].([]any); ok {
		messages = input
	}
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.(map[string]any)["content"].(string))
	}
	return strings.Join(texts, " ")
}

// answerNewer answers by a later API with n tokens.
func (f *fake) answerNewer(w http.ResponseWriter, api string, body map[string]any, prompt, n int) {
	stream := body["stream"] == true || f.alwaysStreams
	usage := map[string]any{"input_tokens": prompt, "output_tokens": n}
	if f.mute || stream && f.silent {
		usage = nil
	}
	text := strings.Repeat("a ", n)
	whole := map[string]any{"id": "x", "object": "response", "status": "completed", "usage": usage,
		"output": []any{map[string]any{"type": "message", "content": []any{map[string]any{"type": "output_text", "text": text}}}}}
	if api == target.Messages {
		whole = map[string]any{"id": "x", "type": "message", "stop_reason": "max_tokens", "usage": usage, "content": []any{map[string]any{"type": "text", "text": text}}}
	}
	if !stream {
		reply(w, 200, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event map[string]any) {
		b, _ := json.Marshal(event)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], b)
		_ = http.NewResponseController(w).Flush()
	}
	for range n {
		if api == target.Messages {
			send(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": "a "}})
		} else {
			send(map[string]any{"type": "response.output_text.delta", "delta": "a "})
		}
	}
	if api == target.Messages {
		send(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": "max_tokens"}, "usage": usage})
		send(map[string]any{"type": "message_stop"})
	} else {
		send(map[string]any{"type": "response.completed", "response": whole})
	}
	if f.closesStreams {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}
