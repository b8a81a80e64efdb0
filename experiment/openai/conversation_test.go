package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/target"
)

// TestExtend makes three turns of a conversation in each form of prompt.
func TestExtend(t *testing.T) {
	ids := func(ids ...int32) Prompt { return Prompt{IDs: ids} }
	for _, c := range []struct {
		name   string
		params Params
		turns  []Prompt
		said   []Answer
		want   string // of the last turn
	}{
		{"chat", Params{API: target.Chat, IgnoreEOS: true}, []Prompt{{Text: `"prompt":`}, {Text: "b\n"}, {Text: "é"}},
			[]Answer{{Text: []byte(`A\u00e9 \"x\"`)}, {}},
			`{"ignore_eos":true,"model":"","stream":false,"temperature":0,"max_tokens":12,"min_tokens":12,"messages":[{"role":"user","content":"\"prompt\":"},` +
				`{"role":"assistant","content":"Aé \"x\""},{"role":"user","content":"b\n"},{"role":"assistant","content":""},{"role":"user","content":"é"}]}`},
		{"responses", Params{API: target.Responses}, []Prompt{{Text: `"input":`}, {Text: "b"}}, []Answer{{Text: []byte(`A`)}},
			`{"model":"","stream":false,"temperature":0,"max_output_tokens":11,"input":[{"role":"user","content":"\"input\":"},` +
				`{"type":"message","role":"assistant","content":"A"},{"role":"user","content":"b"}]}`},
		{"messages", Params{API: target.Messages}, []Prompt{{Text: "a"}, {Text: "b"}}, []Answer{{Text: []byte(`A`)}},
			`{"model":"","stream":false,"temperature":0,"max_tokens":11,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"A"},{"role":"user","content":"b"}]}`},
		{"text", Params{}, []Prompt{{Text: "a ]}"}, {Text: " b"}, {Text: " \"c\""}}, []Answer{{Text: []byte(` A`)}, {Text: []byte(` B\n`)}},
			`{"model":"","stream":false,"temperature":0,"max_tokens":12,"prompt":"a ]} A b B\n \"c\""}`},
		{"ids", Params{}, []Prompt{ids(1, 2), ids(5), ids(7, 8)}, []Answer{{IDs: []int32{3, 4}, Text: []byte("x")}, {IDs: []int32{6}}},
			`{"model":"","stream":false,"temperature":0,"max_tokens":12,"prompt":[1,2,3,4,5,6,7,8]}`},
		{"ids from nothing", Params{}, []Prompt{ids(), ids(5)}, []Answer{{}}, `{"model":"","stream":false,"temperature":0,"max_tokens":11,"prompt":[5]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.turns[0].IDs == nil && strings.HasPrefix(c.name, "ids") {
				c.turns[0].IDs = []int32{}
			}
			e, err := c.params.Encoder()
			if err != nil {
				t.Fatal(err)
			}
			body := e.Body(nil, c.turns[0], 10)
			for i, p := range c.turns[1:] {
				before := string(body)
				next := e.Extend([]byte("keep"), body, &c.said[i], p, 11+i)
				if string(body) != before || string(next[:4]) != "keep" {
					t.Fatalf("the turn before is %s, was %s; appended to %q", body, before, next[:4])
				}
				body = next[4:]
			}
			var got, want any
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s\n%s", body, d)
			}
		})
	}
}

func said(delta string) string { return fmt.Sprintf("data: {\"choices\":[{\"delta\":%s}]}\n\n", delta) }

// TestKeep: the answer is stored if the call asks for it, streamed or in one piece, and never otherwise.
func TestKeep(t *testing.T) {
	document := func(choice string) func(p *peer) {
		body := `{"id":"x","choices":[` + choice + `],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
		return func(p *peer) {
			p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		}
	}
	for _, c := range []struct {
		name   string
		server func(p *peer)
		whole  bool
		events int
		text   string
		ids    []int32
	}{
		{"completions", stream(token(" a"), token(" b"), token(" c"), finish("length"), doneEvent), false, 3, " a b c", nil},
		{"a character in two events", stream("data: {\"choices\":[{\"text\":\"\xc3\"}]}\n\n", "data: {\"choices\":[{\"text\":\"\xa9\"}]}\n\n", finish("stop"), doneEvent), false, 2, "é", nil},
		{"chat", stream(said(`{"role":"assistant","content":""}`), said(`{"reasoning":"hm"}`), said(`{"content":"a"}`), said(`{"content":"\n"}`), doneEvent), false, 3, `a\n`, nil},
		{"tools", stream(said(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":""}}]}`),
			said(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}`), said(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
			finish("tool_calls"), doneEvent), false, 3, `look{\"x\":1}`, nil},
		{"ids", stream(`data: {"choices":[{"text":"a","token_ids":[5]}]}`+"\n\n", `data: {"choices":[{"text":"","token_ids":[6,7],"finish_reason":"length"}]}`+"\n\n", doneEvent), false, 2, "a", []int32{5, 6, 7}},
		{"whole chat", document(`{"message":{"role":"assistant","content":"a b"},"finish_reason":"length"}`), true, 0, "a b", nil},
		{"whole ids", document(`{"text":"a","token_ids":[5,6],"finish_reason":"length"}`), true, 0, "a", []int32{5, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := testClient(t, listen(t, answer(c.server)))
			var r Result
			for range 2 { // the second answer contains nothing of the first
				client.Do(t.Context(), &Call{Body: []byte("{}"), Stream: !c.whole, KeepAnswer: true}, &r)
				if r.Outcome != OK || r.Events != c.events || string(r.Answer.Text) != c.text || !cmp.Equal(r.Answer.IDs, c.ids) && len(c.ids) > 0 {
					t.Errorf("%s %s: %d events, %q, ids %v", r.Outcome, r.Error, r.Events, r.Answer.Text, r.Answer.IDs)
				}
			}
			client.Do(t.Context(), &Call{Body: []byte("{}"), Stream: !c.whole}, &r)
			if r.Outcome != OK || len(r.Answer.Text) > 0 || len(r.Answer.IDs) > 0 {
				t.Errorf("an answer that was not asked for: %+v", r.Answer)
			}
		})
	}
}
