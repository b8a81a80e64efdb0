package mock

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Embeddings of every form of input, with tokens that are counted and vectors of the length that was asked for.
func TestEmbeddings(t *testing.T) {
	virtual(t, Config{Model: "m", StepBase: 10 * time.Millisecond, StepPerPrefillToken: time.Millisecond}, func(t *testing.T, s *Server, h *http.Client) {
		for i, test := range []struct {
			input   string
			vectors int
			tokens  int
		}{{`"a b c"`, 1, 3}, {`["a b","c"]`, 2, 3}, {`[5,6,7,8]`, 1, 4}, {`[[5,6],[7]]`, 2, 3}} {
			var floats, packed map[string]any
			_, text := fetch(t, h, "http://mock/v1/embeddings", fmt.Sprintf(`{"model":"m","input":%s,"dimensions":8}`, test.input))
			if err := json.Unmarshal([]byte(text), &floats); err != nil {
				t.Fatal(err, text)
			}
			_, text = fetch(t, h, "http://mock/v1/embeddings", fmt.Sprintf(`{"input":%s,"encoding_format":"base64","dimensions":8}`, test.input))
			if err := json.Unmarshal([]byte(text), &packed); err != nil {
				t.Fatal(err, text)
			}
			data, _ := floats["data"].([]any)
			if len(data) != test.vectors || at(floats, "usage", "prompt_tokens") != float64(test.tokens) || at(floats, "usage", "total_tokens") != float64(test.tokens) {
				t.Errorf("%s: %v", test.input, floats)
			}
			for k := range data {
				vector, _ := at(data, k, "embedding").([]any)
				word, _ := at(packed, "data", k, "embedding").(string)
				b, err := base64.StdEncoding.DecodeString(word)
				if err != nil || len(vector) != 8 || len(b) != 32 {
					t.Fatalf("%v: %v, %d bytes", err, vector, len(b))
				}
				length := 0.0
				for j, x := range vector {
					length += x.(float64) * x.(float64)
					if float32(x.(float64)) != math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:])) {
						t.Errorf("%g in base64: %x", x, b[4*j:4*j+4])
					}
				}
				if math.Abs(length-1) > 1e-6 {
					t.Errorf("a vector of length %g", length)
				}
			}
			r := truthsSince(t, h, "http://mock", 2*i)[0]
			// All inputs are in one step, unless another began while the second one was submitted.
			if took := time.Duration(r.WrittenNS[0] - r.ArrivalNS); r.API != "embeddings" || r.PromptTokens != test.tokens || r.OutputTokens != 0 || r.PromptBytes != len(test.input) ||
				took < time.Duration(10+test.tokens)*time.Millisecond || took > time.Duration(20+test.tokens)*time.Millisecond {
				t.Errorf("%s: %v, %+v", test.input, took, r)
			}
		}
		if n := figure(t, get(t, h, "http://mock/metrics"), "generation_tokens_total", ""); n != 0 {
			t.Errorf("%g tokens generated", n)
		}
	})
}

// A rerank sorts, cuts and counts.
func TestRerank(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for _, path := range []string{"/v1/rerank", "/rerank"} {
			var answer map[string]any
			_, text := fetch(t, h, "http://mock"+path, `{"model":"m","query":"a b","documents":["c d","e",{"text":"f g h"}],"top_n":2}`)
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err, text)
			}
			results, _ := answer["results"].([]any)
			first, _ := at(results, 0, "relevance_score").(float64)
			second, _ := at(results, 1, "relevance_score").(float64)
			if len(results) != 2 || first <= second || first >= 1 || second <= 0 || at(answer, "usage", "total_tokens") != 12. || at(results, 0, "document", "text") == nil {
				t.Errorf("%s", text)
			}
		}
		if r := truths(t, h, "http://mock")[0]; r.API != "rerank" || r.PromptTokens != 12 || r.PromptBytes != len(`"a b"["c d","e",{"text":"f g h"}]`) {
			t.Errorf("%+v", r)
		}
	})
}

func TestPoolingRefusalsAndFaults(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for body, want := range map[string]int{
			`{"input":"a","model":"n"}`: 404, `{"input":{}}`: 400, `{"input":[]}`: 400, `{"input":""}`: 400, `{}`: 400, `{"input":["a",7]}`: 400,
			`{"input":"a","dimensions":0}`: 400, `{"input":"a","encoding_format":"x"}`: 400, `{"input":"a"}`: 200,
		} {
			if status, text := fetch(t, h, "http://mock/v1/embeddings", body); status != want {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
		for _, body := range []string{`{"query":"a"}`, `{"query":"a","documents":[]}`, `{"documents":["a"]}`, `{"query":"a","documents":[7]}`} {
			if status, text := fetch(t, h, "http://mock/rerank", body); status != 400 {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
		for fault, want := range map[string]string{"status=503": "ServiceUnavailableError", "html200": "<!doctype", "cut-mid=3": `"data":[{"embedding"`, "no-usage": `"object":"list"`} {
			_, text := fetch(t, h, "http://mock/v1/embeddings", `{"input":"a"}`, "X-Mock-Fault", fault)
			if !strings.Contains(text, want) || json.Valid([]byte(text)) == (fault == "cut-mid=3" || fault == "html200") || fault == "no-usage" && strings.Contains(text, "usage") {
				t.Errorf("%s: %s", fault, text)
			}
		}
	})
}
