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

// chunk is the content of one event, or of an answer in one piece. Its byte slices may point into the event.
type chunk struct {
	hasChoices   bool // at least one
	hasToken     bool // text, reasoning, a tool call or token ids
	hasRole      bool // a role in a delta: without a token, the event only opens the answer
	idCount      int  // length of the list of token ids; 0: no list
	tokenIDs     []int32
	answerText   []byte // content and tool calls without reasoning, escaped as inside a JSON string
	ownsAnswer   bool   // answerText does not point into the event
	finishReason []byte
	id           []byte // the server's id of the request

	prompt, cached, output          int // usage
	hasPrompt, hasCached, hasOutput bool

	times serverTimes

	failed  bool   // an error object
	message string // the error's text
}

var errNoObject = errors.New("not a JSON object")

// parse reads a chunk by encoding/json. It defines what a chunk means; walker is its fast form for the usual
// shapes. It fails on anything but one JSON object.
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
	c.times.parse(m)
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
		if len(delta) == 0 { // also of hostile lists of millions of choices
			continue
		}
		c.hasRole = c.hasRole || str(delta["role"]) != ""
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

// appendAnswer adds to the answer; nearly always it is the first text.
func (c *chunk) appendAnswer(text []byte) {
	switch {
	case len(text) == 0:
	case len(c.answerText) == 0:
		c.answerText = text
	default:
		if !c.ownsAnswer { // it may point into the event
			c.answerText, c.ownsAnswer = slices.Clone(c.answerText), true
		}
		c.answerText = append(c.answerText, text...)
	}
}

// jsonEscape is the text as it stands between the quotes of a JSON string.
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
	maxCount = 1e15          // more tokens are an error of the server
	maxID    = math.MaxInt32 // of a token id
)

// parseCount reads a number of tokens; 12.0 is one, a fraction or a negative number is not.
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

// errorMessage finds the text in the error shapes of vLLM, SGLang, TGI, llama.cpp, OpenAI and FastAPI:
// {"error": {…}}, {"error": "…"}, {"object": "error", "message": …}, {"detail": …}; else it returns the JSON.
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

// bodyMessage is the text of an error's body: the message in its JSON, else the body itself.
func bodyMessage(body []byte) string {
	body = body[:min(len(body), largeJSON)]
	var v any
	if json.Unmarshal(body, &v) == nil && object(v) != nil {
		return errorMessage(v)
	}
	return string(body)
}
