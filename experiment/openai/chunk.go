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
	hasChoices   bool // there is at least one choice
	hasToken     bool // text, reasoning, a tool call or token ids
	idCount      int  // token ids listed; 0: not listed
	tokenIDs     []int32
	answerText   []byte // the answer's text without the reasoning, tool calls included; as it stands inside of a JSON string
	finishReason []byte // the finish reason
	id           []byte // the server's name for the request

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
		c.hasChoices = true
		c.addChoice(object(choice))
	}
	usage := object(m["usage"])
	c.prompt, c.hasPrompt = parseCount(usage["prompt_tokens"])
	c.output, c.hasOutput = parseCount(usage["completion_tokens"])
	c.cached, c.hasCached = parseCount(object(usage["prompt_tokens_details"])["cached_tokens"])
	return c, nil
}

func (c *chunk) addChoice(m map[string]any) {
	if reason := str(m["finish_reason"]); reason != "" {
		c.finishReason = []byte(reason)
	}
	for _, id := range list(m["token_ids"]) {
		c.idCount++
		if n, ok := parseCount(id); ok && n <= maxID {
			c.tokenIDs = append(c.tokenIDs, int32(n))
		}
	}
	c.hasToken = c.hasToken || c.idCount > 0 || str(m["text"]) != ""
	c.appendAnswer(jsonEscape(str(m["text"])))
	for _, name := range []string{"delta", "message"} {
		delta := object(m[name])
		for _, key := range []string{"content", "reasoning", "reasoning_content"} {
			c.hasToken = c.hasToken || str(delta[key]) != "" || len(list(delta[key])) > 0
		}
		c.appendAnswer(jsonEscape(str(delta["content"])))
		calls := []any{map[string]any{"function": delta["function_call"]}}
		for _, call := range append(calls, list(delta["tool_calls"])...) {
			function := object(object(call)["function"])
			c.hasToken = c.hasToken || str(function["name"]) != "" || str(function["arguments"]) != ""
			c.appendAnswer(jsonEscape(str(function["name"])))
			c.appendAnswer(jsonEscape(str(function["arguments"])))
		}
	}
}

// say adds a text to what is said; nearly always there is but one.
func (c *chunk) appendAnswer(text []byte) {
	switch {
	case len(text) == 0:
	case len(c.answerText) == 0:
		c.answerText = text
	default:
		c.answerText = slices.Concat(c.answerText, text)
	}
}

// inside is a text as it stands between the quotes of a JSON string.
func jsonEscape(text string) []byte {
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
func parseCount(v any) (int, bool) {
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
