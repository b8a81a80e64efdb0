package mock

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestFaults(t *testing.T) {
	const body = `{"prompt":"a","max_tokens":6,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`
	const chatBody = `{"messages":[{"role":"user","content":"a"}],"max_tokens":6,"ignore_eos":true,"stream":true}`
	events := func(n int) func(string) bool {
		return func(text string) bool { return strings.Count(text, `data: {"id"`) == n }
	}
	tests := []struct {
		fault, path, body string
		status            int
		holds             func(text string) bool
	}{
		{"none-asked", "", body, 400, func(s string) bool { return strings.Contains(s, "no fault is called") }},
		{"status=503", "", body, 503, func(s string) bool { return strings.Contains(s, "ServiceUnavailableError") }},
		{"html200", "", body, 200, func(s string) bool { return strings.HasPrefix(s, "<!doctype html>") }},
		{"garbage", "", body, 200, func(s string) bool { return !utf8.ValidString(s) }},
		{"cut-mid=3", "", body, 200, func(s string) bool { return events(3)(s) && !strings.Contains(s, "[DONE]") }},
		{"error-in-stream=3", "", body, 200, func(s string) bool { return events(3)(s) && strings.Contains(s, `data: {"error":{"code":500`) }},
		{"error-in-stream=7", "", body, 200, func(s string) bool { return events(7)(s) && !strings.Contains(s, `error`) }},
		{"no-done", "", body, 200, func(s string) bool { return events(7)(s) && !strings.Contains(s, "[DONE]") }},
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
			return strings.Count(s, `"function":{"arguments":" w`) == 6 && strings.Contains(s, `"name":"look"`) && strings.Contains(s, `"finish_reason":"tool_calls"`)
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
		for fault, want := range map[string]string{"role-reasoning": `"reasoning_content":" w`, "tool-calls": `"arguments":" w`, "short=2": `"completion_tokens":2`} {
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

// Only a real connection has resets.
func TestFaultsOfConnection(t *testing.T) {
	url := real(t, Config{TTFT: 1, ITL: time.Millisecond, Faults: []string{"reset-before@2"}, AllowFaults: true})
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

func TestFaultsNeedLeave(t *testing.T) {
	virtual(t, Config{TTFT: 1}, func(t *testing.T, s *Server, h *http.Client) {
		if status, text := fetch(t, h, "http://mock/v1/completions", idBody(1, 4, 4), "X-Mock-Fault", "status=500"); status != 200 {
			t.Errorf("%d %s", status, text)
		}
	})
}

func FuzzParseFault(f *testing.F) {
	f.Add("status=500@10")
	f.Add("slow-headers=1s")
	f.Add("=@")
	f.Fuzz(func(t *testing.T, text string) {
		if rule, err := parseFault(text); err == nil {
			f := noFaults()
			rule.apply(&f)
		}
	})
}
