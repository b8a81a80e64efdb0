package mock

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Planted reasoning: its length, its field, its usage, and the true time of the first answer token.
func TestReasoning(t *testing.T) {
	c := Config{TTFT: 50 * time.Millisecond, ITL: 10 * time.Millisecond, Model: "m", ReasoningTokens: 4}
	const chatBody = `{"messages":[{"role":"user","content":"%s"}],"max_tokens":10,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}%s}`
	for _, test := range []struct {
		path, prompt, more string
		want               int
	}{
		{"chat/completions", "one", "", 4},
		{"chat/completions", "one", `,"chat_template_kwargs":{"enable_thinking":false}`, 0},
		{"chat/completions", "one", `,"chat_template_kwargs":{"enable_thinking":true}`, 4},
		{"chat/completions", "one", `,"reasoning_effort":"none"`, 0},
		{"chat/completions", "one", `,"max_completion_tokens":3`, 3},
		{"messages", "one", "", 4},
		{"messages", "one", `,"thinking":{"type":"disabled"}`, 0},
		{"responses", "one", "", 4},
		{"responses", "one", `,"reasoning":{"effort":"none"}`, 0},
	} {
		virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
			body := fmt.Sprintf(chatBody, test.prompt, test.more)
			if test.path == "responses" {
				body = strings.NewReplacer("messages", "input", "max_tokens", "max_output_tokens").Replace(body)
			}
			_, text := fetch(t, h, "http://mock/v1/"+test.path, body)
			all := events(t, text)
			var reasoned int
			used := any(nil)
			switch test.path {
			case "responses":
				_, reasoned = deltas(all, "response.reasoning_text.delta", "delta")
				used = at(all[len(all)-1].data, "response", "usage", "output_tokens_details", "reasoning_tokens")
			case "messages":
				_, reasoned = deltas(all, "content_block_delta", "delta", "thinking")
				used = float64(test.want) // Anthropic reports none
			default:
				_, reasoned = deltas(all, "", "choices", 0, "delta", "reasoning_content")
				used = at(all[len(all)-1].data, "usage", "completion_tokens_details", "reasoning_tokens")
			}
			r := truths(t, h, "http://mock")[0]
			if reasoned != test.want || used != float64(test.want) || r.ReasoningTokens != test.want {
				t.Errorf("%s %q %s: %d events of reasoning, usage %v, truth %d, want %d", test.path, test.prompt, test.more, reasoned, used, r.ReasoningTokens, test.want)
			}
			first := r.ArrivalNS + int64(c.TTFT) + int64(test.want)*int64(c.ITL)
			if test.want == 3 { // no token is left for the answer
				first = 0
			}
			if r.FirstAnswerDueNS != first || r.FirstAnswerWrittenNS != first {
				t.Errorf("%s %q %s: first answer token due %d, written %d, want %d", test.path, test.prompt, test.more, r.FirstAnswerDueNS, r.FirstAnswerWrittenNS, first)
			}
		})
	}
}

// Natural ends come after the reasoning.
func TestReasoningThenEOS(t *testing.T) {
	c := quick()
	c.ReasoningTokens, c.NaturalOutput = 100, 20
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		for i := range 50 {
			fetch(t, h, "http://mock/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"number n%d"}],"max_tokens":1000}`, i))
		}
		for _, r := range truths(t, h, "http://mock") {
			if r.ReasoningTokens != 100 || r.OutputTokens <= 100 || r.Finish != "stop" {
				t.Errorf("%d of %d tokens are reasoning, %s", r.ReasoningTokens, r.OutputTokens, r.Finish)
			}
		}
	})
}
