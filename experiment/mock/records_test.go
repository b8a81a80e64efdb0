package mock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// Records have what a request said about itself, and the hash of its prompt's bytes, white space included.
func TestRecordOfRequest(t *testing.T) {
	tests := []struct{ path, field, prompt, more string }{
		{"completions", "prompt", `"a  bé"`, ""},
		{"completions", "prompt", `[1, 2,3]`, ""},
		{"chat/completions", "messages", `[ {"role":"user", "content":"a\u0041"} ]`, `,"metadata":{"category":"chat"}`},
		{"responses", "input", `"a"`, `,"metadata":{"category":"chat"}`},
		{"responses", "input", `[{"role": "user","content":[{"type":"input_text", "text":"a"}]}]`, `,"metadata":{"category":"chat"}`},
		{"messages", "messages", `[{"role":"user","content":"a"}]`, `,"system":"s","metadata":{"category":"chat"}`},
	}
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for i, test := range tests {
			status, text := fetch(t, h, "http://mock/v1/"+test.path, fmt.Sprintf(`{"max_tokens":3,%q: %s %s}`, test.field, test.prompt, test.more),
				"X-Session-ID", "s-1", "traceparent", "00-aa-bb-01")
			if status != 200 {
				t.Fatalf("%d %s", status, text)
			}
			r, sum := truths(t, h, "http://mock")[i], sha256.Sum256([]byte(test.prompt))
			if r.Session != "s-1" || r.Traceparent != "00-aa-bb-01" || r.PromptSHA256 != hex.EncodeToString(sum[:]) || r.PromptBytes != len(test.prompt) ||
				(r.Category == "chat") != (test.field != "prompt") || r.Aborted || r.Model != "m" {
				t.Errorf("%s %s: %+v", test.path, test.prompt, r)
			}
		}
	})
}

// A client that leaves is in the record with the tokens that were written, and in the counter.
func TestRecordOfAborted(t *testing.T) {
	for _, c := range []Config{{TTFT: 50 * time.Millisecond, ITL: 100 * time.Millisecond}, {StepBase: 100 * time.Millisecond}} {
		for path, body := range map[string]string{
			"completions": `{"prompt":"a","max_tokens":100,"ignore_eos":true,"stream":true}`, "responses": responsesBody, "messages": messagesBody,
		} {
			c.Model = "m"
			virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
				resp := post(t, h, "http://mock/v1/"+path, body)
				go io.Copy(io.Discard, resp.Body)
				time.Sleep(330 * time.Millisecond)
				resp.Body.Close()
				time.Sleep(time.Second)
				r := truths(t, h, "http://mock")[0]
				if !r.Aborted || r.Finish != "abort" || r.OutputTokens != 3 {
					t.Errorf("%s: %+v", path, r)
				}
				if text := get(t, h, "http://mock/metrics"); figure(t, text, "request_success_total", `"abort"`) != 1 || figure(t, text, "num_requests_running", "") != 0 {
					t.Error(text)
				}
			})
		}
	}
}
