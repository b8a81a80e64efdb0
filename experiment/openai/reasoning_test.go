package openai

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestSides: the first answer token and the reasoning tokens of a stream. A letter is an event, 10 ms after the one
// before: r has reasoning, a text, b both, i token ids alone, c a tool call, t a tag of reasoning as text, e no text.
func TestSides(t *testing.T) {
	delta := func(fields string) string {
		return fmt.Sprintf(`data: {"choices":[{"delta":{%s}}]}`+"\n\n", fields)
	}
	events := map[rune]string{
		'r': delta(`"reasoning":"why"`), 'R': delta(`"reasoning_content":"why"`), 'a': delta(`"content":"x"`),
		'b': delta(`"reasoning":"why","content":"x"`), 't': delta(`"content":"\n<think>"`), 'e': delta(`"content":""`),
		'i': `data: {"choices":[{"delta":{"content":""},"token_ids":[7,8]}]}` + "\n\n",
		'c': delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]`),
	}
	details := func(reasoning string) string {
		return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%s}}`+"\n\n", reasoning)
	}
	for _, tt := range []struct {
		name, events, usage string
		first, answer       int // events from 1; 0: never
		reasoning           int
		has, estimated, tag bool
	}{
		{"no reasoning", "aaa", `3`, 1, 1, 0, false, false, false},
		{"no reasoning, by usage", "aaa", `3,"completion_tokens_details":{"reasoning_tokens":0}`, 1, 1, 0, false, false, false},
		{"ids alone", "iaa", `4`, 1, 1, 0, false, false, false},
		{"counted", "rrRaa", `5`, 1, 4, 3, true, true, false},
		{"no usage", "rrRaa", ``, 1, 4, 3, true, true, false},
		{"by usage", "rraa", `9,"completion_tokens_details":{"reasoning_tokens":6}`, 1, 3, 6, true, false, false},
		{"SGLang's usage", "rraa", `9,"reasoning_tokens":6,"completion_tokens_details":null`, 1, 3, 6, true, false, false},
		{"a server that does not count it", "rraa", `4,"reasoning_tokens":0`, 1, 3, 2, true, true, false},
		{"more than all tokens", "rraa", `4,"completion_tokens_details":{"reasoning_tokens":5}`, 1, 3, 2, true, true, false},
		{"several tokens per event", "rraa", `40`, 1, 3, 20, true, true, false},
		{"ids before the reasoning, and behind it", "iria", `6`, 1, 4, 5, true, true, false},
		{"both in one event", "rba", `3`, 1, 2, 1, true, true, false},
		{"a tool call", "rrc", `3`, 1, 3, 2, true, true, false},
		{"thinking again", "rara", `4`, 1, 2, 2, true, true, false},
		{"no answer", "rrr", `3`, 1, 0, 3, true, true, false},
		{"not streamed", "aaa", `13,"completion_tokens_details":{"reasoning_tokens":10}`, 1, 1, 10, true, false, false},
		{"neither streamed nor answered", "e", `10,"completion_tokens_details":{"reasoning_tokens":10}`, 0, 0, 10, true, false, false},
		{"not parsed", "taa", `3`, 1, 1, 0, false, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testClient(t, "test:80")
				defer c.Close()
				pipes(c, answer(func(p *peer) {
					p.say(streamHead)
					for _, kind := range tt.events {
						time.Sleep(10 * ms)
						p.say(chunked(events[kind]))
					}
					if tt.usage != "" {
						p.say(chunked(details(tt.usage)))
					}
					p.say(chunked(finish("stop")+doneEvent), lastChunk)
				}))
				call := streamCall
				call.Epoch = time.Now()
				for range 2 { // the second one has nothing left of the first
					call.Epoch = time.Now()
					var r Result
					c.Do(t.Context(), &call, &r)
					event := func(at time.Duration) int { return max(0, int(at/(10*ms))) }
					got := fmt.Sprint(event(r.First), event(r.FirstAnswer), r.ReasoningTokens, r.HasReasoning, r.ReasoningEstimated, r.ThinkTag)
					if want := fmt.Sprint(tt.first, tt.answer, tt.reasoning, tt.has, tt.estimated, tt.tag); got != want || r.Outcome != OK {
						t.Errorf("got %s, want %s; %s %s", got, want, r.Outcome, r.Error)
					}
				}
			})
		})
	}
}

// TestSpeculation: the speculative decoding of one answer, in the forms of the servers.
func TestSpeculation(t *testing.T) {
	for _, tt := range []struct {
		end  string
		want Speculation
	}{
		{`"timings":{"predicted_n":9,"draft_n":8,"draft_n_accepted":5}`, Speculation{Drafted: 8, Accepted: 5}},
		{`"metrics":{"speculative_decoding":{"num_spec_steps":4,"num_draft_tokens":8,"num_accepted_draft_tokens":0}}`, Speculation{Steps: 4, Drafted: 8}},
		{`"usage":{"completion_tokens":1,"completion_tokens_details":{"accepted_prediction_tokens":5,"rejected_prediction_tokens":3}}`, Speculation{Drafted: 8, Accepted: 5}},
		{`"usage":{"completion_tokens":1,"completion_tokens_details":{"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`, Speculation{}}, // OpenAI without a prediction
		{`"timings":{"draft_n":8,"draft_n_accepted":9}`, Speculation{}},
		{`"timings":{"draft_n":8}`, Speculation{}},
	} {
		c := testClient(t, listen(t, answer(stream(token("a"), `data: {"choices":[],`+tt.end+"}\n\n", finish("stop"), doneEvent))))
		var r Result
		if c.Do(t.Context(), &streamCall, &r); r.Outcome != OK || r.Speculation != tt.want {
			t.Errorf("%s: %+v, want %+v; %s %s", tt.end, r.Speculation, tt.want, r.Outcome, r.Error)
		}
	}
}
