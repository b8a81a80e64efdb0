package mock

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestFaults(t *testing.T) {
	const body = `{"prompt":"a","max_tokens":6,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`
	const withIDs = `{"prompt":"a","max_tokens":6,"ignore_eos":true,"stream":true,"return_token_ids":true}`
	const chatBody = `{"messages":[{"role":"user","content":"a"}],"max_tokens":6,"ignore_eos":true,"stream":true}`
	events := func(n int) func(string) bool {
		return func(text string) bool { return strings.Count(text, `data: {"id"`) == n }
	}
	tests := []struct {
		fault, path, body string
		status            int
		holds             func(text string) bool
	}{
		{"none-asked", "", body, 400, func(s string) bool { return strings.Contains(s, "unknown fault") }},
		{"status=503", "", body, 503, func(s string) bool { return strings.Contains(s, "ServiceUnavailableError") }},
		{"html200", "", body, 200, func(s string) bool { return strings.HasPrefix(s, "<!doctype html>") }},
		{"garbage", "", body, 200, func(s string) bool { return !utf8.ValidString(s) }},
		{"cut-mid=3", "", body, 200, func(s string) bool { return events(3)(s) && !strings.Contains(s, "[DONE]") }},
		{"error-in-stream=3", "", body, 200, func(s string) bool { return events(3)(s) && strings.Contains(s, `data: {"error":{"code":500`) }},
		{"garbage-mid=3", "", body, 200, func(s string) bool { return events(4)(s) && !utf8.ValidString(s) && !strings.Contains(s, "[DONE]") }},
		{"pause=3:1ms", "", body, 200, events(7)},
		{"pause=0:1ms,multi=4", "", body, 200, events(3)},
		{"pause=6:1ms", "", body, 200, events(7)},
		{"pause=7:1h", "", body, 200, events(7)},
		{"error-in-stream=7", "", body, 200, func(s string) bool { return events(7)(s) && !strings.Contains(s, `error`) }},
		{"no-done", "", body, 200, func(s string) bool { return events(7)(s) && !strings.Contains(s, "[DONE]") }},
		{"no-prompt-tokens-details", "", body, 200, func(s string) bool {
			return events(7)(s) && strings.Contains(s, `"completion_tokens":6,`) && !strings.Contains(s, "details")
		}},
		{"wrong-usage=2000000000:7", "", body, 200, func(s string) bool {
			return events(7)(s) && strings.Contains(s, `"completion_tokens":2000000000,"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":7}`)
		}},
		{"no-text=all", "", body, 200, func(s string) bool { return events(7)(s) && strings.Count(s, `"text":""`) == 6 }},
		{"no-text=first", "", body, 200, func(s string) bool { return events(7)(s) && strings.Count(s, `"text":""`) == 1 }},
		{"no-token-ids", "", withIDs, 200, func(s string) bool { return events(6)(s) && !strings.Contains(s, "token_ids") }},
		{"", "", withIDs, 200, func(s string) bool {
			return events(6)(s) && strings.Count(s, `"token_ids":[`) == 6 && strings.Count(s, `"prompt_token_ids":[`) == 1
		}},
		{"no-usage", "", body, 200, func(s string) bool { return events(6)(s) && !strings.Contains(s, "usage") }},
		{"multi=4", "", body, 200, func(s string) bool { return events(3)(s) && len(strings.Split(s, " w")) == 7 }},
		{"crlf", "", body, 200, func(s string) bool { return strings.Count(s, "\r\n\r\n") == 8 && strings.Count(s, "\n") == 16 }},
		{"comments", "", body, 200, func(s string) bool { return strings.Count(s, ": ping\n\n") == 6 }},
		{"empty-events,comments", "", body, 200, func(s string) bool {
			return strings.Count(s, `"text":""`) == 6 && strings.Count(s, "data:\n\n") == 6 && strings.Contains(s, ": ping")
		}},
		{"short=2", "", body, 200, func(s string) bool { return events(3)(s) && strings.Contains(s, `"finish_reason":"stop"`) }},
		{"split-utf8", "", body, 200, func(s string) bool { return strings.Count(s, "é w") == 6 && utf8.ValidString(s) }},
		{"role-early", "chat/", chatBody, 200, events(7)},
		{"role-reasoning", "chat/", chatBody, 200, func(s string) bool {
			return strings.Count(s, `"delta":{"reasoning_content":" w`) == 3 && strings.Count(s, `"delta":{"content":" w`) == 3
		}},
		{"tool-calls", "chat/", chatBody, 200, func(s string) bool {
			return strings.Count(s, `"function":{"arguments":" w`) == 4 && strings.Count(s, "data: ") == 8 && strings.Contains(s, `{"arguments":"{\"words\":\" w`) && strings.Contains(s, `\"}"}}]}`) &&
				strings.Contains(s, `"name":"look"`) && strings.Contains(s, `"finish_reason":"tool_calls"`)
		}},
	}
	check := func(t *testing.T, h *http.Client, url string) {
		for _, test := range tests {
			status, text := fetch(t, h, url+"/v1/"+test.path+"completions", test.body, "X-Mock-Fault", test.fault)
			if status != test.status || !test.holds(text) {
				t.Errorf("%s: %d\n%s", test.fault, status, text)
			}
		}
		// In one piece.
		for fault, want := range map[string]string{"role-reasoning": `"reasoning_content":" w`, "tool-calls": `"arguments":"{\"words\":\" w`, "short=2": `"completion_tokens":2`} {
			if _, text := fetch(t, h, url+"/v1/chat/completions", strings.Replace(chatBody, `"stream":true`, `"stream":false`, 1), "X-Mock-Fault", fault); !strings.Contains(text, want) {
				t.Errorf("%s: %s", fault, text)
			}
		}
	}
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) { check(t, h, "http://mock") })
	// Over TCP the pacer writes, with some time before each token so that it is there to do so.
	c := quick()
	c.TTFT, c.ITL = time.Millisecond, 100*time.Microsecond
	h := &http.Client{Transport: &http.Transport{}}
	defer h.CloseIdleConnections()
	check(t, h, real(t, c))
}

func TestFaultsInTime(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		start := time.Now()
		resp := post(t, h, "http://mock/v1/completions", idBody(1, 4, 4), "X-Mock-Fault", "slow-headers=3s")
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("headers after %v", took)
		}
		resp.Body.Close()
		h.Timeout = time.Minute
		resp = post(t, h, "http://mock/v1/completions", idBody(1, 4, 4), "X-Mock-Fault", "stall=2")
		start = time.Now()
		text, err := io.ReadAll(resp.Body)
		if err == nil || strings.Count(string(text), "data:") != 2 || time.Since(start) != time.Minute {
			t.Errorf("stalled: %v after %v: %s", err, time.Since(start), text)
		}
	})
}

// A pause holds back the tokens after it, of which all come at once then.
func TestPause(t *testing.T) {
	c := quick()
	c.ITL = 10 * time.Millisecond
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		fetch(t, h, "http://mock/v1/completions", idBody(1, 4, 6), "X-Mock-Fault", "pause=3:1s")
		r := truths(t, h, "http://mock")[0]
		for i, due := range r.DueNS {
			want := due
			if i >= 3 {
				want = r.DueNS[2] + int64(time.Second)
			}
			if r.WrittenNS[i] != want {
				t.Errorf("token %d was due at %d and written at %d, want %d", i, due, r.WrittenNS[i], want)
			}
		}
	})
}

// A share of the requests, the same ones for the same seed.
func TestFaultsByShare(t *testing.T) {
	hit := func(seed uint64) (all []bool) {
		s, err := New(Config{Seed: seed, Faults: []string{"status=500@25%", "no-done@1"}})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequest("POST", "/", nil)
		for n := range 2000 {
			f, err := s.faultsOf(r, uint64(n+1))
			if err != nil || !f.has("no-done") {
				t.Fatal(f, err)
			}
			all = append(all, f.has("status"))
		}
		return all
	}
	one, again, other := hit(1), hit(1), hit(2)
	count := 0
	for _, h := range one {
		if h {
			count++
		}
	}
	if count < 430 || count > 570 { // 3.6 standard deviations
		t.Errorf("%d of 2000 failed, want about 500", count)
	}
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Error("the seed does not say which")
	}
	for _, wrong := range []string{"no-done@0%", "no-done@101%", "no-done@x%", "no-done@%", "no-done@NaN%", "pause=3", "pause=x:1s", "pause=3:-1s"} {
		if _, err := parseFault(wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

// What a chat request asks for: a tool call where it is forced, and reasoning where the template thinks.
func TestToolsAndThinking(t *testing.T) {
	const head = `{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"ignore_eos":true,"stream":true,`
	const tools = `"tools":[{"type":"function","function":{"name":"one","parameters":{}}},{"type":"function","function":{"name":"two"}}]`
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for body, want := range map[string]string{
			tools + `,"tool_choice":"required"`:                                    `"name":"one"`,
			tools + `,"tool_choice":{"type":"function","function":{"name":"two"}}`: `"name":"two"`,
			tools + `,"tool_choice":"auto"`:                                        `"delta":{"content":" w`,
			tools:                                                                  `"delta":{"content":" w`,
			`"tool_choice":"required"`:                                             `"delta":{"content":" w`,
			`"chat_template_kwargs":{"enable_thinking":true}`:                      `"delta":{"reasoning_content":" w`,
			`"chat_template_kwargs":{"enable_thinking":false}`:                     `"delta":{"content":" w`,
		} {
			status, text := fetch(t, h, "http://mock/v1/chat/completions", head+body+"}")
			called := strings.Contains(text, `"tool_calls"`)
			if status != 200 || !strings.Contains(text, want) || called != strings.Contains(want, "name") {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
	})
}

// Only a real connection has resets.
func TestFaultsOfConnection(t *testing.T) {
	url := real(t, Config{TTFT: 1, ITL: time.Millisecond, Faults: []string{"reset-before@2"}})
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	read := func(fault string) (string, error) {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/completions", strings.NewReader(idBody(1, 4, 500)))
		req.Header.Set("X-Mock-Fault", fault)
		resp, err := h.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	if _, err := read("reset-mid=3"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset-mid: %v", err)
	}
	if _, err := read(""); err == nil {
		t.Error("the second request was to be reset")
	}
	if text, err := read("fin-mid=3"); !errors.Is(err, io.ErrUnexpectedEOF) || strings.Count(text, "data:") != 3 {
		t.Errorf("fin-mid: %v: %s", err, text)
	}
}

func FuzzParseFault(f *testing.F) {
	f.Add("status=500@10")
	f.Add("slow-headers=1s")
	f.Add("=@")
	f.Fuzz(func(t *testing.T, text string) {
		if rule, err := parseFault(text); err == nil && faultKinds[rule.kind] == nil {
			t.Errorf("%q is of kind %q", text, rule.kind)
		}
	})
}
