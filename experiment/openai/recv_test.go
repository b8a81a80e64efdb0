package openai

import (
	"io"
	"testing"

	sdk "github.com/sashabaranov/go-openai"

	"bench/experiment/target"
)

// TestAgainstRecv: for a stream without traps, go-openai's typed reader finds the same tokens, finish reason
// and usage.
func TestAgainstRecv(t *testing.T) {
	said := []string{
		`data: {"id":"chat-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n",
		`data: {"id":"chat-1","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}` + "\r\n\r\n",
		`data: {"id":"chat-1","choices":[{"index":0,"delta":{"content":"日本\n\"語\""}}]}` + "\n\n",
		`data: {"id":"chat-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n",
		`data: {"id":"chat-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n",
		`data: {"id":"chat-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n",
		doneEvent,
	}
	addr := listen(t, answer(stream(said...)))
	c := testClient(t, addr, func(o *Options) { o.API = target.Chat })
	var r Result
	c.Do(t.Context(), &streamCall, &r)

	config := sdk.DefaultConfig(testKey)
	config.BaseURL = "http://" + addr + "/v1"
	st, err := sdk.NewClientWithConfig(config).CreateChatCompletionStream(t.Context(), sdk.ChatCompletionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	events, reason, id, used := 0, "", "", sdk.Usage{PromptTokensDetails: &sdk.PromptTokensDetails{}}
	for {
		chunk, err := st.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		id = chunk.ID
		for _, choice := range chunk.Choices {
			if d := choice.Delta; d.Content != "" || d.ReasoningContent != "" || len(d.ToolCalls) > 0 {
				events++
			}
			reason = string(choice.FinishReason)
		}
		if chunk.Usage != nil {
			used = *chunk.Usage
		}
	}
	if r.Outcome != OK || r.Events != events || r.Finish != reason || r.ServerID != id || r.PromptTokens != used.PromptTokens ||
		r.OutputTokens != used.CompletionTokens || r.CachedTokens != used.PromptTokensDetails.CachedTokens || r.CachedTokens != 4 {
		t.Errorf("ours %+v\ntheirs %d %q %q %+v", r, events, reason, id, used)
	}
}
