package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var schemas = []string{
	`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["C","F"]}},"required":["city","unit"],"additionalProperties":false}`,
	`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},"sights":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":5}},"required":["city","days","sights"],"additionalProperties":false}`,
	`{"type":"object","required":["city"]}`,
	`{"type":"object"}`,
}

// A schema that nothing is known of gets an empty object, and the truth that it does not fit.
func TestUnknownSchema(t *testing.T) {
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		_, text := fetch(t, h, "http://mock/v1/completions", `{"prompt":"n","max_tokens":40,"guided_json":{"type":"object","required":["x"]}}`)
		r := truths(t, h, "http://mock")[0]
		if answer := said(t, "completions", text); answer != "{ }" || r.Valid == nil || *r.Valid {
			t.Errorf("%s: %+v", answer, r)
		}
	})
}

func validator(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("schema.json")
}

func valid(s *jsonschema.Schema, text string) bool {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	return err == nil && s.Validate(v) == nil
}

// said is the content of an answer of an API, or the arguments of its tool call.
func said(t *testing.T, path, text string) string {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, way := range [][]any{
		{"choices", 0, "text"}, {"choices", 0, "message", "content"}, {"choices", 0, "message", "tool_calls", 0, "function", "arguments"},
		{"output", 0, "content", 0, "text"}, {"output", 0, "arguments"}, {"content", 0, "text"}, {"content", 0, "input"},
	} {
		switch v := at(whole, way...).(type) {
		case string:
			return v
		case map[string]any:
			return string(marshal(v))
		}
	}
	t.Fatal(path, text)
	return ""
}

// Each API's way to ask for a schema, as a format and as a tool.
func TestStructuredAnswers(t *testing.T) {
	forms := []struct{ path, body string }{
		{"completions", `{"prompt":"n%d","max_tokens":400,"guided_json":%s}`},
		{"completions", `{"prompt":"n%d","max_tokens":400,"structured_outputs":{"json":%s}}`},
		{"chat/completions", `{"messages":[{"role":"user","content":"n%d"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":%s}}}`},
		{"responses", `{"input":"n%d","text":{"format":{"type":"json_schema","name":"a","schema":%s}}}`},
		{"messages", `{"messages":[{"role":"user","content":"n%d"}],"max_tokens":400,"output_config":{"format":{"type":"json_schema","schema":%s}}}`},
		{"chat/completions", `{"messages":[{"role":"user","content":"n%d"}],"tools":[{"type":"function","function":{"name":"f","parameters":%s}}],"tool_choice":"required"}`},
		{"responses", `{"input":"n%d","tools":[{"type":"function","name":"f","parameters":%s}],"tool_choice":"required"}`},
		{"messages", `{"messages":[{"role":"user","content":"n%d"}],"max_tokens":400,"tools":[{"name":"f","input_schema":%s}],"tool_choice":{"type":"any"}}`},
	}
	c := quick()
	c.ValidAnswers = new(0.5)
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		records, fitting := 0, 0
		for i, schema := range schemas {
			checker := validator(t, schema)
			for n, form := range forms {
				if strings.Contains(form.body, `"tools"`) && !strings.HasPrefix(schema, `{"type":"object","properties"`) {
					continue
				}
				for k := range 8 {
					_, text := fetch(t, h, "http://mock/v1/"+form.path, fmt.Sprintf(form.body, 100*i+10*n+k, schema))
					r := truthsSince(t, h, "http://mock", records)[0]
					records++
					answer := said(t, form.path, text)
					if r.Valid == nil || *r.Valid != valid(checker, answer) || r.Correct != nil {
						t.Fatalf("%s\n%s\ntruth %v: %s", form.path, schema, r.Valid, answer)
					}
					if *r.Valid {
						fitting++
					}
				}
			}
		}
		if share := float64(fitting) / float64(records); share < 0.42 || share > 0.58 { // 3.6 standard deviations
			t.Errorf("%d of %d answers fit", fitting, records)
		}
	})
}

// A stream has the same text; ignore_eos fills a string up to the length that was asked for; a limit cuts.
func TestStructuredLengths(t *testing.T) {
	schema := schemas[0]
	checker := validator(t, schema)
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for _, test := range []struct {
			more   string
			tokens int
			finish string
		}{{`"ignore_eos":true,"max_tokens":50`, 50, "length"}, {`"max_tokens":50`, 6, "stop"}, {`"max_tokens":4`, 4, "length"}, {`"max_tokens":60,"min_tokens":30`, 30, "stop"}} {
			body := fmt.Sprintf(`{"messages":[{"role":"user","content":"a"}],"guided_json":%s,%s,"stream":true}`, schema, test.more)
			_, text := fetch(t, h, "http://mock/v1/chat/completions", body)
			streamed, n := deltas(events(t, text), "", "choices", 0, "delta", "content")
			_, text = fetch(t, h, "http://mock/v1/chat/completions", strings.Replace(body, `"stream":true`, `"stream":false`, 1))
			all := truths(t, h, "http://mock")
			r, answer := all[len(all)-1], said(t, "chat", text)
			if answer != streamed || n != test.tokens+1 || r.OutputTokens != test.tokens || r.Finish != test.finish || len(strings.Fields(answer)) != test.tokens ||
				*r.Valid != (test.tokens > 4) || *r.Valid != valid(checker, answer) {
				t.Errorf("%s: %d events, %+v\n%s\n%s", test.more, n, r, answer, streamed)
			}
		}
	})
}

// What was answered by a schema hits the cache when it is sent back.
func TestStructuredAnswerHits(t *testing.T) {
	virtual(t, Config{Model: "m"}, func(t *testing.T, s *Server, h *http.Client) {
		_, text := fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(`{"prompt":"a b","max_tokens":62,"ignore_eos":true,"guided_json":%s}`, schemas[0]))
		fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(`{"prompt":%s,"max_tokens":1}`, marshal("a b "+said(t, "completions", text)+" more")))
		if r := truths(t, h, "http://mock")[1]; r.PromptTokens != 65 || r.CachedTokens != 48 {
			t.Errorf("%d of %d tokens hit", r.CachedTokens, r.PromptTokens)
		}
	})
}

// Known questions get the sum, but for a planted share.
func TestKnownQuestions(t *testing.T) {
	c := quick()
	c.CorrectAnswers = new(0.8)
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		right := 0
		for i := range 200 {
			_, text := fetch(t, h, "http://mock/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"Answer with a number.\nWhat is %d + 7?\n"}]}`, i))
			r := truthsSince(t, h, "http://mock", i)[0]
			answer, err := strconv.Atoi(said(t, "chat", text))
			if err != nil || r.Correct == nil || *r.Correct != (answer == i+7) || r.OutputTokens != 1 || r.Finish != "stop" {
				t.Fatalf("%v: %s\n%+v", err, text, r)
			}
			if *r.Correct {
				right++
			}
		}
		if right < 140 || right > 180 { // 3.5 standard deviations
			t.Errorf("%d of 200 answers are right, want about 160", right)
		}
	})
}

// Whatever the schema, a right answer is JSON and the number of words is what was asked for, or what it needs.
func FuzzSchema(f *testing.F) {
	for _, schema := range schemas {
		f.Add(schema)
	}
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`)
	f.Add(`{"type":"array","minItems":1e300,"items":{"$ref":"#"}}`)
	s, err := New(quick())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		schema := readSchema(json.RawMessage(text))
		if schema == nil {
			return
		}
		script := s.structured(schema, newSeq(0, 1000, []int32{1}, 0))
		if words := script.words(0); !json.Valid([]byte(strings.Join(words, " "))) {
			t.Errorf("%s: %v", text, words)
		}
	})
}
