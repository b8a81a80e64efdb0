package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func adapted() Config {
	return Config{Model: "base", ServedModels: []string{"base", "sql-lora", "chat-lora"}, Adapters: map[string]float64{"sql-lora": 1.5}}
}

// The adapters are listed with their parent; other names do not exist.
func TestModels(t *testing.T) {
	virtual(t, adapted(), func(t *testing.T, s *Server, h *http.Client) {
		var list map[string]any
		if err := json.Unmarshal([]byte(get(t, h, "http://mock/v1/models")), &list); err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			id     string
			parent any
		}{{"base", nil}, {"sql-lora", "base"}, {"chat-lora", "base"}, {}} {
			card := at(list, "data", i)
			if id, _ := at(card, "id").(string); id != want.id || at(card, "parent") != want.parent {
				t.Errorf("model %d: %v", i, card)
			}
		}
		for model, want := range map[string]int{"base": 200, "sql-lora": 200, "": 200, "other": 404} {
			status, text := fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"a","max_tokens":1}`, model))
			var answer struct{ Model string }
			if err := json.Unmarshal([]byte(text), &answer); err != nil || status != want {
				t.Errorf("%s: %d %s", model, status, text)
			}
			if model != "" && want == 200 && answer.Model != model {
				t.Errorf("%s answered as %s", model, answer.Model)
			}
		}
	})
}

// An adapter's factor is in its own times when they are fixed, and in the time of each step that has it.
func TestAdapterFactor(t *testing.T) {
	fixed, stepped := adapted(), adapted()
	fixed.TTFT, fixed.ITL = 50*time.Millisecond, 10*time.Millisecond
	stepped.StepBase = 10 * time.Millisecond
	for model, want := range map[string]time.Duration{"base": 10 * time.Millisecond, "chat-lora": 10 * time.Millisecond, "sql-lora": 15 * time.Millisecond} {
		for _, c := range []Config{fixed, stepped} {
			virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
				fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"a","max_tokens":3,"ignore_eos":true,"stream":true}`, model))
				r := truths(t, h, "http://mock")[0]
				if gap := time.Duration(r.DueNS[2] - r.DueNS[1]); gap != want || r.Model != model {
					t.Errorf("%s: %v between tokens, want %v", r.Model, gap, want)
				}
			})
		}
	}
}

// The cache keeps the adapters' blocks apart, and /metrics names those with requests.
func TestAdapterCache(t *testing.T) {
	virtual(t, adapted(), func(t *testing.T, s *Server, h *http.Client) {
		prompt := strings.Repeat("word ", 40)
		for i, test := range []struct {
			model  string
			cached int
		}{{"base", 0}, {"sql-lora", 0}, {"sql-lora", 32}, {"base", 32}, {"chat-lora", 0}} {
			fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":%q,"max_tokens":1}`, test.model, prompt))
			if r := truths(t, h, "http://mock")[i]; r.CachedTokens != test.cached {
				t.Errorf("request %d to %s: %d cached tokens, want %d", i, r.Model, r.CachedTokens, test.cached)
			}
		}
		resp := post(t, h, "http://mock/v1/completions", `{"model":"sql-lora","prompt":"a","max_tokens":100000,"ignore_eos":true,"stream":true}`)
		time.Sleep(time.Second)
		if text := get(t, h, "http://mock/metrics"); !strings.Contains(text, `vllm:lora_requests_info{max_lora="2",running_lora_adapters="sql-lora",waiting_lora_adapters=""} 9`) {
			t.Error(text)
		}
		resp.Body.Close()
		time.Sleep(time.Second)
		if text := get(t, h, "http://mock/metrics"); !strings.Contains(text, `running_lora_adapters="",`) || figure(t, text, "request_success_total", `"abort"`) != 1 {
			t.Error(text)
		}
	})
}
