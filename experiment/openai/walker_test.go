package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// describe is a chunk in words, for comparison.
func describe(c chunk) string {
	var more moreUsage
	var refused []int // prompt, cached, output
	if c.more != nil {
		more = *c.more
	}
	if u := c.refused; u != nil {
		for _, n := range []*int{u.Prompt, u.Cached, u.Output} {
			if n == nil {
				n = new(0) // reported, but no integer
			}
			refused = append(refused, *n)
		}
	}
	return fmt.Sprintf("choices %v bears %v (answer %v, reasoning %v) more %v role %v ids %d finish %q id %q prompt %d/%v cached %d/%v apart %d/%v output %d/%v times %v refused %v ended %v failed %v %q",
		c.hasChoices, c.hasToken, c.hasAnswer, c.hasReasoning, more, c.hasRole, c.idCount, c.finishReason, c.id, c.prompt, c.hasPrompt, c.cached, c.hasCached, c.apart, c.hasApart, c.output,
		c.hasOutput, c.times, refused, c.ended, c.failed, c.message)
}

// counts makes a moreUsage of pairs of a field and its count.
func counts(pairs ...int) *moreUsage {
	var u moreUsage
	for ; len(pairs) > 0; pairs = pairs[2:] {
		u[pairs[0]].n, u[pairs[0]].known = pairs[1], true
	}
	return &u
}

// TestChunk gives each event to parse, to the walker and, unless slow, to its one pass.
func TestChunk(t *testing.T) {
	tests := []struct {
		in   string
		want chunk
		slow bool // an error
	}{
		{in: `{}`},
		{in: ` { "choices" : [ ] , "id" : "x" } `, want: chunk{id: []byte("x")}},
		{in: `{"choices":[{"text":"a","finish_reason":null}],"usage":null}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"text":"","finish_reason":"stop"}]}`, want: chunk{hasChoices: true, finishReason: []byte("stop")}},
		{in: `{"choices":[{"delta":{"role":"assistant","content":""}}]}`, want: chunk{hasChoices: true, hasRole: true}},
		{in: `{"choices":[{"delta":{"content":null}}]}`, want: chunk{hasChoices: true}},
		{in: `{"choices":[{"delta":{"content":"\u65e5\n\\\""}}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"delta":{"reasoning":"x"}}]}`, want: chunk{hasChoices: true, hasToken: true, hasReasoning: true}},
		{in: `{"choices":[{"delta":{"reasoning_content":"日"}}]}`, want: chunk{hasChoices: true, hasToken: true, hasReasoning: true}},
		{in: `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"","arguments":"{"}}]}}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"","arguments":""}}]}}]}`, want: chunk{hasChoices: true}},
		{in: `{"choices":[{"delta":{"tool_calls":null,"function_call":{"name":"f"}}}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"message":{"content":"x"}},{"delta":{}}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"text":"","token_ids":[1,22,333]}]}`, want: chunk{hasChoices: true, hasToken: true, idCount: 3}},
		{in: `{"choices":[{"text":"","token_ids":[]}]}`, want: chunk{hasChoices: true}},
		{in: `{"choices":[{"text":"","token_ids":null,"prompt_token_ids":[1]}]}`, want: chunk{hasChoices: true}},
		{in: `{"choices":null,"usage":{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":2}}}`,
			want: chunk{prompt: 5, hasPrompt: true, hasOutput: true, cached: 2, hasCached: true}},
		{in: `{"usage":{"prompt_tokens":5,"prompt_tokens_details":null,"completion_tokens":null}}`, want: chunk{prompt: 5, hasPrompt: true}},
		{in: `{"error":null,"object":"text_completion"}`},
		{in: `{"choices":[],"timings":{"cache_n":0,"prompt_n":4,"prompt_ms":4.707,"predicted_n":4,"predicted_ms":6}}`,
			want: chunk{times: ServerTimes{Prefill: inMs(4.707), HasPrefill: true, Decode: inMs(6), HasDecode: true}}},
		{in: `{"choices":[],"metrics":{"time_to_first_token_ms":4.5,"queue_time_ms":0.25,"generation_time_ms":null,"mean_itl_ms":1}}`,
			want: chunk{times: ServerTimes{Queue: inMs(0.25), HasQueue: true, Prefill: inMs(4.5), HasPrefill: true}}},
		{in: `{"timings":null,"choices":[]}`},
		{in: `{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true, hasReasoning: true}},
		{in: `{"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":null,"accepted_prediction_tokens":3,"rejected_prediction_tokens":1}}}`,
			want: chunk{output: 9, hasOutput: true, more: counts(ofReasoning, 5, predictionHits, 3, predictionMiss, 1)}},
		{in: `{"usage":{"completion_tokens_details":null,"reasoning_tokens":0}}`, want: chunk{more: counts(ofOwnReasoning, 0)}},
		{in: `{"usage":{"completion_tokens_details":{"reasoning_tokens":null}}}`},
		{in: `{"choices":[],"timings":{"predicted_ms":6,"draft_n":10,"draft_n_accepted":7}}`,
			want: chunk{times: ServerTimes{Decode: inMs(6), HasDecode: true}, more: counts(draftTokens, 10, draftAccepted, 7)}},
		{in: `{"metrics":{"queue_time_ms":1,"speculative_decoding":{"mean_acceptance_length":2.5,"acceptance_histogram":[1,2],"num_spec_steps":2,"num_accepted_draft_tokens":3,"num_draft_tokens":6,"num_spec_tokens":3,"per_step_accepted":null}}}`,
			want: chunk{times: ServerTimes{Queue: inMs(1), HasQueue: true}, more: counts(draftSteps, 2, draftAccepted, 3, draftTokens, 6)}},
		{in: `{"metrics":{"speculative_decoding":null}}`},
		{in: `{"timings":{"prompt_ms":-1,"predicted_ms":1e300}}`},
		{in: `{"choices":[{"logprobs":{"a":[1,-2.5e+3,true,false,null,{"b":"c"}]},"text":"x"}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},

		{in: `{"ch\u006fices":[{"text":"a"}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"delta":{"content":[{"type":"text"}]}}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"choices":[{"text":7},{"text":"a"}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"id":"\u0041","choices":["x"]}`, want: chunk{hasChoices: true, id: []byte("A")}},
		{in: `{"usage":{"completion_tokens":12.0,"prompt_tokens":1e2}}`, want: chunk{output: 12, hasOutput: true, prompt: 100, hasPrompt: true}},
		{in: `{"usage":{"completion_tokens":-1,"prompt_tokens":1e400}}`, want: chunk{refused: &Usage{Output: new(-1)}}},
		{in: `{"usage":{"completion_tokens":99999999999999999999,"prompt_tokens":1.5}}`, want: chunk{refused: &Usage{}}},
		{in: `{"usage":{"completion_tokens":"9","prompt_tokens":1000000000000000000,"prompt_tokens_details":{"cached_tokens":-2}}}`,
			want: chunk{refused: &Usage{Prompt: new(1000000000000000000), Cached: new(-2)}}},
		{in: `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,"choices":[{"text":"a"}]}`, want: chunk{hasChoices: true, hasToken: true, hasAnswer: true}},
		{in: `{"timings":{"prompt_ms":"4"},"metrics":[]}`},
		{in: `{"timings":{"draft_n":1.5,"draft_n_accepted":1.0}}`, want: chunk{more: counts(draftAccepted, 1)}},
		{in: `{"usage":{"completion_tokens_details":{"reasoning_tokens":1,"reasoning_tokens":2}}}`, want: chunk{more: counts(ofReasoning, 2)}},
		{in: `{"metrics":{"queue_time_ms":1},"timings":{"prompt_ms":2}}`, want: chunk{times: ServerTimes{Queue: inMs(1), HasQueue: true, Prefill: inMs(2), HasPrefill: true}}},
		{in: `{"error":{"message":"boom"}}`, want: chunk{failed: true, message: "boom"}, slow: true},
		{in: `{"error":"boom"}`, want: chunk{failed: true, message: "boom"}, slow: true},
		{in: `{"error":{}}`, want: chunk{failed: true, message: `{}`}, slow: true},
		{in: `{"object":"error","message":"boom","code":40}`, want: chunk{failed: true, message: "boom"}, slow: true},
		{in: `{"error":{"detail":[{"msg":"a"},{"msg":"b"}]}}`, want: chunk{failed: true, message: "a; b"}, slow: true},
	}
	var w walker
	for _, tt := range tests {
		slow, err := parse("", []byte(tt.in))
		if err != nil || describe(slow) != describe(tt.want) {
			t.Errorf("%s\nparse %s, %v\nwant  %s", tt.in, describe(slow), err, describe(tt.want))
		}
		if _, ok := w.read([]byte(tt.in)); ok == tt.slow {
			t.Errorf("%s: one pass is enough: %v", tt.in, ok)
		}
		got, err := w.decode([]byte(tt.in))
		if err != nil || describe(got) != describe(tt.want) {
			t.Errorf("%s\nwalker %s, %v\nwant   %s", tt.in, describe(got), err, describe(tt.want))
		}
	}
}

func TestNoChunk(t *testing.T) {
	var w walker
	for _, in := range []string{``, `null`, `[]`, `"x"`, `17`, `{`, `{"a"}`, `{"a":1,}`, `{"a":01}`, `{"a":1.}`, `{"a":+1}`, `{"a":.5}`, `{"a":1e}`, `{"a":-}`,
		`{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\`, `{"a":tru}`, `{"a":nulll}`, `{}{}`, `{} x`, `{"a":[1,]}`, `{"a":[1 2]}`, `{'a':1}`,
		`{"usage":{"prompt_tokens":01}}`, `{"choices":[{"text":"a"}`, strings.Repeat(`{"a":`, 20000)} {
		if _, err := parse("", []byte(in)); err == nil {
			t.Errorf("parse takes %.40q", in)
		}
		if _, err := w.decode([]byte(in)); err == nil {
			t.Errorf("the walker takes %.40q", in)
		}
	}
}

// spoken is a chunk's answer as text, and its token ids.
func spoken(t rapid.TB, c chunk) string {
	t.Helper()
	var text string
	var said []byte
	var parts Parts
	for _, p := range c.pieces {
		said = append(said, p.text...)
		parts.add(p)
	}
	if err := json.Unmarshal([]byte(`"`+string(said)+`"`), &text); err != nil {
		t.Fatalf("%q is not the inside of a string: %v", said, err)
	}
	calls := ""
	for _, call := range parts.Calls {
		calls += fmt.Sprintf(" %d:%s(%s)", call.Index, Unescape(call.Name), Unescape(call.Arguments))
	}
	return fmt.Sprint(text, c.tokenIDs, " ", Unescape(parts.Content), calls)
}

// TestSaid: both readers find the answer of an event, without the reasoning.
func TestSaid(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"choices":[{"text":"a\u00e9\n\"b\""}]}`, "aé\n\"b\"[] aé\n\"b\""},
		{`{"choices":[{"text":" a","token_ids":[17,2147483647]}]}`, " a[17 2147483647]  a"},
		{`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, "[] "},
		{`{"choices":[{"delta":{"content":"a","reasoning":"why"}}]}`, "a[] a"},
		{`{"choices":[{"delta":{"reasoning_content":"why"}}]}`, "[] "},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":"{\"x\":"}}]}}]}`, `look{"x":[]  0:look({"x":)`},
		{`{"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"arguments":"1"}}]}}]}`, `1[]  3:(1)`},
		{`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1"},"index":7}]}}]}`, `1[]  7:(1)`},
		{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"1"}},{"index":null,"function":{"name":"b","arguments":"2"}}]}}]}`, `a1b2[]  0:a(1) 1:b(2)`},
		{`{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"[]"}}]}}]}`, `af{}g[][] a 0:f({}) 1:g([])`},
		{`{"choices":[{"message":{"content":"a","function_call":{"name":"f","arguments":"1"}}}]}`, "af1[] a 0:f(1)"},
		{`{"choices":[{"delta":{"content":[{"text":"part"}]}}]}`, "[] "},
		{`{"choices":[{"token_ids":[4294967296,12.0,"x"]}]}`, "[12] "},
		{`{"choices":[{"text":"a"}],"usage":{"completion_tokens":1.0}}`, "a[] a"},
	} {
		slow, err := parse("", []byte(c.in))
		if err != nil || spoken(t, slow) != c.want {
			t.Errorf("%s\nparse: %q, %v, want %q", c.in, spoken(t, slow), err, c.want)
		}
		var w walker
		for range 2 { // the second time by the shape
			if got, err := w.decode([]byte(c.in)); err != nil || spoken(t, got) != c.want {
				t.Errorf("%s\nwalker: %q, %v, want %q", c.in, spoken(t, got), err, c.want)
			}
		}
	}
}

// FuzzWalk: the walker finds what parse finds, whatever event it has read before.
func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"id":"a","object":"x","choices":[{"delta":{"content":"a\u00e9","tool_calls":[{"function":{"name":"f","arguments":"1"}}]},"finish_reason":"stop","token_ids":[1,2]}],"usage":{"prompt_tokens":5,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":1}},"error":null}`), []byte(`{"choices":[{"text":"","message":{"reasoning":"x","function_call":null}}],"x":[-1.5e+7,true,{"y":"\n"}]}`))
	f.Add([]byte(`{"choices":[{"text":"","message":{"reasoning":"x","function_call":null}}],"x":[-1.5e+7,true,{"y":"\n"}]}`), []byte(`{"choices":[{"text":"","message":{"reasoning":"x","function_call":null}}],"x":[-1.5e+7,true,{"y":"\n"}]}`))
	f.Add([]byte(`{"choices":[{"text":"a","text":""}],"usage":{"prompt_tokens":00}}`), []byte(`{"choices":[{"text":"","message":{"reasoning":"x","function_call":null}}],"x":[-1.5e+7,true,{"y":"\n"}]}`))
	f.Add([]byte(`{"choices":[{"text":"b","token_ids":[1]}]}`), []byte(`{"choices":[{"text":"","token_ids":[1,22]}]}`))
	f.Add([]byte(`{"choices":[{"delta":{"role":"a","content":"b"},"token_ids":[1]}]}`), []byte(`{"choices":[{"delta":{"role":"a","content":""},"token_ids":[]}]}`))
	f.Add([]byte(`{"id":"a","choices":[{"text":"b"}]}`), []byte(`{"id":"a","choices":[{"text":"\u00e9é"}]}`))
	f.Add([]byte(`{"choices":[{"text":"b","finish_reason":null}],"id":"a"}`), []byte(`{"choices":[{"text":"","finish_reason":null}],"id":"a"}`))
	f.Add([]byte(`{"choices":[{"text":"b"}],"usage":{"prompt_tokens":1}}`), []byte(`{"choices":[{"text":""}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"choices":[{"text":"b"}],"timings":{"prompt_ms":1.5}}`), []byte(`{"choices":[{"text":"c"}],"timings":{"prompt_ms":1.5},"metrics":{"queue_time_ms":2e0,"generation_time_ms":0}}`))
	f.Add([]byte(`{"choices":[{"delta":{"reasoning":"b"}}]}`), []byte(`{"choices":[{"delta":{"reasoning":"","content":"c"}}],"usage":{"reasoning_tokens":3,"completion_tokens_details":{"reasoning_tokens":3,"accepted_prediction_tokens":1e0}},"timings":{"draft_n":4,"draft_n_accepted":1}}`))
	f.Add([]byte(`{"choices":[{"text":"b"}]}`), []byte(`{"metrics":{"speculative_decoding":{"num_spec_steps":2,"num_draft_tokens":6,"num_accepted_draft_tokens":3,"x":[1]}}}`))
	f.Add([]byte(`{"choices":[{"text":"b"},{"text":"c"}]}`), []byte(`{"choices":[{"text":""},{"text":""}]}`))
	var w walker
	f.Fuzz(func(t *testing.T, before, in []byte) {
		w.shape.clear()
		w.read(before)
		sameAsParse(t, &w, in)
	})
}

// sameAsParse leaves out keys that repeat, of which parse sees the last one alone, and fields that say the same twice.
func sameAsParse(t rapid.TB, w *walker, in []byte) {
	t.Helper()
	got, gotErr := w.decode(in)
	want, err := parse(w.api, in)
	if err != nil && gotErr != nil || twice(in) {
		return
	}
	if err != nil || gotErr != nil || describe(got) != describe(want) {
		t.Errorf("%q\nwalker %s, %v\nparse  %s, %v", in, describe(got), gotErr, describe(want), err)
		return
	}
	if len(got.pieces) < 2 && spoken(t, got) != spoken(t, want) { // with several texts, parse does not know their order
		t.Errorf("%q\nwalker %q\nparse  %q", in, spoken(t, got), spoken(t, want))
	}
}

func twice(in []byte) bool {
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil {
		return false
	}
	once, _ := json.Marshal(m) // what was decoded always encodes
	return countTokens(in) != countTokens(once) || m["timings"] != nil && m["metrics"] != nil || m["message"] != nil && m["usage"] != nil
}

func countTokens(in []byte) (n int) {
	for d := json.NewDecoder(bytes.NewReader(in)); ; n++ {
		d.UseNumber()
		if _, err := d.Token(); err != nil {
			return n
		}
	}
}
