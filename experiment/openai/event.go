package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// chunk is what one event, or the document of an answer without streaming, says. Its byte slices may lie in the event.
type chunk struct {
	choices bool // there is at least one choice
	bears   bool // text, reasoning, a tool call or token ids
	ids     int  // token ids listed; 0: not listed
	listed  []int32
	said    []byte // the answer's text without the reasoning, tool calls included; as it stands inside of a JSON string
	finish  []byte // the finish reason
	id      []byte // the server's name for the request

	prompt, cached, output          int // usage
	hasPrompt, hasCached, hasOutput bool

	failed  bool   // an error object
	message string // what it says
}

var errNoObject = errors.New("not a JSON object")

// parse reads a chunk with encoding/json. It is the definition of what a chunk says; the walker is its fast form for
// the usual shapes. It errs on anything but one JSON object.
func parse(data []byte) (chunk, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var top any
	if err := dec.Decode(&top); err != nil {
		return chunk{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return chunk{}, errors.New("more than one JSON value")
	}
	m, ok := top.(map[string]any)
	if !ok {
		return chunk{}, errNoObject
	}
	if m["error"] != nil || m["object"] == "error" {
		return chunk{failed: true, message: errorMessage(m)}, nil
	}
	c := chunk{id: []byte(str(m["id"]))}
	for _, choice := range list(m["choices"]) {
		c.choices = true
		c.choice(object(choice))
	}
	usage := object(m["usage"])
	c.prompt, c.hasPrompt = count(usage["prompt_tokens"])
	c.output, c.hasOutput = count(usage["completion_tokens"])
	c.cached, c.hasCached = count(object(usage["prompt_tokens_details"])["cached_tokens"])
	return c, nil
}

func (c *chunk) choice(m map[string]any) {
	if reason := str(m["finish_reason"]); reason != "" {
		c.finish = []byte(reason)
	}
	for _, id := range list(m["token_ids"]) {
		c.ids++
		if n, ok := count(id); ok && n <= maxID {
			c.listed = append(c.listed, int32(n))
		}
	}
	c.bears = c.bears || c.ids > 0 || str(m["text"]) != ""
	c.say(inside(str(m["text"])))
	for _, name := range []string{"delta", "message"} {
		delta := object(m[name])
		for _, key := range []string{"content", "reasoning", "reasoning_content"} {
			c.bears = c.bears || str(delta[key]) != "" || len(list(delta[key])) > 0
		}
		c.say(inside(str(delta["content"])))
		calls := []any{map[string]any{"function": delta["function_call"]}}
		for _, call := range append(calls, list(delta["tool_calls"])...) {
			function := object(object(call)["function"])
			c.bears = c.bears || str(function["name"]) != "" || str(function["arguments"]) != ""
			c.say(inside(str(function["name"])))
			c.say(inside(str(function["arguments"])))
		}
	}
}

// say adds a text to what is said; nearly always there is but one.
func (c *chunk) say(text []byte) {
	switch {
	case len(text) == 0:
	case len(c.said) == 0:
		c.said = text
	default:
		c.said = slices.Concat(c.said, text)
	}
}

// inside is a text as it stands between the quotes of a JSON string.
func inside(text string) []byte {
	if text == "" {
		return nil
	}
	quoted := appendString(nil, text)
	return quoted[1 : len(quoted)-1]
}

func str(v any) string            { s, _ := v.(string); return s }
func list(v any) []any            { l, _ := v.([]any); return l }
func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

const (
	maxCount = 1e15          // of tokens that is believed
	maxID    = math.MaxInt32 // of a token
)

// count reads a number of tokens; 12.0 is one, a fraction or a negative number is not.
func count(v any) (int, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	if err != nil || f < 0 || f >= maxCount || f != float64(int(f)) {
		return 0, false
	}
	return int(f), true
}

// errorMessage finds the text in the error shapes of vLLM, SGLang, TGI, llama.cpp, OpenAI and FastAPI: {"error": {…}},
// {"error": "…"}, {"object": "error", "message": …}, {"detail": …}, and in what else a server may say.
func errorMessage(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		for _, key := range []string{"error", "message", "msg", "detail"} {
			if text := errorMessage(v[key]); text != "" {
				return text
			}
		}
	case []any:
		var texts []string
		for _, item := range v {
			if text := errorMessage(item); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "; ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// bodyMessage is what the body of an HTTP error says: its JSON's message, else its text as it is.
func bodyMessage(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) == nil && object(v) != nil {
		return errorMessage(v)
	}
	return string(body)
}
