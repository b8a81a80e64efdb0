package mock

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
)

// What the client has to make of each kind of fault. The two read the protocol on their own.
func TestClientClassifiesEveryFault(t *testing.T) {
	ok := func(r *openai.Result) bool {
		return r.Outcome == openai.OK && r.OutputTokens == 6 && r.HasUsage && !r.Estimated
	}
	is := func(o openai.Outcome, events int) func(*openai.Result) bool {
		return func(r *openai.Result) bool { return r.Outcome == o && r.Events == events && r.Error != "" }
	}
	tests := map[string]struct {
		fault string
		chat  bool
		holds func(*openai.Result) bool
	}{
		"status":          {fault: "status=429", holds: func(r *openai.Result) bool { return is(openai.Status, 0)(r) && r.Status == 429 }},
		"slow-headers":    {fault: "slow-headers=30ms", holds: func(r *openai.Result) bool { return ok(r) && r.FirstEvent-r.Sent >= 30*time.Millisecond }},
		"freeze":          {fault: "freeze=30ms", holds: func(r *openai.Result) bool { return ok(r) && r.First-r.Sent >= 30*time.Millisecond }},
		"reset-before":    {fault: "reset-before", holds: is(openai.Connect, 0)},
		"garbage":         {fault: "garbage", holds: is(openai.Protocol, 0)},
		"html200":         {fault: "html200", holds: is(openai.Protocol, 0)},
		"reset-mid":       {fault: "reset-mid=3", holds: is(openai.Truncated, 3)},
		"fin-mid":         {fault: "fin-mid=3", holds: is(openai.Truncated, 3)},
		"cut-mid":         {fault: "cut-mid=3", holds: is(openai.Truncated, 3)},
		"stall":           {fault: "stall=3", holds: is(openai.Timeout, 3)},
		"error-in-stream": {fault: "error-in-stream=3", holds: is(openai.Protocol, 3)},
		"garbage-mid":     {fault: "garbage-mid=3", holds: is(openai.Protocol, 3)},
		"pause":           {fault: "pause=3:50ms", holds: func(r *openai.Result) bool { return ok(r) && r.Last-r.Sent >= 55*time.Millisecond }},
		"short":           {fault: "short=2", holds: func(r *openai.Result) bool { return r.Outcome == openai.Short && r.OutputTokens == 2 }},
		"multi":           {fault: "multi=4", holds: func(r *openai.Result) bool { return r.Outcome == openai.OK && r.Events == 2 && r.OutputTokens == 6 }},
		"crlf":            {fault: "crlf", holds: ok},
		"comments":        {fault: "comments", holds: ok},
		"empty-events":    {fault: "empty-events", holds: func(r *openai.Result) bool { return ok(r) && r.Events == 6 }},
		"no-done":         {fault: "no-done", holds: ok}, // the finish reason came
		"wrong-usage": {fault: "wrong-usage=9:99", holds: func(r *openai.Result) bool {
			return r.Outcome == openai.OK && r.Estimated && r.OutputTokens == 6 && !r.HasCached && *r.Impossible.Output == 9 && *r.Impossible.Cached == 99
		}},
		"no-prompt-tokens-details":     {fault: "no-prompt-tokens-details", holds: func(r *openai.Result) bool { return ok(r) && r.HasUsage && !r.HasCached }},
		"no-completion-tokens-details": {fault: "no-completion-tokens-details", chat: true, holds: ok},
		"incomplete-event":             {fault: "incomplete-event", holds: ok}, // responses alone
		"no-zero-cached-tokens":        {fault: "no-zero-cached-tokens", holds: func(r *openai.Result) bool { return ok(r) && r.HasUsage && r.HasCached == (r.CachedTokens > 0) }},
		"no-usage":                     {fault: "no-usage", holds: func(r *openai.Result) bool { return r.Outcome == openai.OK && r.Estimated && r.OutputTokens == 6 }},
		"no-token-ids":                 {fault: "no-token-ids", holds: ok},
		"no-text":                      {fault: "no-text=all", holds: func(r *openai.Result) bool { return ok(r) && r.Events == 6 }},
		"split-utf8":                   {fault: "split-utf8", holds: func(r *openai.Result) bool { return ok(r) && r.Events == 6 }},
		"role-early":                   {fault: "role-early", chat: true, holds: func(r *openai.Result) bool { return ok(r) && r.Events == 6 && r.FirstEvent < r.First }},
		"role-reasoning":               {fault: "role-reasoning", chat: true, holds: func(r *openai.Result) bool { return ok(r) && r.Events == 6 }},
		"tool-calls":                   {fault: "tool-calls", chat: true, holds: func(r *openai.Result) bool { return ok(r) && r.Events == 6 && r.Finish == "tool_calls" }},
	}
	if kinds := slices.Sorted(maps.Keys(faultKinds)); !slices.Equal(kinds, slices.Sorted(maps.Keys(tests))) {
		t.Errorf("faults %v, tested %v", kinds, slices.Sorted(maps.Keys(tests)))
	}
	url := real(t, Config{TTFT: 5 * time.Millisecond, ITL: time.Millisecond, Model: "m"})
	slow := real(t, Config{TTFT: 500 * time.Millisecond, Model: "m"}) // a client that is late still sees what came early
	for kind, test := range tests {
		t.Run(kind, func(t *testing.T) {
			url := url
			if kind == "role-early" {
				url = slow
			}
			if r := ask(t, url, test.fault, test.chat); !test.holds(r) {
				t.Errorf("%s: %s after %d events, %d tokens, first event %v, first token %v, gaps %v: %s", test.fault, r.Outcome, r.Events, r.OutputTokens, r.FirstEvent, r.First, r.Gaps, r.Error)
			}
		})
	}
}

// TestFaultsByEachAPI: the client finds the same in an answer with a fault, whatever the API.
func TestFaultsByEachAPI(t *testing.T) {
	url := real(t, Config{TTFT: 5 * time.Millisecond, ITL: time.Millisecond, Model: "m"})
	for _, fault := range []string{"status=503", "reset-before", "html200", "garbage", "reset-mid=3", "fin-mid=3", "cut-mid=3", "stall=3", "error-in-stream=3",
		"garbage-mid=3", "short=4", "multi=2", "no-usage", "no-prompt-tokens-details", "no-zero-cached-tokens", "wrong-usage=5000:2", "no-text=first", "no-text=all",
		"crlf", "comments", "empty-events", "split-utf8", "role-early", "role-reasoning"} {
		want := askBy(t, url, fault, target.Chat)
		for _, api := range []string{target.Responses, target.Messages} {
			got := askBy(t, url, fault, api)
			if got.Outcome != want.Outcome || got.Events != want.Events || got.OutputTokens != want.OutputTokens || got.PromptTokens != want.PromptTokens ||
				got.HasUsage != want.HasUsage || got.HasCached != want.HasCached || got.Estimated != want.Estimated || got.HasReasoning != want.HasReasoning ||
				(got.Impossible == nil) != (want.Impossible == nil) || (got.First == openai.Never) != (want.First == openai.Never) || got.Error != "" && got.Error != want.Error {
				t.Errorf("%s\n%s %+v\nchat %+v", fault, api, got, want)
			}
		}
	}
}

// ask sends one request with a fault, for six tokens.
func ask(t *testing.T, url, fault string, chat bool) *openai.Result {
	t.Helper()
	return askBy(t, url, fault, map[bool]string{true: target.Chat}[chat])
}

func askBy(t *testing.T, url, fault, api string) *openai.Result {
	t.Helper()
	o := openai.Options{BaseURL: url + "/v1", Headers: map[string]string{"X-Mock-Fault": fault}, Timeout: time.Minute, API: api}
	if strings.HasPrefix(fault, "stall") {
		o.Timeout = time.Second // the first tokens come within it on a busy machine too
	}
	client, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	enc, err := openai.Params{API: o.API, Model: "m", Stream: true, IgnoreEOS: true}.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	r := new(openai.Result)
	client.Do(t.Context(), &openai.Call{Body: enc.Body(nil, openai.Prompt{Text: "one two three"}, 6), Stream: true, MinTokens: 6, MaxTokens: 6}, r)
	return r
}

// A queue that is full says so.
func TestFullQueue(t *testing.T) {
	url := real(t, Config{TTFT: time.Hour, MaxNumSeqs: 1, Queue: 1, Model: "m"})
	h := &http.Client{Transport: &http.Transport{}}
	defer h.CloseIdleConnections()
	for i, gauge := range []string{"running", "waiting"} { // a request that nothing has admitted yet still stands in the queue
		post(t, h, url+"/v1/completions", idBody(i, 4, 1))
		one := fmt.Sprintf("vllm:num_requests_%s{engine=\"0\",model_name=\"m\"} 1\n", gauge)
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && !strings.Contains(get(t, h, url+"/metrics"), one); {
			time.Sleep(time.Millisecond)
		}
	}
	if r := ask(t, url, "", false); r.Outcome != openai.Status || r.Status != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("%s, status %d, headers %v", r.Outcome, r.Status, r.Header)
	}
}
