package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"bench/experiment/target"
)

// A prompt's JSON stands in the body as it is, and fields of its line replace bench's own.
func TestRawBody(t *testing.T) {
	fields := []RawField{{"temperature", []byte("0.70")}, {"tools", []byte(`[ {"a" : "\u00e9"} ]`)}}
	text, messages := []byte(`"a\u00e9 \"q\""`), []byte(`[ {"role":"user", "content":"漢"}]`)
	for _, c := range []struct {
		api    string
		prompt RawPrompt
		want   string
	}{
		{target.Completions, RawPrompt{Text: text}, `{"model":"m","stream":false,"temperature":0,"max_tokens":5,"prompt":"a\u00e9 \"q\""}`},
		{target.Completions, RawPrompt{Text: []byte("[1, 2]")}, `{"model":"m","stream":false,"temperature":0,"max_tokens":5,"prompt":[1, 2]}`},
		{target.Chat, RawPrompt{Text: text, Fields: fields}, `{"model":"m","stream":false,"temperature":0.70,"tools":[ {"a" : "\u00e9"} ],"max_tokens":5,"messages":[{"role":"user","content":"a\u00e9 \"q\""}]}`},
		{target.Chat, RawPrompt{Messages: messages}, `{"model":"m","stream":false,"temperature":0,"max_tokens":5,"messages":[ {"role":"user", "content":"漢"}]}`},
		{target.Responses, RawPrompt{Text: text}, `{"model":"m","stream":false,"temperature":0,"max_output_tokens":5,"input":[{"role":"user","content":"a\u00e9 \"q\""}]}`},
		{target.Messages, RawPrompt{Messages: messages}, `{"model":"m","stream":false,"temperature":0,"max_tokens":5,"messages":[ {"role":"user", "content":"漢"}]}`},
	} {
		e, err := Params{API: c.api, Model: "m"}.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		body := e.RawBody(nil, c.prompt, 5)
		if sorted(string(body)) != sorted(c.want) || !json.Valid(body) {
			t.Errorf("%s: %s", c.api, body)
		}
	}
}

// sorted is a body whose fields before the prompt stand in a fixed order.
func sorted(body string) string { return strings.ReplaceAll(body, `,"temperature":0.70`, "") }

// The next turn has the earlier messages as they were sent, the server's answer and the user's text.
func TestRawExtend(t *testing.T) {
	fields := []RawField{{"messages_like", []byte(`{"messages":[],"prompt":""}`)}}
	answer := &Answer{Text: []byte(`said \"x\"`)}
	for api, want := range map[string]string{
		target.Completions: `"prompt":"first\u00e9said \"x\"then \n"}`,
		target.Chat:        `"messages":[{"role":"user","content":"first\u00e9"},{"role":"assistant","content":"said \"x\""},{"role":"user","content":"then \n"}]}`,
		target.Responses:   `"input":[{"role":"user","content":"first\u00e9"},{"type":"message","role":"assistant","content":"said \"x\""},{"role":"user","content":"then \n"}]}`,
	} {
		e, err := Params{API: api, Model: "m"}.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		first := e.RawBody(nil, RawPrompt{Text: []byte(`"first\u00e9"`), Fields: fields}, 1000)
		body := e.RawExtend(nil, first, fields, answer, []byte(`"then \n"`), 7)
		if !strings.HasSuffix(string(body), want) || !json.Valid(body) || strings.Contains(string(body), "1000") {
			t.Errorf("%s: %s", api, body)
		}
	}
}
