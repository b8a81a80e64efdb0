package sweep

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Lines in Anthropic's form arrive byte for byte at the Messages API: system, tools and blocks as they stand in the file.
func TestAnthropicPromptsArrive(t *testing.T) {
	const (
		system   = `[ {"type":"text", "text":"CANARY \u00e9 <b>","cache_control":{"type":"ephemeral"}} ]`
		tools    = `[{"name":"look", "description":"…","input_schema":{ "type":"object","properties":{"q":{"type":"string"}}}}]`
		choice   = `{ "type":"auto" }`
		messages = `[{"role":"user", "content":[{"type":"text","text":"\ud83d\ude00 a"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{"q": "x"}}]},` +
			` {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"found"}]}]`
	)
	var mu sync.Mutex
	bodies := map[string]int{}
	base := intercepted(t, func(_ http.ResponseWriter, body []byte) bool {
		if strings.Contains(string(body), "CANARY") {
			mu.Lock()
			defer mu.Unlock()
			bodies[string(body)]++
		}
		return false
	})
	file := promptFile(t,
		fmt.Sprintf(`{"system":%s,"tools":%s,"tool_choice":%s,"messages":%s,"max_tokens":3}`, system, tools, choice, messages),
		`{"system":"CANARY two","prompt":"b","max_tokens":3}`)
	matrix := fmt.Sprintf(`name = "anthropic"
[target]
api = "messages"
model = "bench-mock"
[[row]]
name = "a"
concurrency = 1
requests = 2
prompts = { file = %q }
`, file)
	result := complete(t, base, matrix, Options{Out: filepath.Join(t.TempDir(), "out")})
	if result.AllFailed != nil {
		t.Errorf("failed: %v", result.AllFailed)
	}
	const head = `{"model":"bench-mock","stream":true,"temperature":0,"system":`
	for _, want := range []string{
		head + system + `,"tool_choice":` + choice + `,"tools":` + tools + `,"max_tokens":3,"messages":` + messages + `}`,
		head + `"CANARY two","max_tokens":3,"messages":[{"role":"user","content":"b"}]}`,
	} {
		if bodies[want] != 1 {
			t.Errorf("not sent once: %s\nsent: %v", want, bodies)
		}
		delete(bodies, want)
	}
	if len(bodies) > 0 {
		t.Errorf("also sent: %v", bodies)
	}
	m := mustParse(t, strings.Replace(matrix, `"messages"`, `"chat"`, 1))
	if err := m.CheckPrompts(); err == nil || !strings.Contains(err.Error(), file+":1: tools in Anthropic's form, which the API chat does not take\nhint: ") {
		t.Errorf("for another API: %v", err)
	}
}
