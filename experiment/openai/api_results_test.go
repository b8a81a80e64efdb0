package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/target"
)

// TestAPIResults: what a whole stream of each later API measures: reasoning, text, a tool call, usage, names.
func TestAPIResults(t *testing.T) {
	for _, c := range []struct {
		api, path, finish, id string
		stream                []string
	}{
		{target.Responses, "/v1/responses", "completed", "resp_7", []string{
			responseOpen,
			named("response.reasoning_text.delta", `"output_index":0,"delta":"hm"`),
			responseToken("abc"), responseToken(""), responseToken("d"),
			named("response.output_item.added", `"output_index":2,"item":{"type":"function_call","name":"look","arguments":""}`),
			named("response.function_call_arguments.delta", `"output_index":2,"delta":"{\"x\":1}"`),
			responseEnd("stop", `{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":2}}`),
		}},
		{target.Messages, "/v1/messages", "tool_use", "msg_7", []string{
			strings.Replace(messageOpen, `"input_tokens":5`, `"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":2`, 1),
			named("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`),
			messageToken("abc"), messageToken(""), messageToken("d"),
			named("content_block_start", `"index":2,"content_block":{"type":"tool_use","name":"look","input":{}}`),
			named("content_block_delta", `"index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}`),
			named("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":8}`), messageStop,
		}},
	} {
		t.Run(c.api, func(t *testing.T) {
			seen := make(chan *http.Request, 9)
			client := testClient(t, listen(t, func(_ int, p *peer) {
				for {
					req, _, err := p.request()
					if err != nil {
						return
					}
					seen <- req
					stream(c.stream...)(p)
				}
			}), func(o *Options) { o.API = c.api })
			var r Result
			for range 2 { // the second answer contains nothing of the first
				client.Do(t.Context(), &Call{Body: []byte(`{}`), Stream: true, KeepAnswer: true, KeepParts: true, MaxTokens: 8, Prompt: 9}, &r)
				if r.Outcome != OK || r.Events != 5 || r.PromptTokens != 9 || !r.HasUsage || r.OutputTokens != 8 || r.Estimated || !r.HasCached || r.CachedTokens != 4 || r.Impossible != nil ||
					r.Finish != c.finish || r.ServerID != c.id {
					t.Errorf("%+v", r)
				}
				if !r.HasReasoning || r.FirstAnswer < r.First || r.FirstAnswer > r.Last || c.api == target.Responses && (r.ReasoningTokens != 2 || r.ReasoningEstimated) {
					t.Errorf("first %v, first answer %v, last %v, %d reasoning tokens", r.First, r.FirstAnswer, r.Last, r.ReasoningTokens)
				}
				a := &r.Answer
				if got := fmt.Sprintf("%s|%s|%d", a.Text, a.Parts.Content, len(a.Parts.Calls)); got != `abcdlook{\"x\":1}|abcd|1` ||
					string(a.Parts.Calls[0].Name) != "look" || Unescape(a.Parts.Calls[0].Arguments) != `{"x":1}` {
					t.Errorf("%s, %+v", got, a.Parts.Calls)
				}
				checkTimes(t, &r)
			}
			if !r.Reused {
				t.Error("the connection was not used again")
			}
			req := <-seen
			if req.URL.Path != c.path || req.Header.Get("Authorization") != "Bearer "+testKey {
				t.Errorf("%s %v", req.URL.Path, req.Header)
			}
			wantKey, wantVersion := "", ""
			if c.api == target.Messages {
				wantKey, wantVersion = testKey, anthropicVersion
			}
			if req.Header.Get("X-Api-Key") != wantKey || req.Header.Get("Anthropic-Version") != wantVersion {
				t.Errorf("%v", req.Header)
			}
		})
	}
}

// TestLaterUsage: prompt tokens of Messages that the last event does not repeat, or counts anew.
func TestLaterUsage(t *testing.T) {
	start := func(usage string) string {
		return named("message_start", `"message":{"id":"m","usage":`+usage+`}`)
	}
	end := func(usage string) string {
		return named("message_delta", `"delta":{"stop_reason":"max_tokens"},"usage":`+usage) + messageStop
	}
	for name, c := range map[string]struct {
		start, end             string
		prompt, cached, output int
	}{
		"Anthropic": {start(`{"input_tokens":3,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":1}`), end(`{"output_tokens":1}`), 100, 90, 1},
		"Anthropic since 2025": {start(`{"input_tokens":3,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":1}`),
			end(`{"input_tokens":3,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":1}`), 100, 90, 1},
		"without the cache at the end":  {start(`{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":0}`), end(`{"input_tokens":10,"output_tokens":1}`), 100, 90, 1},
		"vLLM":                          {start(`{"input_tokens":100,"output_tokens":0}`), end(`{"input_tokens":4,"output_tokens":1,"cache_read_input_tokens":96,"cache_creation_input_tokens":0}`), 100, 96, 1},
		"llama.cpp":                     {start(`{"cache_read_input_tokens":96,"input_tokens":4,"output_tokens":0}`), end(`{"output_tokens":1}`), 100, 96, 1},
		"an estimate at the beginning":  {start(`{"input_tokens":120,"output_tokens":0}`), end(`{"input_tokens":100,"output_tokens":1}`), 100, 0, 1},
		"nothing of the prompt":         {start(`{}`), end(`{"output_tokens":1}`), 0, 0, 1},
		"no cache, which it says twice": {start(`{"input_tokens":100,"cache_read_input_tokens":0}`), end(`{"input_tokens":100,"cache_read_input_tokens":0,"output_tokens":1}`), 100, 0, 1},
	} {
		client := testClient(t, listen(t, once(stream(c.start, messageToken("a"), c.end))), func(o *Options) { o.API = target.Messages })
		var r Result
		client.Do(t.Context(), &streamCall, &r)
		if r.Outcome != OK || r.PromptTokens != c.prompt || r.HasUsage != (c.prompt > 0) || r.CachedTokens != c.cached || r.OutputTokens != c.output {
			t.Errorf("%s: %s, %d of %d cached, %d output", name, r.Outcome, r.CachedTokens, r.PromptTokens, r.OutputTokens)
		}
	}
	client := testClient(t, listen(t, once(stream(messageOpen, messageToken("a"), messageToken("b")))), func(o *Options) { o.API = target.Messages })
	var r Result
	if client.Do(t.Context(), &streamCall, &r); r.Outcome != Truncated || r.OutputTokens != 2 || !r.Estimated || r.HasUsage {
		t.Errorf("cut before usage: %+v", r)
	}
}

// TestLastToken: the token that ends an answer has no text; it came with the event that ends it, unless the answer was
// cut at its length.
func TestLastToken(t *testing.T) {
	for _, s := range speeches[2:] {
		for reason, events := range map[string]int{"stop": 3, map[string]string{target.Responses: "max_output_tokens", target.Messages: "max_tokens"}[s.api]: 2} {
			client := testClient(t, listen(t, once(stream(s.open, s.token("a"), s.token("b"), s.end(reason, 9, 3)))), func(o *Options) { o.API = s.api })
			var r Result
			if client.Do(t.Context(), &streamCall, &r); r.Outcome != OK || r.OutputTokens != 3 || r.Events != events {
				t.Errorf("%s, %s: %s, %d events, %d tokens", s.api, reason, r.Outcome, r.Events, r.OutputTokens)
			}
		}
	}
}

// TestAPIDocument is TestDocument for the later APIs.
func TestAPIDocument(t *testing.T) {
	whole := map[string]string{
		target.Responses: `{"id":"c","object":"response","status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"},` +
			`"output":[{"type":"message","content":[{"type":"output_text","text":"hello"}]}],"usage":{"input_tokens":5,"output_tokens":2}}`,
		target.Messages: `{"id":"c","type":"message","role":"assistant","content":[{"type":"text","text":"hello"}],"stop_reason":"max_tokens","usage":{"input_tokens":5,"output_tokens":2}}`,
	}
	for api, text := range whole {
		for name, c := range map[string]struct {
			body   string
			want   Outcome
			output int
		}{
			"whole":            {text, OK, 2},
			"short":            {strings.Replace(text, `"output_tokens":2`, `"output_tokens":1`, 1), Short, 1},
			"no usage":         {text[:strings.LastIndex(text, `,"usage"`)] + "}", OK, 1},
			"empty text":       {strings.Replace(text, "hello", "", 1), OK, 2},
			"nothing":          {strings.Replace(text[:strings.LastIndex(text, `,"usage"`)]+"}", "hello", "", 1), Truncated, 0},
			"error":            {`{"type":"error","error":{"type":"x","message":"boom"}}`, Protocol, 0},
			"failed":           {strings.Replace(text, `"usage"`, `"error":{"message":"boom"},"usage"`, 1), Protocol, 0},
			"a chat's answer":  {`{"id":"c","object":"chat.completion","choices":[{"message":{"content":"hello"}}]}`, Protocol, 0},
			"an event":         {`{"type":"response.created","response":{"id":"r"}}`, Protocol, 0},
			"other JSON":       {`{"hello":"world"}`, Protocol, 0},
			"HTML":             {`<html></html>`, Protocol, 0},
			"empty":            {``, Truncated, 0},
			"cut":              {text[:len(text)-9], Protocol, 0},
			"two of them":      {text + text, Protocol, 0},
			"still generating": {strings.NewReplacer("hello", "", `"output_tokens":2`, `"output_tokens":0`).Replace(text), Truncated, 0},
		} {
			client := testClient(t, listen(t, once(page("200 OK", c.body))), func(o *Options) { o.API = api })
			var r Result
			client.Do(t.Context(), &Call{Body: []byte("{}"), MinTokens: 2}, &r)
			if r.Outcome != c.want || r.OutputTokens != c.output || r.First != Never || r.Last == Never && !r.Outcome.Failed() {
				t.Errorf("%s, %s: %s %q, %d tokens", api, name, r.Outcome, r.Error, r.OutputTokens)
			}
		}
	}
}

// TestAPICounts: the tokens of a conversation, counted by each later API.
func TestAPICounts(t *testing.T) {
	bodies := make(chan string, 1)
	for api, c := range map[string]struct{ answer, want string }{
		target.Responses: {`{"object":"response","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":2}}`,
			`{"ignore_eos":true,"model":"m","stream":false,"temperature":0,"top_k":1,"max_output_tokens":2,"min_tokens":2,"input":[{"role":"user","content":"<a>"},` +
				`{"type":"message","role":"assistant","content":"b"},{"role":"user","content":"c"}]}`},
		target.Messages: {`{"type":"message","content":[],"stop_reason":"max_tokens","usage":{"input_tokens":4,"cache_read_input_tokens":5,"output_tokens":2}}`,
			`{"ignore_eos":true,"model":"m","stream":false,"temperature":0,"top_k":1,"max_tokens":2,"min_tokens":2,"messages":[{"role":"user","content":"<a>"},` +
				`{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`},
	} {
		client := testClient(t, listen(t, func(_ int, p *peer) {
			if _, body, err := p.request(); err == nil {
				bodies <- string(body)
				page("200 OK", c.answer)(p)
			}
		}), func(o *Options) { o.API = api })
		e, err := Params{API: api, Model: "m", IgnoreEOS: true, Extra: map[string]any{"top_k": 1}}.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		r := client.CountTokens(t.Context(), e, "<a>", "b", "c")
		if got := <-bodies; got != c.want {
			t.Errorf("sent %s\nwant %s", got, c.want)
		}
		if r.Outcome != OK || !r.HasUsage || r.PromptTokens != 9 || r.OutputTokens != 2 {
			t.Errorf("%s: %+v", api, r)
		}
	}
}

// TestRefusedUsage: counts that are no numbers of tokens, by each API. The client's own count stands in their place.
func TestRefusedUsage(t *testing.T) {
	message := messageOpen + messageToken("a") + messageToken("b")
	for name, c := range map[string]struct {
		api, answer            string
		prompt, cached, output *int
	}{
		"chat": {target.Chat, `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":100000000000000000}}` + "\n\n", new(-5), nil, new(100000000000000000)},
		"Responses": {target.Responses, named("response.output_text.delta", `"delta":"a"`) + named("response.output_text.delta", `"delta":"b"`) +
			named("response.completed", `"response":{"status":"completed","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":-1},"output_tokens":"2"}}`), new(9), new(-1), nil},
		"Messages": {target.Messages, message + named("message_delta", `"delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":-3,"cache_read_input_tokens":true,"output_tokens":1.5}`) + messageStop,
			new(-3), nil, nil},
		"Messages, written to the cache": {target.Messages, message + named("message_delta", `"delta":{"stop_reason":"max_tokens"},"usage":{"cache_creation_input_tokens":-2,"output_tokens":1.5}`) + messageStop,
			new(-2), nil, nil},
	} {
		client := testClient(t, listen(t, once(stream(c.answer))), func(o *Options) { o.API = c.api })
		var r Result
		client.Do(t.Context(), &streamCall, &r)
		if r.Outcome != OK || r.OutputTokens != 2 || !r.Estimated || r.HasCached || r.Impossible == nil {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		if d := cmp.Diff(&Usage{Prompt: c.prompt, Cached: c.cached, Output: c.output}, r.Impossible); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
