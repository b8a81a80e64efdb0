package mock

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// event is a server-sent event.
type event struct {
	name string
	data map[string]any
}

// events are the events of a stream; comments and empty events are left out.
func events(t *testing.T, text string) (all []event) {
	t.Helper()
	for _, block := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		var e event
		for _, line := range strings.Split(block, "\n") {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = name
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" {
				if err := json.Unmarshal([]byte(data), &e.data); err != nil {
					t.Fatalf("%v: %s", err, data)
				}
			}
		}
		if e.data != nil {
			all = append(all, e)
		}
	}
	return all
}

// names are the names of events, each run of equal ones once, without the API's prefix.
func names(all []event) string {
	var list []string
	for _, e := range all {
		list = append(list, strings.TrimPrefix(e.name, "response."))
	}
	return strings.Join(slices.Compact(list), " ")
}

// at is a value inside nested objects and lists.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// deltas joins the texts of the events of a name.
func deltas(all []event, name string, path ...any) (text string, n int) {
	for _, e := range all {
		if e.name != name {
			continue
		}
		if piece, ok := at(e.data, path...).(string); ok {
			text += piece
			n++
		}
	}
	return text, n
}

const responsesBody = `{"model":"m","input":"one two three","max_output_tokens":6,"ignore_eos":true,"stream":true}`
const messagesBody = `{"model":"m","messages":[{"role":"user","content":"one two three"}],"max_tokens":6,"ignore_eos":true,"stream":true}`

func TestResponsesStream(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		_, text := fetch(t, h, "http://mock/v1/responses", responsesBody)
		all := events(t, text)
		want := "created in_progress output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done completed"
		if got := names(all); got != want {
			t.Fatalf("events %s\nwant %s", got, want)
		}
		for i, e := range all {
			if at(e.data, "type") != e.name || at(e.data, "sequence_number") != float64(i) {
				t.Errorf("event %d: %v", i, e)
			}
		}
		said, n := deltas(all, "response.output_text.delta", "delta")
		end := all[len(all)-1].data
		item := at(end, "response", "output", 0)
		if n != 6 || at(item, "content", 0, "text") != said || at(item, "type") != "message" || at(all[5].data, "item_id") != at(item, "id") {
			t.Errorf("%d deltas %q, item %v", n, said, item)
		}
		if at(end, "response", "status") != "incomplete" || at(end, "response", "incomplete_details", "reason") != "max_output_tokens" ||
			at(end, "response", "usage", "input_tokens") != 10. || at(end, "response", "usage", "output_tokens") != 6. ||
			at(end, "response", "usage", "input_tokens_details", "cached_tokens") != 0. || at(end, "response", "usage", "total_tokens") != 16. {
			t.Errorf("%v", end)
		}
		var whole map[string]any
		_, text = fetch(t, h, "http://mock/v1/responses", strings.Replace(responsesBody, `"stream":true`, `"stream":false`, 1))
		if err := json.Unmarshal([]byte(text), &whole); err != nil || at(whole, "output", 0, "content", 0, "text") != said || at(whole, "object") != "response" ||
			at(whole, "usage", "output_tokens") != 6. || at(whole, "status") != "incomplete" {
			t.Errorf("%v: %s", err, text)
		}
	})
}

func TestMessagesStream(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		_, text := fetch(t, h, "http://mock/v1/messages", messagesBody)
		all := events(t, text)
		if got, want := names(all), "message_start content_block_start content_block_delta content_block_stop message_delta message_stop"; got != want {
			t.Fatalf("events %s\nwant %s", got, want)
		}
		for i, e := range all {
			if at(e.data, "type") != e.name {
				t.Errorf("event %d: %v", i, e)
			}
		}
		said, n := deltas(all, "content_block_delta", "delta", "text")
		end := all[len(all)-2].data
		if n != 6 || at(end, "delta", "stop_reason") != "max_tokens" || at(end, "usage", "output_tokens") != 6. || at(end, "usage", "input_tokens") != 10. ||
			at(end, "usage", "cache_read_input_tokens") != 0. || at(all[0].data, "message", "usage", "input_tokens") != 10. {
			t.Errorf("%d deltas, %v", n, end)
		}
		var whole map[string]any
		_, text = fetch(t, h, "http://mock/v1/messages", strings.Replace(messagesBody, `"stream":true`, `"stream":false`, 1))
		if err := json.Unmarshal([]byte(text), &whole); err != nil || at(whole, "content", 0, "text") != said || at(whole, "type") != "message" ||
			at(whole, "usage", "output_tokens") != 6. || at(whole, "stop_reason") != "max_tokens" {
			t.Errorf("%v: %s", err, text)
		}
	})
}

// The three APIs of turns make the same prompt of the same conversation, so that it hits the cache.
func TestSameConversation(t *testing.T) {
	bodies := map[string]string{
		"chat/completions": `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
			{"role":"assistant","content":"three"},{"role":"user","content":"four"}],"max_tokens":2}`,
		"responses": `{"instructions":"be brief","input":[{"role":"user","content":[{"type":"input_text","text":"one"},{"type":"input_text","text":"two"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"three","annotations":[]}]},{"role":"user","content":"four"}],"max_output_tokens":2}`,
		"messages": `{"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
			{"role":"assistant","content":[{"type":"text","text":"three"}]},{"role":"user","content":"four"}],"max_tokens":2}`,
	}
	virtual(t, Config{Model: "m", BlockSize: 4}, func(t *testing.T, s *Server, h *http.Client) {
		for path, body := range bodies {
			if status, text := fetch(t, h, "http://mock/v1/"+path, body); status != 200 {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
		for i, r := range truths(t, h, "http://mock") {
			if r.PromptTokens != 25 || (i > 0) != (r.CachedTokens == 24) {
				t.Errorf("%s: %d prompt tokens, %d cached", r.API, r.PromptTokens, r.CachedTokens)
			}
		}
	})
}

// A forced tool is called: its name, then its arguments as JSON.
func TestToolsOfEachAPI(t *testing.T) {
	tests := []struct{ path, body, tools string }{
		{"responses", responsesBody, `"tools":[{"type":"function","name":"one","parameters":{}},{"type":"function","name":"two"}],"tool_choice":{"type":"function","name":"two"}`},
		{"messages", messagesBody, `"tools":[{"name":"one","input_schema":{}},{"name":"two","input_schema":{}}],"tool_choice":{"type":"tool","name":"two"}`},
		{"responses", responsesBody, `"tools":[{"type":"function","name":"two"}],"tool_choice":"required"`},
		{"messages", messagesBody, `"tools":[{"name":"two","input_schema":{}}],"tool_choice":{"type":"any"}`},
	}
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for _, test := range tests {
			body := strings.TrimSuffix(test.body, "}") + "," + test.tools + "}"
			_, text := fetch(t, h, "http://mock/v1/"+test.path, body)
			all := events(t, text)
			name, arguments := at(all[2].data, "item", "name"), ""
			arguments, n := deltas(all, "response.function_call_arguments.delta", "delta")
			if test.path == "messages" {
				name = at(all[1].data, "content_block", "name")
				arguments, n = deltas(all, "content_block_delta", "delta", "partial_json")
			}
			var object struct{ Words string }
			if err := json.Unmarshal([]byte(arguments), &object); err != nil || name != "two" || n != 5 || len(strings.Fields(object.Words)) != 5 {
				t.Errorf("%s: %v, called %v with %s", test.tools, err, name, arguments)
			}
			var whole map[string]any
			_, text = fetch(t, h, "http://mock/v1/"+test.path, strings.Replace(body, `"stream":true`, `"stream":false`, 1))
			if err := json.Unmarshal([]byte(text), &whole); err != nil {
				t.Fatal(err, text)
			}
			same := at(whole, "output", 0, "arguments") == arguments
			if test.path == "messages" {
				same = at(whole, "content", 0, "input", "words") == object.Words
			}
			if !same {
				t.Errorf("in one piece: %s", text)
			}
		}
	})
}

// Every fault for both APIs.
func TestFaultsOfEachAPI(t *testing.T) {
	type check func(all []event, text string) bool
	count := func(name string, n int) check {
		return func(all []event, text string) bool {
			_, got := deltas(all, name, "delta")
			_, block := deltas(all, name, "delta", "text")
			return max(got, block) == n
		}
	}
	last := func(name string) check {
		return func(all []event, _ string) bool { return all[len(all)-1].name == name }
	}
	has := func(part string, n int) check {
		return func(_ []event, text string) bool { return strings.Count(text, part) == n }
	}
	const text, block = "response.output_text.delta", "content_block_delta"
	tests := []struct {
		fault     string
		status    int
		responses check
		messages  check
	}{
		{"", 200, last("response.completed"), last("message_stop")},
		{"status=503", 503, has(`{"error":{"code":503`, 1), has(`{"error":{"message":"injected fault","type":"ServiceUnavailableError"},"type":"error"}`, 1)},
		{"multi=4", 200, count(text, 2), count(block, 2)},
		{"short=2", 200, has(`"status":"completed"`, 3), has(`"stop_reason":"end_turn"`, 1)},
		{"crlf", 200, has("\r\n\r\n", 14), has("\r\n\r\n", 11)},
		{"comments", 200, has(": ping\n\n", 6), has(": ping\n\n", 6)},
		{"empty-events", 200, count(text, 12), has("event: ping\n", 6)},
		{"no-text=all", 200, has(`"delta":""`, 6), has(`"text_delta","text":""`, 6)},
		{"split-utf8", 200, has("é w", 6+4*6), has("é w", 6)},
		{"no-done", 200, last("response.output_item.done"), last("message_delta")},
		{"no-usage", 200, has(`"usage":null`, 3), has("usage", 0)},
		{"no-prompt-tokens-details", 200, has("cached", 0), has("cache_read", 0)},
		{"no-zero-cached-tokens", 200, has("cached", 0), has("cache_read", 0)},
		{"wrong-usage=99:7", 200, has(`"cached_tokens":7},"output_tokens":99,`, 1), has(`"usage":{"cache_read_input_tokens":7,"input_tokens":3,"output_tokens":99}`, 1)},
		{"cut-mid=3", 200, last(text), last(block)},
		{"error-in-stream=3", 200, last("error"), last("error")},
		{"role-early", 200, count(text, 6), count(block, 6)},
		{"incomplete-event", 200, last("response.incomplete"), last("message_stop")},
		{"role-reasoning", 200, has("event: response.reasoning_text.delta\n", 3), has(`"type":"thinking_delta"`, 3)},
		{"tool-calls", 200, has(`"name":"look"`, 4), has(`"name":"look"`, 1)},
		{"role-reasoning,tool-calls", 200, has("event: response.function_call_arguments.delta\n", 2), has(`"type":"input_json_delta"`, 2)},
		{"pause=3:1ms", 200, count(text, 6), count(block, 6)},
		{"no-token-ids", 200, count(text, 6), count(block, 6)},
		{"no-completion-tokens-details,role-reasoning", 200, has("reasoning_tokens", 0), has("event: message_stop\n", 1)},
	}
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for _, test := range tests {
			for path, check := range map[string]check{"responses": test.responses, "messages": test.messages} {
				body := responsesBody
				if path == "messages" {
					body = messagesBody
				}
				status, text := fetch(t, h, "http://mock/v1/"+path, body, "X-Mock-Fault", test.fault)
				var all []event
				if status == 200 {
					all = events(t, text)
				}
				if status != test.status || !check(all, text) {
					t.Errorf("%s, %s: %d\n%s", path, test.fault, status, text)
				}
			}
		}
		for path, body := range map[string]string{"responses": responsesBody, "messages": messagesBody} {
			_, text := fetch(t, h, "http://mock/v1/"+path, body, "X-Mock-Fault", "garbage-mid=3")
			if utf8.ValidString(text) || strings.Contains(text, "completed\"}") {
				t.Errorf("%s: %s", path, text)
			}
		}
	})
}

func TestRefusalsOfEachAPI(t *testing.T) {
	c := quick()
	c.MaxModelLen = 100
	tests := []struct {
		path, body string
		status     int
		message    string
	}{
		{"responses", `{"input":7}`, 400, "input must be a string or a list of items"},
		{"responses", `{"input":[]}`, 400, "input must not be empty"},
		{"responses", `{"input":"a","previous_response_id":"x"}`, 404, "Response with id 'x' not found."},
		{"responses", `{"input":"a","model":"n"}`, 404, "The model `n` does not exist."},
		{"responses", `{"input":"a","max_output_tokens":100}`, 400, "maximum context length is 100 tokens"},
		{"messages", `{"messages":[{"role":"user","content":"a"}]}`, 400, "max_tokens: Field required"},
		{"messages", `{"messages":[],"max_tokens":3}`, 400, "messages must not be empty"},
		{"messages", `{"messages":[{"role":"user","content":"a"}],"max_tokens":100}`, 400, "maximum context length is 100 tokens"},
	}
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		for _, test := range tests {
			status, text := fetch(t, h, "http://mock/v1/"+test.path, test.body)
			var object map[string]any
			if err := json.Unmarshal([]byte(text), &object); err != nil || status != test.status || !strings.Contains(at(object, "error", "message").(string), test.message) {
				t.Errorf("%s: %v, %d %s", test.body, err, status, text)
			}
			if (test.path == "messages") != (object["type"] == "error") {
				t.Errorf("%s: the form of %s", test.body, text)
			}
		}
	})
}

// TestFieldsOfOtherAPIs: a field of another API is ignored, whatever its type.
func TestFieldsOfOtherAPIs(t *testing.T) {
	of := map[string]string{
		"responses":   `"input":7,"instructions":[],"max_output_tokens":"x","previous_response_id":1,"reasoning":"high"`,
		"messages":    `"system":true,"thinking":true`,
		"completions": `"metadata":[1]`,
	}
	virtual(t, quick(), func(t *testing.T, _ *Server, h *http.Client) {
		for path, body := range map[string]string{
			"chat/completions": `{"max_tokens":1,"messages":[{"role":"user","content":"a"}]`,
			"completions":      `{"max_tokens":1,"prompt":"a"`,
			"responses":        `{"max_tokens":1,"input":"a"`,
			"messages":         `{"max_tokens":1,"messages":[{"role":"user","content":"a"}]`,
		} {
			for api, fields := range of {
				if api == path {
					continue
				}
				if status, text := fetch(t, h, "http://mock/v1/"+path, body+","+fields+"}"); status != 200 {
					t.Errorf("%s with %s: %d %s", path, fields, status, text)
				}
			}
		}
	})
}

// Tokens are written when they are due, and message_start with the first; created comes with the headers.
func TestTimesOfEachAPI(t *testing.T) {
	for path, body := range map[string]string{"responses": responsesBody, "messages": messagesBody} {
		c := quick()
		c.TTFT, c.ITL = 50*time.Millisecond, 10*time.Millisecond
		virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
			fetch(t, h, "http://mock/v1/"+path, body)
			r := truths(t, h, "http://mock")[0]
			if len(r.WrittenNS) != 6 || r.OutputTokens != 6 || r.API != path || r.Finish != "length" {
				t.Fatalf("%+v", r)
			}
			for i, at := range r.WrittenNS {
				if want := r.ArrivalNS + int64(c.TTFT) + int64(i)*int64(c.ITL); at != want {
					t.Errorf("%s: token %d at %d, want %d", path, i, at, want)
				}
			}
		})
	}
}
