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

	"bench/experiment/target"
)

// chunk is the content of one event, or of an answer in one piece. Its byte slices may point into the event.
type chunk struct {
	hasChoices   bool // at least one
	hasToken     bool // text, reasoning, a tool call or token ids
	hasAnswer    bool // text or a tool call
	hasReasoning bool // reasoning
	hasRole      bool // a role in a delta: without a token, the event only opens the answer
	idCount      int  // length of the list of token ids; 0: no list
	tokenIDs     []int32
	answerText   []byte  // content and tool calls without reasoning, escaped as inside a JSON string
	ownsAnswer   bool    // answerText does not point into the event
	pieces       []piece // the same, piece by piece
	finishReason []byte
	id           []byte // the server's id of the request

	prompt, cached, output          int // usage
	hasPrompt, hasCached, hasOutput bool
	apart                           int // tokens of the prompt that are not in prompt: read from the cache, or written to it
	hasApart                        bool
	refused                         *Usage // counts that are no numbers of tokens; nil: none

	times serverTimes
	more  *moreUsage // nil: nothing of it; the walker's own until its next chunk

	ended   bool   // the last event of the stream
	failed  bool   // an error object
	message string // the error's text
}

var (
	errNoObject = errors.New("not a JSON object")
	errNoType   = errors.New("an event without a type")
)

// parse reads a chunk of an API by encoding/json. It defines what a chunk means; walker is its fast form for the
// usual shapes. It fails on anything but one JSON object.
func parse(api string, data []byte) (c chunk, err error) {
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
	switch api {
	case target.Responses:
		err = c.parseResponses(m)
	case target.Messages:
		err = c.parseMessages(m)
	default:
		c.parseCompletion(m)
	}
	return c, err
}

func (c *chunk) parseCompletion(m map[string]any) {
	c.id = []byte(str(m["id"]))
	for _, choice := range list(m["choices"]) {
		c.hasChoices = true
		c.addChoice(object(choice))
	}
	usage := object(m["usage"])
	c.prompt, c.hasPrompt = c.usageCount(ofPrompt, usage["prompt_tokens"])
	c.output, c.hasOutput = c.usageCount(ofOutput, usage["completion_tokens"])
	c.cached, c.hasCached = c.usageCount(ofCached, object(usage["prompt_tokens_details"])["cached_tokens"])
	c.times.parse(m)
	c.parseMore(m)
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
	c.hasAnswer = c.hasAnswer || str(m["text"]) != ""
	c.add(piece{part: partContent, text: jsonEscape(str(m["text"]))})
	for _, name := range []string{"delta", "message"} {
		delta := object(m[name])
		if len(delta) == 0 { // also of hostile lists of millions of choices
			continue
		}
		c.hasRole = c.hasRole || str(delta["role"]) != ""
		has := func(key string) bool { return str(delta[key]) != "" || len(list(delta[key])) > 0 }
		c.hasAnswer = c.hasAnswer || has("content")
		c.hasReasoning = c.hasReasoning || has("reasoning") || has("reasoning_content")
		c.add(piece{part: partContent, text: jsonEscape(str(delta["content"]))})
		c.addCall(0, object(delta["function_call"]))
		for i, call := range list(delta["tool_calls"]) {
			if index, ok := parseCount(object(call)["index"]); ok {
				i = index
			}
			c.addCall(i, object(object(call)["function"]))
		}
	}
	c.hasToken = c.hasToken || c.idCount > 0 || c.hasAnswer || c.hasReasoning
}

func (c *chunk) addCall(index int, function map[string]any) {
	name, arguments := str(function["name"]), str(function["arguments"])
	c.hasAnswer = c.hasAnswer || name != "" || arguments != ""
	c.add(piece{part: partName, call: index, text: jsonEscape(name)})
	c.add(piece{part: partArguments, call: index, text: jsonEscape(arguments)})
}

func (c *chunk) addText(p piece) {
	if len(p.text) == 0 {
		return
	}
	c.hasToken = true
	if c.hasReasoning = c.hasReasoning || p.part == partReasoning; p.part != partReasoning {
		c.hasAnswer = true
		c.add(p)
	}
}

func (c *chunk) add(p piece) {
	if len(p.text) > 0 {
		c.pieces = append(c.pieces, p)
		c.appendAnswer(p.text)
	}
}

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
