package openai

import (
	"fmt"
	"strings"

	"bench/experiment/target"
)

// speech is how a server speaks one API in a stream.
type speech struct {
	api      string
	open     string // what comes before the first token
	token    func(text string) string
	finish   func(reason string) string // without usage
	end      func(reason string, prompt, output int) string
	done     string               // behind finish
	outcomes func() []outcomeTest // only of this API
}

var speeches = []speech{
	{target.Completions, "", token, finish, func(reason string, prompt, output int) string {
		return finish(reason) + usage(prompt, output) + doneEvent
	}, doneEvent, func() []outcomeTest {
		return []outcomeTest{
			{"usage with the finish", stream(token("a"), strings.Replace(usage(5, 1), `[]`, `[{"text":"","finish_reason":"stop"}]`, 1), doneEvent), OK, "", 1, 0},
		}
	}},
	{target.Chat, said(`{"role":"assistant","content":""}`),
		func(text string) string { return said(fmt.Sprintf(`{"content":%q}`, text)) }, finish,
		func(reason string, prompt, output int) string {
			return finish(reason) + usage(prompt, output) + doneEvent
		}, doneEvent, func() []outcomeTest { return nil }},
	{target.Responses, responseOpen, responseToken, func(reason string) string { return responseEnd(reason, "null") },
		func(reason string, prompt, output int) string {
			return responseEnd(reason, fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":3},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":%d}`,
				prompt, output, prompt+output))
		}, doneEvent, responseOutcomes},
	{target.Messages, messageOpen, messageToken,
		func(reason string) string {
			return named("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null}`, reason))
		},
		func(reason string, prompt, output int) string {
			return named("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"input_tokens":%d,"cache_read_input_tokens":3,"output_tokens":%d}`,
				reason, prompt-3, output)) + messageStop
		}, messageStop, messageOutcomes},
}

// unspaced is a stream of a server that forgets the empty lines.
func unspaced(events string) string { return strings.ReplaceAll(events, "\n\n", "\n") }

// named is an event whose type is its name.
func named(kind, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
}

// responseObject is a response without output.
func responseObject(status, incomplete, usage string) string {
	return fmt.Sprintf(`"response":{"id":"resp_7","object":"response","created_at":1763600000,"status":%q,"error":null,"incomplete_details":%s,"model":"m","output":[],"usage":%s}`,
		status, incomplete, usage)
}

var responseOpen = named("response.created", `"sequence_number":0,`+responseObject("in_progress", "null", "null")) +
	named("response.in_progress", `"sequence_number":1,`+responseObject("in_progress", "null", "null")) +
	named("response.output_item.added", `"sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}`) +
	named("response.content_part.added", `"sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`)

func responseToken(text string) string {
	return named("response.output_text.delta", fmt.Sprintf(`"item_id":"msg_1","output_index":0,"content_index":0,"delta":%q,"sequence_number":17`, text))
}

// responseEnd ends the stream: "stop" is completed, any other reason makes the response incomplete.
func responseEnd(reason, usage string) string {
	before := named("response.output_text.done", `"sequence_number":21,"output_index":0,"text":"ab"`) +
		named("response.output_item.done", `"sequence_number":22,"output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"ab"}]}`)
	if reason == "stop" {
		return before + named("response.completed", `"sequence_number":23,`+responseObject("completed", "null", usage))
	}
	return before + named("response.incomplete", `"sequence_number":23,`+responseObject("incomplete", fmt.Sprintf(`{"reason":%q}`, reason), usage))
}

func responseOutcomes() []outcomeTest {
	failed := strings.Replace(responseObject("failed", "null", "null"), `"error":null`, `"error":{"code":"server_error","message":"boom"}`, 1)
	return []outcomeTest{
		{"the whole stream", stream(responseOpen, responseToken("a"), responseToken("b"), responseEnd("stop", `{"input_tokens":5,"output_tokens":2}`)), OK, "", 2, 2},
		{"as OpenAI ends it, without a last event's empty line", stream(responseToken("a"), strings.TrimSuffix(responseEnd("stop", "null"), "\n\n")), OK, "", 1, 0},
		{"failed", stream(responseOpen, responseToken("a"), named("response.failed", failed)), Protocol, "boom", 1, 0},
		{"failed at once", stream(named("response.created", failed)), Protocol, "boom", 0, 0},
		{"error without an event's name", stream("data: {\"type\":\"error\",\"code\":\"x\",\"message\":\"boom\",\"param\":null}\n\n"), Protocol, "boom", 0, 0},
		{"error event", stream(responseToken("a"), named("error", `"code":"x","message":"boom","param":null,"sequence_number":3`)), Protocol, "boom", 1, 0},
		{"whole text, but no delta", stream(responseOpen, responseEnd("stop", `{"input_tokens":5,"output_tokens":2}`)), OK, "", 0, 2},
		{"whole text, no delta, no usage", stream(responseOpen, responseEnd("stop", "null")), Truncated, "before any token", 0, 0},
		{"cut before the last event", stream(responseOpen, responseToken("a"), named("response.output_text.done", `"text":"a"`)), Truncated, "without a finish reason", 1, 0},
		{"a tool call", stream(responseOpen, named("response.output_item.added", `"output_index":1,"item":{"type":"function_call","name":"look","call_id":"c","arguments":""}`),
			named("response.function_call_arguments.delta", `"output_index":1,"delta":"{}"`), responseEnd("stop", "null")), OK, "", 2, 0},
		{"reasoning", stream(named("response.reasoning_text.delta", `"delta":"hm"`), named("response.reasoning_summary_text.delta", `"delta":"so"`), responseEnd("stop", "null")), OK, "", 2, 0},
		{"events of later versions", stream(named("response.something.new", `"delta":{"x":1}`), responseToken("a"), named("codex.rate_limits", `"x":[]`), responseEnd("stop", "null")), OK, "", 1, 0},
		{"events of chat", stream(token("a"), finish("stop"), doneEvent), Protocol, "not of this API", 0, 0},
		{"events of Messages", stream(messageOpen, messageToken("a"), messageStop), Truncated, "without a finish reason", 0, 0},
	}
}

const (
	messageOpen = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_7\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: ping\ndata: {\"type\": \"ping\"}\n\n"
	messageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func messageToken(text string) string {
	return named("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%q}`, text))
}

func messageOutcomes() []outcomeTest {
	stopped := named("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}`) + messageStop
	return []outcomeTest{
		{"the whole stream", stream(messageOpen, messageToken("a"), messageToken("b"), named("content_block_stop", `"index":0`), stopped), OK, "", 2, 2},
		{"no message_stop", stream(messageOpen, messageToken("a"), messageToken("b"), strings.TrimSuffix(stopped, messageStop)), OK, "", 2, 2},
		{"message_stop without a line end", stream(messageOpen, messageToken("a"), "data: {\"type\":\"message_stop\"}"), OK, "", 1, 0},
		{"overloaded", stream(messageOpen, messageToken("a"), named("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`)), Protocol, "Overloaded", 1, 0},
		{"error without an event's name", stream("data: {\"type\":\"error\",\"message\":\"boom\"}\n\n"), Protocol, "boom", 0, 0},
		{"cut after message_start", stream(messageOpen), Truncated, "without a finish reason", 0, 0},
		{"cut before message_delta", stream(messageOpen, messageToken("a"), named("content_block_stop", `"index":0`)), Truncated, "without a finish reason", 1, 0},
		{"only pings", stream(strings.Repeat("event: ping\ndata: {\"type\":\"ping\"}\n\n", 9)), Truncated, "without a finish reason", 0, 0},
		{"a tool call", stream(messageOpen, named("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"c","name":"look","input":{}}`),
			named("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":""}`),
			named("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}`), stopped), OK, "", 2, 0},
		{"thinking", stream(messageOpen, named("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`),
			named("content_block_delta", `"index":0,"delta":{"type":"signature_delta","signature":"abc"}`), stopped), OK, "", 2, 0},
		{"events of later versions", stream(messageOpen, named("content_block_delta", `"index":0,"delta":{"type":"new_delta","new":"x"}`), named("billing", `"x":{}`), messageToken("a"), stopped), OK, "", 2, 0}, // usage has one more: the end
		{"events of chat", stream(token("a"), finish("stop"), doneEvent), Protocol, "not of this API", 0, 0},
		{"events of Responses", stream(responseOpen, responseToken("a"), responseEnd("stop", "null")), Truncated, "without a finish reason", 0, 0},
	}
}
