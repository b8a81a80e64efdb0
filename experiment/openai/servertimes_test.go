package openai

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Servers report a request's times in the last chunk of a stream, with the finish reason or with the usage, or in an
// answer of one piece.
func TestServerTimes(t *testing.T) {
	const ms = float64(time.Millisecond)
	llama := `"timings":{"cache_n":3,"prompt_n":1,"prompt_ms":2.186,"prompt_per_second":457.4,"predicted_n":4,"predicted_ms":5.36}`
	vllm := `"metrics":{"time_to_first_token_ms":112.5,"generation_time_ms":387.5,"queue_time_ms":500.0,"mean_itl_ms":55.4,"tokens_per_second":16.0}`
	with := func(event, times string) string {
		return strings.Replace(event, `{`, `{`+times+`,`, 1)
	}
	for name, c := range map[string]struct {
		stream bool
		answer []string
		want   ServerTimes
	}{
		"llama.cpp, with the finish reason": {true, []string{token("a"), with(finish("length"), llama), doneEvent},
			ServerTimes{Prefill: time.Duration(2.186 * ms), Decode: time.Duration(5.36 * ms), HasPrefill: true, HasDecode: true}},
		"vLLM, with the usage": {true, []string{token("a"), finish("length"), with(usage(5, 1), vllm), doneEvent},
			ServerTimes{Queue: 500 * time.Millisecond, Prefill: time.Duration(112.5 * ms), Decode: time.Duration(387.5 * ms), HasQueue: true, HasPrefill: true, HasDecode: true}},
		"not reported": {true, []string{token("a"), finish("length"), usage(5, 1), doneEvent}, ServerTimes{}},
		"in one piece": {false, []string{`{"choices":[{"text":"a","finish_reason":"length"}],"timings":{"prompt_ms":2}}`},
			ServerTimes{Prefill: 2 * time.Millisecond, HasPrefill: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c1 := testClient(t, "test:80")
				defer c1.Close()
				body := strings.Join(c.answer, "")
				say := func(p *peer) { p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)) }
				if c.stream {
					say = stream(c.answer...)
				}
				pipes(c1, once(say))
				call := streamCall
				call.Stream = c.stream
				var r Result
				if c1.Do(t.Context(), &call, &r); r.Outcome != OK || r.Server != c.want {
					t.Errorf("%s %s: %+v, want %+v", r.Outcome, r.Error, r.Server, c.want)
				}
			})
		})
	}
}
