package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// quick has all tokens at once, as soon as they can be.
func quick() Config { return Config{TTFT: 1, Model: "m"} }

func TestCompletionsWithTypedClient(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		client := typed(h)
		req := openai.CompletionRequest{Model: "m", Prompt: "one two three", MaxTokens: 4, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
		stream, err := client.CreateCompletionStream(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		text, finish, usage := "", "", (*openai.Usage)(nil)
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(chunk.Choices) == 0 {
				usage = chunk.Usage
				continue
			}
			text += chunk.Choices[0].Text
			finish += chunk.Choices[0].FinishReason
		}
		if n := len(strings.Fields(text)); n != 4 || finish != "length" || usage == nil || usage.CompletionTokens != 4 || usage.PromptTokens != 3 || usage.PromptTokensDetails.CachedTokens != 0 {
			t.Errorf("text %q, finish %q, usage %+v", text, finish, usage)
		}
		whole, err := client.CreateCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Choices[0].Text != text || whole.Usage.TotalTokens != 7 {
			t.Errorf("in one piece: %+v, as a stream: %q", whole, text)
		}
	})
}

func TestChatWithTypedClient(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		client := typed(h)
		req := openai.ChatCompletionRequest{Model: "m", MaxCompletionTokens: 5, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
			Messages: []openai.ChatCompletionMessage{{Role: "system", Content: "be brief"}, {Role: "user", Content: "hello"}}}
		stream, err := client.CreateChatCompletionStream(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var deltas []openai.ChatCompletionStreamChoiceDelta
		var usage *openai.Usage
		text := ""
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			usage = chunk.Usage
			if len(chunk.Choices) > 0 {
				deltas = append(deltas, chunk.Choices[0].Delta)
				text += chunk.Choices[0].Delta.Content
			}
		}
		// 4 + 2 words and 4 + 1 word and 3 for the answer to begin.
		if len(deltas) != 6 || deltas[0].Role != "assistant" || deltas[0].Content != "" || usage == nil || usage.PromptTokens != 14 || usage.CompletionTokens != 5 {
			t.Errorf("deltas %+v, usage %+v", deltas, usage)
		}
		whole, err := client.CreateChatCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if m := whole.Choices[0].Message; m.Content != text || m.Role != "assistant" || whole.Choices[0].FinishReason != "length" {
			t.Errorf("in one piece: %+v, as a stream: %q", whole, text)
		}
		if models, err := client.ListModels(t.Context()); err != nil || models.Models[0].ID != "m" || models.Models[0].OwnedBy != "bench-mock" {
			t.Errorf("models %+v, %v", models, err)
		}
	})
}

func typed(h *http.Client) *openai.Client {
	config := openai.DefaultConfig("none")
	config.BaseURL = "http://mock/v1"
	config.HTTPClient = h
	return openai.NewClientWithConfig(config)
}

// The bytes of a stream, so that a change of them is seen.
func TestStreamBytes(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		_, got := fetch(t, h, "http://mock/v1/completions",
			`{"prompt":[[5,6]],"max_tokens":2,"min_tokens":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, "X-Request-Id", `q"1`)
		got = regexp.MustCompile(`"created":\d+`).ReplaceAllString(got, `"created":0`)
		got = regexp.MustCompile(`w\d+`).ReplaceAllString(got, `w`)
		head := `data: {"id":"cmpl-q\"1","object":"text_completion","created":0,"model":"m","choices":[`
		usage := `"usage":{"completion_tokens":%d,"prompt_tokens":2,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":%d}}` + "\n\n"
		want := head + `{"index":0,"text":" w","logprobs":null,"finish_reason":null,"stop_reason":null}],` + fmt.Sprintf(usage, 1, 3) +
			head + `{"index":0,"text":" w","logprobs":null,"finish_reason":"length","stop_reason":null}],` + fmt.Sprintf(usage, 2, 4) +
			head + `],` + fmt.Sprintf(usage, 2, 4) + "data: [DONE]\n\n"
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestRefusals(t *testing.T) {
	c := quick()
	c.MaxModelLen = 100
	tests := []struct {
		path, body string
		status     int
		message    string
	}{
		{"completions", `{"prompt":`, 400, "not valid JSON"},
		{"completions", `{"prompt":"a","model":"other"}`, 404, "The model `other` does not exist."},
		{"completions", `{"prompt":"a b c","max_tokens":98}`, 400, "This model's maximum context length is 100 tokens. However, you requested 98 output tokens and your prompt contains 3 input tokens, for a total of 101 tokens (3 + 98 = 101 > 100)."},
		{"completions", `{"prompt":"` + strings.Repeat("a ", 100) + `","max_tokens":1}`, 400, "However, your request has 100 input tokens. Please reduce the length of the input messages."},
		{"completions", `{"prompt":"a","max_tokens":9223372036854775807}`, 400, "maximum context length"},
		{"completions", `{"prompt":[1,32000]}`, 400, "Token id 32000 is out of vocabulary"},
		{"completions", `{"prompt":[-1]}`, 400, "Token id -1 is out of vocabulary"},
		{"completions", `{"prompt":["a","b"]}`, 400, "prompt must be"},
		{"completions", `{"prompt":{}}`, 400, "prompt must be"},
		{"completions", `{"max_tokens":3}`, 400, "prompt must be"},
		{"completions", `{"prompt":[]}`, 400, "cannot be empty"},
		{"completions", `{"prompt":"a","max_tokens":0}`, 400, "max_tokens must be at least 1"},
		{"completions", `{"prompt":"a","min_tokens":17}`, 400, "min_tokens"},
		{"completions", `{"prompt":"a","n":2}`, 400, "n must be 1"},
		{"chat/completions", `{"messages":[]}`, 400, "messages must not be empty"},
		{"chat/completions", `{"messages":[{"role":"user","content":7}]}`, 400, "not valid JSON"},
	}
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		for _, test := range tests {
			status, text := fetch(t, h, "http://mock/v1/"+test.path, test.body)
			plain := strings.NewReplacer(`\u0026`, "&", `\u003e`, ">").Replace(text)
			if status != test.status || !strings.Contains(plain, test.message) {
				t.Errorf("%s %s: %d %s", test.path, test.body, status, text)
			}
			var form struct{ Error openai.APIError }
			if err := json.Unmarshal([]byte(text), &form); err != nil || form.Error.Type == "" || form.Error.Code != status {
				t.Errorf("%s: %v: %s", test.body, err, text)
			}
		}
	})
}

// What is not forced ends by itself, always at the same place, on average where it should.
func TestNaturalEnd(t *testing.T) {
	c := quick()
	c.NaturalOutput = 40
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		total := 0
		for i := range 300 {
			body := fmt.Sprintf(`{"prompt":"number n%d","max_tokens":100000}`, i)
			_, once := fetch(t, h, "http://mock/v1/completions", body)
			var answer openai.CompletionResponse
			if err := json.Unmarshal([]byte(once), &answer); err != nil || answer.Choices[0].FinishReason != "stop" {
				t.Fatalf("%v: %s", err, once)
			}
			total += answer.Usage.CompletionTokens
			if i > 10 {
				continue
			}
			var again openai.CompletionResponse
			_, twice := fetch(t, h, "http://mock/v1/completions", body)
			if json.Unmarshal([]byte(twice), &again); again.Choices[0].Text != answer.Choices[0].Text {
				t.Errorf("another answer to the same prompt: %s, %s", once, twice)
			}
		}
		if mean := float64(total) / 300; mean < 32 || mean > 48 { // 3.5 standard errors
			t.Errorf("mean output %.1f, want about 40", mean)
		}
	})
}

func TestTokenizeAndOthers(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, s *Server, h *http.Client) {
		for body, count := range map[string]int{
			`{"prompt":"one two  three\n"}`:                  3,
			`{"prompt":""}`:                                  0,
			`{"messages":[{"role":"user","content":"a b"}]}`: 9,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},{"text":" c "}]}]}`: 10,
		} {
			_, text := fetch(t, h, "http://mock/tokenize", body)
			var answer struct {
				Count  int     `json:"count"`
				Max    int     `json:"max_model_len"`
				Tokens []int32 `json:"tokens"`
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Count != count || len(answer.Tokens) != count || answer.Max != 131072 {
				t.Errorf("%s: %v: %s", body, err, text)
			}
		}
		if text := get(t, h, "http://mock/version"); !strings.Contains(text, `"bench-mock/1"`) {
			t.Errorf("version: %s", text)
		}
		if text := get(t, h, "http://mock/v1/models"); !strings.Contains(text, `"max_model_len":131072`) {
			t.Errorf("models: %s", text)
		}
		if text := get(t, h, "http://mock/debug"); !strings.Contains(text, `"simulates":"bench-mock, simulated with steps of `) || !strings.Contains(text, `"kv_blocks":32768`) {
			t.Errorf("debug: %s", text)
		}
		// The same prompt three times: cold, from the cache, and cold again after a reset.
		for i, want := range []string{`"cached_tokens":0`, `"cached_tokens":48`, `"cached_tokens":0`} {
			if i == 2 {
				fetch(t, h, "http://mock/reset_prefix_cache", "")
			}
			if _, text := fetch(t, h, "http://mock/v1/completions", strings.Replace(idBody(1, 64, 2), `"stream":true`, `"stream":false`, 1)); !strings.Contains(text, want) {
				t.Errorf("request %d: %s", i, text)
			}
		}
		req, _ := http.NewRequest("DELETE", "http://mock/debug/requests", nil)
		if resp, err := h.Do(req); err != nil || resp.StatusCode != http.StatusNoContent || len(truths(t, h, "http://mock")) != 0 {
			t.Errorf("after DELETE: %v, %d records", err, len(truths(t, h, "http://mock")))
		}
	})
}

var sample = regexp.MustCompile(`^(vllm:[a-z0-9_]+)\{([a-z_]+="[^"]*",?)+\} (\S+)$`)

// Every line of /metrics is a comment or a sample of a family that was declared; histograms only rise, and
// end in their count.
func TestMetricsParse(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, s *Server, h *http.Client) {
		fetch(t, h, "http://mock/v1/completions", idBody(1, 64, 20))
		fetch(t, h, "http://mock/v1/completions", idBody(1, 64, 20))
		values, types := map[string]float64{}, map[string]string{}
		bucket, last := "", 0.0
		for line := range strings.Lines(get(t, h, "http://mock/metrics")) {
			line = strings.TrimSuffix(line, "\n")
			if f := strings.Fields(line); f[0] == "#" {
				if f[1] == "TYPE" {
					types[f[2]] = f[3]
				}
				continue
			}
			m := sample.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("not a sample: %q", line)
			}
			v, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")
			if types[m[1]] == "" && types[family] != "histogram" {
				t.Errorf("%s has no type", m[1])
			}
			if strings.HasSuffix(m[1], "_bucket") {
				if m[1] == bucket && v < last {
					t.Errorf("a bucket falls: %s", line)
				}
				bucket = m[1]
				last = v
			}
			if strings.HasSuffix(m[1], "_count") && v != last {
				t.Errorf("%s is %g, its last bucket %g", m[1], v, last)
			}
			values[m[1]] += v
		}
		for name, want := range map[string]float64{
			"vllm:prompt_tokens_total": 128, "vllm:generation_tokens_total": 40, "vllm:request_success_total": 2,
			"vllm:prefix_cache_queries_total": 128, "vllm:prefix_cache_hits_total": 48, "vllm:num_requests_running": 0,
			"vllm:num_requests_waiting": 0, "vllm:kv_cache_usage_perc": 0, "vllm:time_to_first_token_seconds_count": 2,
			"vllm:inter_token_latency_seconds_count": 38, "vllm:e2e_request_latency_seconds_count": 2,
		} {
			if got, ok := values[name]; !ok || got != want {
				t.Errorf("%s is %g, want %g", name, got, want)
			}
		}
	})
}

// Whatever is asked, the answer is a refusal or a sequence that fits the server.
func FuzzRequest(f *testing.F) {
	f.Add(`{"prompt":[[1,2,3]],"max_tokens":5,"ignore_eos":true}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"min_tokens":4}`)
	f.Add(`{"prompt":"a b","max_completion_tokens":-9223372036854775808,"stream_options":null}`)
	s, err := New(Config{MaxModelLen: 1000})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"instructions":"a","input":[{"type":"function_call_output","output":"b"},{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}]}`)
	f.Add(`{"system":"a","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"b"}]}]}],"max_tokens":7,"tools":[{"name":"a","input_schema":{"type":"object"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for shape := range messages + 1 {
			r, _ := http.NewRequest("POST", "/", strings.NewReader(body))
			req, bad := readRequest(r, shape)
			var q *seq
			var limit int
			if bad == nil {
				q, limit, bad = s.sequence(req, shape, 0)
			}
			if bad != nil {
				if bad.status < 400 || bad.message == "" {
					t.Errorf("refused with %+v", bad)
				}
				continue
			}
			a := s.plan(req, shape, q, limit, nil)
			if q.want < 1 || len(q.prompt) < 1 || len(q.prompt)+q.want > 1000 {
				t.Errorf("%d tokens in, %d out", len(q.prompt), q.want)
			}
			p := reply{q: q, req: req, shape: shape, answer: a, rec: new(Record), engine: s}
			if _, err := json.Marshal(p.newEncoder().object()); err != nil {
				t.Error(err)
			}
		}
	})
}
