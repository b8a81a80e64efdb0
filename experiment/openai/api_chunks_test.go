package openai

import (
	"fmt"
	"strings"
	"testing"

	"bench/experiment/target"
)

// apiChunks are events and answers in one piece of Responses and Messages.
var apiChunks = []struct {
	api, in string
	want    chunk
	text    string // of the answer, and its parts
	slow    bool   // an error
}{
	{api: target.Responses, in: `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null,"tools":[{"name":"f"}]}}`,
		want: chunk{id: []byte("resp_1")}},
	{api: target.Responses, in: `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","content":[]}}`},
	{api: target.Responses, in: `{"type":"response.content_part.added","output_index":0,"part":{"type":"output_text","text":"x"},"sequence_number":3}`},
	{api: target.Responses, in: `{"type":"response.output_text.delta","sequence_number":4,"item_id":"m","output_index":0,"content_index":0,"delta":"a\u00e9\n","logprobs":[]}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: "aé\n[] aé\n"},
	{api: target.Responses, in: `{"content_index":0,"delta":"Hi","item_id":"m","logprobs":[],"output_index":0,"sequence_number":4,"type":"response.output_text.delta"}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: "Hi[] Hi"},
	{api: target.Responses, in: `{"type":"response.output_text.delta","delta":""}`, want: chunk{hasChoices: true}},
	{api: target.Responses, in: `{"type":"response.output_text.delta","delta":null}`, want: chunk{hasChoices: true}},
	{api: target.Responses, in: `{"type":"response.refusal.delta","delta":"No"}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: "No[] No"},
	{api: target.Responses, in: `{"type":"response.reasoning_text.delta","delta":"hm"}`, want: chunk{hasChoices: true, hasToken: true, hasReasoning: true}},
	{api: target.Responses, in: `{"type":"response.reasoning_summary_text.delta","delta":"hm"}`, want: chunk{hasChoices: true, hasToken: true, hasReasoning: true}},
	{api: target.Responses, in: `{"delta":"{\"x\":","output_index":2,"type":"response.function_call_arguments.delta"}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: `{"x":[]  2:({"x":)`},
	{api: target.Responses, in: `{"delta":"ls","output_index":1,"type":"response.custom_tool_call_input.delta"}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: `ls[]  1:(ls)`},
	{api: target.Responses, in: `{"type":"response.output_audio.delta","delta":"AAAA"}`},
	{api: target.Responses, in: `{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","name":"look","arguments":""}}`,
		want: chunk{hasToken: true, hasAnswer: true}, text: "look[]  2:look()"},
	{api: target.Responses, in: `{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","name":"look","arguments":"{}"}}`},
	{api: target.Responses, in: `{"type":"response.output_text.done","text":"all of it"}`},
	{api: target.Responses, in: `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],` +
		`"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}}}`,
		want: chunk{hasChoices: true, id: []byte("resp_1"), finishReason: []byte("completed"), ended: true, prompt: 9, hasPrompt: true, cached: 4, hasCached: true,
			output: 3, hasOutput: true, more: &moreUsage{ofReasoning: {2, true}}}},
	{api: target.Responses, in: `{"type":"response.completed","response":{"incomplete_details":{"reason":"max_output_tokens"},"status":"incomplete"}}`,
		want: chunk{finishReason: []byte("max_output_tokens"), ended: true}},
	{api: target.Responses, in: `{"type":"response.completed","response":{"status":"completed","usage":{"output_tokens_details":{"reasoning_tokens":1}}},"timings":{"prompt_ms":2.5,"predicted_ms":4,"draft_n":8,"draft_n_accepted":6}}`,
		want: chunk{hasChoices: true, finishReason: []byte("completed"), ended: true, times: ServerTimes{Prefill: inMs(2.5), HasPrefill: true, Decode: inMs(4), HasDecode: true},
			more: &moreUsage{ofReasoning: {1, true}, draftTokens: {8, true}, draftAccepted: {6, true}}}},
	{api: target.Responses, in: `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":null}}`,
		want: chunk{finishReason: []byte("incomplete"), ended: true}},
	{api: target.Responses, in: `{"type":"response.completed","response":{"status":"cancelled"}}`, want: chunk{finishReason: []byte("cancelled"), ended: true}},
	{api: target.Responses, in: `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"boom"}}}`,
		want: chunk{failed: true, message: "boom"}, slow: true},
	{api: target.Responses, in: `{"type":"error","code":"c","message":"boom","sequence_number":1}`, want: chunk{failed: true, message: "boom"}, slow: true},
	{api: target.Responses, in: `{"id":"resp_1","object":"response","status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"so"}],"content":[{"type":"reasoning_text","text":"hm"}]},` +
		`{"type":"message","content":[{"type":"output_text","text":"Hi","annotations":[]},{"type":"refusal","refusal":"No"}]},{"type":"function_call","name":"look","arguments":"{}"}],"usage":{"input_tokens":9,"output_tokens":3}}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true, hasReasoning: true, id: []byte("resp_1"), finishReason: []byte("completed"), prompt: 9, hasPrompt: true, output: 3, hasOutput: true},
		text: "HiNolook{}[] HiNo 2:look({})"},
	{api: target.Responses, in: `{"object":"response","status":"in_progress","output":[]}`, want: chunk{hasChoices: true}},

	{api: target.Messages, in: `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1}}}`,
		want: chunk{id: []byte("msg_1"), prompt: 3, hasPrompt: true, cached: 100, hasCached: true, apart: 110, hasApart: true}},
	{api: target.Messages, in: `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
	{api: target.Messages, in: `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`},
	{api: target.Messages, in: `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, want: chunk{hasToken: true, hasAnswer: true}, text: "a[] a"},
	{api: target.Messages, in: `{"type":"content_block_start","content_block":{"type":"tool_use","id":"c","name":"look","input":{}},"index":1}`,
		want: chunk{hasToken: true, hasAnswer: true}, text: "look[]  1:look()"},
	{api: target.Messages, in: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\u00e9"}}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: "aé[] aé"},
	{api: target.Messages, in: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`, want: chunk{hasChoices: true}},
	{api: target.Messages, in: `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`, want: chunk{hasChoices: true, hasToken: true, hasReasoning: true}},
	{api: target.Messages, in: `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"xyz"}}`},
	{api: target.Messages, in: `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"x\":"},"index":2}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}, text: `{"x":[]  2:({"x":)`},
	{api: target.Messages, in: `{"type":"content_block_stop","index":0}`},
	{api: target.Messages, in: `{"type":"ping"}`},
	{api: target.Messages, in: `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":3,"output_tokens":15,"cache_read_input_tokens":null}}`,
		want: chunk{hasChoices: true, finishReason: []byte("end_turn"), prompt: 3, hasPrompt: true, output: 15, hasOutput: true}},
	{api: target.Messages, in: `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":15}}`,
		want: chunk{finishReason: []byte("max_tokens"), output: 15, hasOutput: true}},
	{api: target.Messages, in: `{"type":"message_stop"}`, want: chunk{ended: true}},
	{api: target.Messages, in: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, want: chunk{failed: true, message: "Overloaded"}, slow: true},
	{api: target.Messages, in: `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"c","name":"look","input":{"x":1,"y":"<"}}],` +
		`"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":9,"cache_read_input_tokens":2}}`,
		want: chunk{hasChoices: true, hasToken: true, hasAnswer: true, hasReasoning: true, id: []byte("msg_1"), finishReason: []byte("tool_use"), prompt: 3, hasPrompt: true, cached: 2, hasCached: true,
			apart: 2, hasApart: true, output: 9, hasOutput: true}, text: `Hilook{"x":1,"y":"<"}[] Hi 2:look({"x":1,"y":"<"})`},
}

// TestAPIChunk gives each event to parse, to the walker and, unless slow, to its one pass.
func TestAPIChunk(t *testing.T) {
	for _, tt := range apiChunks {
		text := tt.text
		if text == "" {
			text = "[] "
		}
		slow, err := parse(tt.api, []byte(tt.in))
		if err != nil || describe(slow) != describe(tt.want) || spoken(t, slow) != text {
			t.Errorf("%s\nparse %s %q, %v\nwant  %s %q", tt.in, describe(slow), spoken(t, slow), err, describe(tt.want), text)
		}
		w := walker{api: tt.api}
		for range 2 { // the second time perhaps by the shape
			if _, ok := w.read([]byte(tt.in)); ok == tt.slow {
				t.Errorf("%s: one pass is enough: %v", tt.in, ok)
			}
			got, err := w.decode([]byte(tt.in))
			if err != nil || describe(got) != describe(tt.want) || spoken(t, got) != text {
				t.Errorf("%s\nwalker %s %q, %v\nwant   %s %q", tt.in, describe(got), spoken(t, got), err, describe(tt.want), text)
			}
		}
	}
}

// TestNoAPIChunk: events without a type are of no such API.
func TestNoAPIChunk(t *testing.T) {
	for _, api := range []string{target.Responses, target.Messages} {
		for _, in := range []string{`{}`, `{"type":null}`, `{"type":7}`, `{"type":""}`, `{"choices":[{"delta":{"content":"a"}}]}`, `[]`, `{"type":"a"`} {
			if _, err := parse(api, []byte(in)); err == nil {
				t.Errorf("parse takes %s as %s", in, api)
			}
			if _, err := (&walker{api: api}).decode([]byte(in)); err == nil {
				t.Errorf("the walker takes %s as %s", in, api)
			}
		}
	}
}

// TestShapes: the events of real servers are read by their shape.
func TestShapes(t *testing.T) {
	for _, s := range []struct{ api, event string }{
		{target.Responses, `{"content_index":0,"delta":%q,"item_id":"msg_abc","logprobs":[],"output_index":0,"sequence_number":%d,"type":"response.output_text.delta"}`},
		{target.Responses, `{"type":"response.reasoning_text.delta","delta":%q,"sequence_number":%d}`},
		{target.Messages, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q},"x":7%d}`},
		{target.Messages, `{"delta":{"type":"thinking_delta","thinking":%q},"index":0,"type":"content_block_delta","x":7%d}`},
	} {
		numbers := []int{4, 15, 1000}
		if s.api == target.Messages { // not numbered
			numbers = []int{1, 1}
		}
		w := walker{api: s.api}
		for i, n := range numbers {
			in := fmt.Sprintf(s.event, []string{"a", "b\"c", ""}[i], n)
			if ok := w.shape.match(&w, []byte(in)); ok != (i > 0) {
				t.Errorf("%s: matched %v", in, ok)
			}
			fast, ok := w.read([]byte(in))
			slow, err := parse(s.api, []byte(in))
			if !ok || err != nil || describe(fast) != describe(slow) || spoken(t, fast) != spoken(t, slow) {
				t.Errorf("%s\nwalker %s, %v\nparse  %s, %v", in, describe(fast), ok, describe(slow), err)
			}
		}
		if ok := w.shape.match(&w, []byte(strings.Replace(fmt.Sprintf(s.event, "a", 1), "index\":0", "index\":1", 1))); ok && strings.Contains(s.event, "index") {
			t.Errorf("%s: another block was matched", s.event)
		}
	}
}

// FuzzWalkAPIs is FuzzWalk for Responses and Messages.
func FuzzWalkAPIs(f *testing.F) {
	for i, tt := range apiChunks {
		f.Add(tt.api == target.Messages, []byte(apiChunks[max(0, i-1)].in), []byte(tt.in))
		f.Add(tt.api == target.Messages, []byte(tt.in), []byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, messages bool, before, in []byte) {
		w := walker{api: target.Responses}
		if messages {
			w.api = target.Messages
		}
		w.read(before)
		sameAsParse(t, &w, in)
	})
}
