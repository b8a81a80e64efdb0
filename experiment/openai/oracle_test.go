package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bench/experiment/target"
)

// parse says what a chunk means, by encoding/json's tree of it. The walker must find the same.
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
		return chunk{}, errNoChunk
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
	}
}

func list(v any) []any { l, _ := v.([]any); return l }

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

func (c *chunk) parseResponses(m map[string]any) error {
	c.times.parse(m)
	if object(m["response"])["error"] != nil {
		*c = chunk{failed: true, message: errorMessage(m)}
		return nil
	}
	if m["object"] == "response" {
		c.hasChoices = true
		c.addResponse(m, m)
		for i, item := range list(m["output"]) {
			c.addOutputItem(i, object(item))
		}
		return nil
	}
	kind := str(m["type"])
	switch kind {
	case "":
		return errNoChunk
	case "error":
		*c = chunk{failed: true, message: errorMessage(m)}
		return nil
	case "response.output_item.added":
		index, _ := parseCount(m["output_index"])
		c.addText(piece{part: partName, call: index, text: jsonEscape(str(object(m["item"])["name"]))})
	}
	if p, isDelta := deltaPart([]byte(kind)); isDelta {
		index, _ := parseCount(m["output_index"])
		c.hasChoices = true
		c.addText(piece{part: p, call: index, text: jsonEscape(str(m["delta"]))})
	}
	c.ended = kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed"
	c.addResponse(m, object(m["response"]))
	return nil
}

// addResponse reads the fields of a response but its output. llama.cpp has its timings in the event, top.
func (c *chunk) addResponse(top, m map[string]any) {
	c.id = []byte(str(m["id"]))
	c.finishResponse([]byte(str(m["status"])), []byte(str(object(m["incomplete_details"])["reason"])))
	usage := object(m["usage"])
	c.prompt, c.hasPrompt = c.usageCount(ofPrompt, usage["input_tokens"])
	c.output, c.hasOutput = c.usageCount(ofOutput, usage["output_tokens"])
	c.cached, c.hasCached = c.usageCount(ofCached, object(usage["input_tokens_details"])["cached_tokens"])
	var more moreUsage
	more.parse(object(usage["output_tokens_details"]), detailCounts)
	more.parseTimes(top)
	c.setMore(more)
}

func (c *chunk) addOutputItem(index int, m map[string]any) {
	texts := partContent
	if m["type"] == "reasoning" {
		texts = partReasoning
	}
	for _, key := range []string{"summary", "content"} {
		for _, v := range list(m[key]) {
			for _, key := range []string{"text", "refusal"} {
				c.addText(piece{part: texts, text: jsonEscape(str(object(v)[key]))})
			}
		}
	}
	c.addText(piece{part: partName, call: index, text: jsonEscape(str(m["name"]))})
	for _, key := range []string{"arguments", "input"} {
		c.addText(piece{part: partArguments, call: index, text: jsonEscape(str(m[key]))})
	}
}

func (c *chunk) parseMessages(m map[string]any) error {
	kind := str(m["type"])
	switch kind {
	case "":
		return errNoChunk
	case "error":
		*c = chunk{failed: true, message: errorMessage(m)}
		return nil
	case "message":
		c.addMessage(m)
		c.addMessageUsage(object(m["usage"]))
		return nil
	case "message_stop":
		c.ended = true
	}
	index, _ := parseCount(m["index"])
	c.addBlock(index, object(m["content_block"]))
	c.addMessageDelta(index, object(m["delta"]))
	if start := object(m["message"]); start != nil {
		c.id = []byte(str(start["id"]))
		usage := object(start["usage"])
		delete(usage, "output_tokens") // message_start counts no output yet
		c.addMessageUsage(usage)
	}
	if usage := object(m["usage"]); usage != nil {
		c.addMessageUsage(usage)
	}
	return nil
}

func (c *chunk) addMessage(m map[string]any) {
	c.id = []byte(str(m["id"]))
	for i, v := range list(m["content"]) {
		block := object(v)
		c.addBlock(i, block)
		if input := block["input"]; input != nil {
			text, _ := encodeJSON(input) // what encoding/json has read, it writes
			c.addText(piece{part: partArguments, call: i, text: jsonEscape(string(text))})
		}
	}
	c.stopMessage([]byte(str(m["stop_reason"])))
	c.hasChoices = true
}

func (c *chunk) addBlock(index int, m map[string]any) {
	c.addText(piece{part: partContent, text: jsonEscape(str(m["text"]))})
	c.addText(piece{part: partReasoning, text: jsonEscape(str(m["thinking"]))})
	c.addText(piece{part: partName, call: index, text: jsonEscape(str(m["name"]))})
}

func (c *chunk) addMessageDelta(index int, m map[string]any) {
	for _, field := range []struct {
		key  string
		part part
	}{{"text", partContent}, {"thinking", partReasoning}, {"partial_json", partArguments}} {
		if text, isText := m[field.key].(string); isText {
			c.hasChoices = true
			c.addText(piece{part: field.part, call: index, text: jsonEscape(text)})
		}
	}
	c.stopMessage([]byte(str(m["stop_reason"])))
}

func (c *chunk) addMessageUsage(m map[string]any) {
	read, hasRead := c.usageCount(ofCached, m["cache_read_input_tokens"])
	created, hasCreated := c.usageCount(ofPrompt, m["cache_creation_input_tokens"])
	c.apart, c.hasApart = c.apart+read+created, c.hasApart || hasRead || hasCreated
	for _, x := range []struct {
		of  func(*Usage) **int
		key string
		n   *int
		has *bool
	}{{ofPrompt, "input_tokens", &c.prompt, &c.hasPrompt}, {ofOutput, "output_tokens", &c.output, &c.hasOutput}} {
		if n, has := c.usageCount(x.of, m[x.key]); has {
			*x.n, *x.has = n, true
		}
	}
	if hasRead {
		c.cached, c.hasCached = read, true
	}
}

// usageCount reads a count of usage. One that is reported, but no number of tokens, is refused: kept if it is an integer.
func (c *chunk) usageCount(of func(*Usage) **int, v any) (n int, has bool) {
	if n, has = parseCount(v); has || v == nil {
		return n, has
	}
	if c.refused == nil {
		c.refused = &Usage{}
	}
	if number, ok := v.(json.Number); ok {
		if n, err := strconv.Atoi(number.String()); err == nil {
			*of(c.refused) = &n
		}
	}
	return 0, false
}

func (c *chunk) parseMore(top map[string]any) {
	var u moreUsage
	usage := object(top["usage"])
	u[ofOwnReasoning].n, u[ofOwnReasoning].known = parseCount(usage["reasoning_tokens"])
	u.parse(object(usage["completion_tokens_details"]), detailCounts)
	u.parseTimes(top)
	c.setMore(u)
}

var (
	detailCounts = map[string]int{"reasoning_tokens": ofReasoning, "accepted_prediction_tokens": predictionHits, "rejected_prediction_tokens": predictionMiss}
	timingCounts = map[string]int{"draft_n": draftTokens, "draft_n_accepted": draftAccepted}
	draftCounts  = map[string]int{"num_spec_steps": draftSteps, "num_draft_tokens": draftTokens, "num_accepted_draft_tokens": draftAccepted}
)

func (u *moreUsage) parseTimes(top map[string]any) {
	u.parse(object(object(top["metrics"])["speculative_decoding"]), draftCounts)
	u.parse(object(top["timings"]), timingCounts)
}

func (c *chunk) setMore(u moreUsage) {
	if u != (moreUsage{}) {
		c.more = &u
	}
}

func (u *moreUsage) parse(values map[string]any, counts map[string]int) {
	for key, v := range values {
		if i, known := counts[key]; known {
			if n, ok := parseCount(v); ok {
				u[i].n, u[i].known = n, true
			}
		}
	}
}

func inMs(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func (t *ServerTimes) parse(top map[string]any) {
	for _, part := range []struct {
		values map[string]any
		field  func(key string) (*time.Duration, *bool)
	}{{object(top["metrics"]), t.metric}, {object(top["timings"]), t.timing}} {
		for key, v := range part.values {
			number, isNumber := v.(json.Number)
			if into, has := part.field(key); into != nil && isNumber {
				*into, *has = parseMillis(number.String())
			}
		}
	}
}

// timing and metric are the field of a name in timings and in metrics; nil: another name.
func (t *ServerTimes) timing(key string) (*time.Duration, *bool) {
	switch key {
	case "prompt_ms":
		return &t.Prefill, &t.HasPrefill
	case "predicted_ms":
		return &t.Decode, &t.HasDecode
	}
	return nil, nil
}

func (t *ServerTimes) metric(key string) (*time.Duration, *bool) {
	switch key {
	case "queue_time_ms":
		return &t.Queue, &t.HasQueue
	case "time_to_first_token_ms":
		return &t.Prefill, &t.HasPrefill
	case "generation_time_ms":
		return &t.Decode, &t.HasDecode
	}
	return nil, nil
}

// inside are the keys of an API's objects, by the key of the object or of the list that it is in.
var inside = map[string]string{
	"":                          "choices usage id object error timings metrics type delta response output_index sequence_number item status output index content_block message content stop_reason",
	"choices":                   "delta message text finish_reason token_ids",
	"delta":                     "content reasoning reasoning_content tool_calls function_call role text thinking partial_json stop_reason",
	"tool_calls":                "function index",
	"function":                  "name arguments",
	"usage":                     "prompt_tokens completion_tokens prompt_tokens_details completion_tokens_details reasoning_tokens input_tokens output_tokens input_tokens_details output_tokens_details cache_read_input_tokens cache_creation_input_tokens",
	"prompt_tokens_details":     "cached_tokens",
	"completion_tokens_details": "reasoning_tokens accepted_prediction_tokens",
	"timings":                   "prompt_ms predicted_ms draft_n draft_n_accepted",
	"metrics":                   "queue_time_ms time_to_first_token_ms speculative_decoding",
	"speculative_decoding":      "num_spec_steps num_draft_tokens",
	"response":                  "id status incomplete_details usage error output",
	"incomplete_details":        "reason",
	"output":                    "type summary content name arguments input",
	"item":                      "type name",
	"summary":                   "text refusal type",
	"content":                   "text refusal type thinking name input",
	"content_block":             "text thinking name type",
	"message":                   "content reasoning tool_calls role id usage",
	"function_call":             "name arguments",
	"input_tokens_details":      "cached_tokens",
	"output_tokens_details":     "reasoning_tokens",
}

// words are what usually stands behind a key.
var words = map[string]string{
	"object": `"response" "error" "x"`,
	"type": `"reasoning" "message" "message_stop" "message_start" "message_delta" "content_block_delta" "error" "response.output_text.delta" "response.reasoning_text.delta"
		"response.function_call_arguments.delta" "response.output_item.added" "response.completed" "response.created"`,
	"status":        `"completed" "incomplete" "in_progress" "failed"`,
	"stop_reason":   `"end_turn" "max_tokens"`,
	"finish_reason": `"stop" "st\u006fp"`,
}

// anyJSON draws what may stand behind a key: usually of the API, sometimes a value of any type.
func anyJSON(t *rapid.T, key string, depth int) string {
	kind := rapid.IntRange(0, 19).Draw(t, "kind")
	keys, known := inside[key]
	switch {
	case known && kind < 13 && depth > 0 || kind == 19 && depth > 0:
		fields := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			key := rapid.SampledFrom(append(strings.Fields(keys), "x", "na\\u006de", "error")).Draw(t, "key")
			return fmt.Sprintf(`"%s": %s`, key, anyJSON(t, strings.ReplaceAll(key, `\u006d`, "m"), depth-1))
		}), 0, 6).Draw(t, "fields")
		return "{" + strings.Join(fields, ",") + "}"
	case known && kind < 17 && depth > 0 || kind == 18 && depth > 0:
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return anyJSON(t, key, depth-1) }), 0, 3).Draw(t, "items")
		return "[" + strings.Join(items, " , ") + "]"
	case words[key] != "" && kind < 17:
		return rapid.SampledFrom(strings.Fields(words[key])).Draw(t, "word")
	}
	return rapid.SampledFrom(strings.Fields(`null null null true 0 5 12.0 1e2 -1 1.5 1e400 4294967296 99999999999999999999 "" "a" "\u00e9é" "b" "c"`)).Draw(t, "value")
}

// TestWalkerIsParse: the walker finds what parse finds in JSON of an API's keys, whatever stands where.
func TestWalkerIsParse(t *testing.T) {
	for _, api := range []string{"", target.Responses, target.Messages} {
		w := walker{api: api}
		rapid.Check(t, func(t *rapid.T) {
			in := anyJSON(t, "", 6)
			for range 2 { // the second time perhaps by the shape
				sameAsParse(t, &w, []byte(in))
			}
		})
	}
}

// A tool's input in an answer in one piece is one value, with or without spaces and escapes.
func TestToolInputIsPlain(t *testing.T) {
	for _, input := range []string{`{"x": 5}`, `"\u00e9"`, `{"b":1,"a":2}`, `[1e400, 12.0]`, `5`} {
		w := walker{api: target.Messages}
		sameAsParse(t, &w, []byte(`{"type":"message","content":[{"type":"tool_use","input":`+input+`}]}`))
	}
}

// A chunk of a million texts takes no memory for each of them.
func TestPiecesAreBounded(t *testing.T) {
	in := []byte(`{"choices":[{"text":"a"` + strings.Repeat(`,"text":"a"`, 2*mostPieces) + `}]}`)
	w := walker{}
	if c, err := w.decode(in); err != nil || !c.failed || len(w.pieces) != mostPieces {
		t.Errorf("%v, failed %v, %d pieces", err, c.failed, len(w.pieces))
	}
}

func str(v any) string { s, _ := v.(string); return s }
