package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bench/experiment/target"
)

// TestScores sends requests for vectors and scores to a server that checks their form, and reads its answers.
func TestScores(t *testing.T) {
	const vectors = `{"id":"e1","object":"list","data":[{"index":0,"embedding":[0.1,0.2]},{"index":1,"embedding":"AAAA"}],"usage":{"prompt_tokens":7,"total_tokens":7}}`
	const scores = `{"id":"r1","results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":-1e-3}],"usage":{"total_tokens":9}}`
	for _, c := range []struct {
		name, api, answer string
		status            int
		want              Outcome
		prompt            int
		text              string // in the error
	}{
		{name: "vectors", api: target.Embeddings, answer: vectors, want: OK, prompt: 7},
		{name: "scores", api: target.Rerank, answer: scores, want: OK, prompt: 9},
		{name: "no usage", api: target.Rerank, answer: `{"results":[{"relevance_score":1},{"relevance_score":2}]}`, want: OK},
		{name: "another type of usage", api: target.Rerank, answer: `{"results":[{"relevance_score":1},{"relevance_score":2}],"usage":"none"}`, want: OK},
		{name: "a vector is missing", api: target.Embeddings, answer: `{"data":[{"embedding":[1]}]}`, want: Protocol, text: "1 vectors or scores for 2 texts"},
		{name: "an empty vector", api: target.Embeddings, answer: `{"data":[{"embedding":[1]},{"embedding":[ ]}]}`, want: Protocol, text: "1 vectors or scores for 2 texts"},
		{name: "a score without a number", api: target.Rerank, answer: `{"results":[{"relevance_score":1},{"index":0}]}`, want: Protocol, text: "1 vectors"},
		{name: "an error in a 200", api: target.Embeddings, answer: `{"error":{"message":"out of memory"}}`, want: Protocol, text: "out of memory"},
		{name: "vLLM's error", api: target.Embeddings, answer: `{"object":"error","message":"boom"}`, want: Protocol, text: "boom"},
		{name: "a status", api: target.Rerank, answer: `{"error":{"message":"no such model"}}`, status: 404, want: Status, text: "no such model"},
		{name: "HTML", api: target.Embeddings, answer: `<html>`, want: Protocol, text: "not of this API"},
		{name: "empty", api: target.Embeddings, want: Truncated},
		{name: "half", api: target.Embeddings, answer: vectors[:60], want: Protocol, text: "not of this API"},
		{name: "chat's answer", api: target.Embeddings, answer: `{"choices":[{"message":{"content":"Hi"}}]}`, want: Protocol, text: "not of this API"},
	} {
		t.Run(c.name, func(t *testing.T) {
			type request struct {
				path string
				body map[string]any
			}
			requests := make(chan request, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got := request{path: r.URL.Path}
				_ = json.NewDecoder(r.Body).Decode(&got.body)
				requests <- got
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			client, err := New(Options{BaseURL: server.URL + "/v1", API: c.api})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			enc, err := Params{API: c.api, Model: "m", Stream: true, IgnoreEOS: true, Extra: map[string]any{"dimensions": 2}}.Encoder()
			if err != nil {
				t.Fatal(err)
			}
			var r Result
			client.Do(t.Context(), &Call{Body: enc.Texts(nil, "", []Prompt{{Text: "a b"}, {Text: `"c"`}}), Texts: 2}, &r)
			if r.Outcome != c.want || r.PromptTokens != c.prompt || r.HasUsage != (c.prompt > 0) || r.OutputTokens != 0 || !strings.Contains(r.Error, c.text) {
				t.Errorf("%+v", r)
			}
			got := <-requests
			path, body := got.path, got.body
			texts, _ := json.Marshal(body[map[string]string{target.Embeddings: "input", target.Rerank: "documents"}[c.api]])
			if path != "/v1/"+c.api || string(texts) != `["a b","\"c\""]` || body["stream"] != nil || body["max_tokens"] != nil || body["dimensions"] != 2.0 {
				t.Errorf("%s: %v", path, body)
			}
			if _, asks := body["query"]; asks != (c.api == target.Rerank) {
				t.Errorf("query: %v", body["query"])
			}
		})
	}
}

// TestTextsOfIDs: vectors take token ids, scores have no form for them.
func TestTextsOfIDs(t *testing.T) {
	for api, want := range map[string]string{target.Embeddings: `{"model":"m","input":[[1,2],[3]]}`, target.Rerank: ""} {
		enc, err := Params{API: api, Model: "m"}.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		if got := enc.Texts(nil, "", []Prompt{{IDs: []int32{1, 2}}, {IDs: []int32{3}}}); string(got) != want {
			t.Errorf("%s: %s", api, got)
		}
	}
}

// TestPictures: images go before the text, as data URLs.
func TestPictures(t *testing.T) {
	enc, err := Params{API: target.Chat, Model: "m"}.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	got := enc.Body(nil, Prompt{Text: "what?", Images: [][]byte{[]byte("one"), []byte("two2")}}, 5)
	const want = `,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,b25l"}},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,dHdvMg=="}},{"type":"text","text":"what?"}]}]}`
	if !json.Valid(got) || !strings.HasSuffix(string(got), want) {
		t.Errorf("%s", got)
	}
}

func FuzzParseScores(f *testing.F) {
	f.Add([]byte(`{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"results":[{"relevance_score":1}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := parseScores(in)
		if err == nil && !c.failed && c.hasChoices != (c.items > 0) {
			t.Errorf("%+v", c)
		}
	})
}
