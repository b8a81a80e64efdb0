package openai

import (
	"bytes"
)

// OpenAI's Responses API. The type of an event is in its data; the tokens are in the strings "delta" of the types
// response.*.delta, the counts and the finish in the last event's response, which is also the form of an answer in
// one piece. Servers number the events and send no [DONE], or one behind the last event.

func (c *chunk) parseResponses(m map[string]any) error {
	c.times.parse(m)
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
		return errNoType
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
	c.ended = endsResponse([]byte(kind))
	c.addResponse(m, object(m["response"]))
	return nil
}

// addResponse reads the fields of a response but its output. llama.cpp has its timings in the event, top.
func (c *chunk) addResponse(top, m map[string]any) {
	if m["error"] != nil {
		*c = chunk{failed: true, message: errorMessage(m)}
		return
	}
	c.id = []byte(str(m["id"]))
	c.finishResponse([]byte(str(m["status"])), []byte(str(object(m["incomplete_details"])["reason"])))
	usage := object(m["usage"])
	c.prompt, c.hasPrompt = c.usageCount(ofPrompt, usage["input_tokens"])
	c.output, c.hasOutput = c.usageCount(ofOutput, usage["output_tokens"])
	c.cached, c.hasCached = c.usageCount(ofCached, object(usage["input_tokens_details"])["cached_tokens"])
	var more moreUsage
	more.parse(object(usage["output_tokens_details"]), usageDetails)
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

// deltaPart is what the delta of an event of a type belongs to; false: events of the type bear no token.
func deltaPart(kind []byte) (part, bool) {
	switch string(kind) {
	case "response.output_text.delta":
		return partContent, true
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return partReasoning, true
	case "response.function_call_arguments.delta":
		return partArguments, true
	}
	name, isDelta := bytes.CutSuffix(kind, []byte(".delta"))
	switch {
	case !isDelta || !bytes.HasPrefix(kind, []byte("response.")) || bytes.HasSuffix(name, []byte("audio")): // sound has no tokens of text
		return partContent, false
	case bytes.Contains(name, []byte("reasoning")):
		return partReasoning, true
	case bytes.Contains(name, []byte("_call")):
		return partArguments, true
	}
	return partContent, true
}

func endsResponse(kind []byte) bool {
	switch string(kind) {
	case "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

// finishResponse takes the finish reason from a response's status and the reason for which it is incomplete, wherever
// they stand: vLLM ends an incomplete response with response.completed. The last event of an answer that ended by
// itself may bear the token that ends it.
func (c *chunk) finishResponse(status, incomplete []byte) {
	switch string(status) {
	case "", "in_progress", "queued":
		return
	case "incomplete":
		if c.finishReason = incomplete; len(incomplete) > 0 {
			return
		}
	case "completed":
		c.hasChoices = true
	}
	c.finishReason = status
}

type responses struct {
	kind               []byte
	status, incomplete []byte
}

// walkResponse reads an event. It leaves answers in one piece, and the beginnings of tool calls, to parse.
func (w *walker) walkResponse() bool {
	w.responses, w.call, w.eventNumber.upTo = responses{}, 0, 0
	if !w.object((*walker).responsesField) {
		return false
	}
	r := &w.responses
	if kind := string(r.kind); kind == "" || kind == "error" || kind == "response.output_item.added" {
		return false
	}
	if p, isDelta := deltaPart(r.kind); isDelta {
		w.c.hasChoices = true
		if w.texts > 0 {
			w.addText(p)
		}
	} else {
		w.texts = 0 // nothing of the answer
	}
	w.c.ended = endsResponse(r.kind)
	w.c.finishResponse(r.status, r.incomplete)
	return true
}

func (w *walker) responsesField(key []byte) (uint, bool) {
	switch string(key) {
	case "type":
		return 1, w.Plain(&w.responses.kind)
	case "delta":
		return 2, w.Null() || w.text()
	case "response":
		return 4, w.Null() || w.object((*walker).responseField)
	case "output_index":
		return 8, w.Null() || w.index()
	case "sequence_number":
		w.eventNumber.from = w.At
		ok := w.integer()
		w.eventNumber.upTo = w.At
		return 16, ok
	case "error":
		return 32, w.Null()
	case "timings":
		return 64, w.Null() || w.object((*walker).timingField)
	case "metrics": // both of them are left to parse
		return 64, w.Null() || w.object((*walker).metricField)
	case "object":
		return 0, false
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) responseField(key []byte) (uint, bool) {
	switch string(key) {
	case "id":
		return 1, w.Null() || w.Plain(&w.c.id)
	case "status":
		return 2, w.Null() || w.Plain(&w.responses.status)
	case "incomplete_details":
		return 4, w.Null() || w.object(func(w *walker, key []byte) (uint, bool) {
			if string(key) == "reason" {
				return 1, w.Null() || w.Plain(&w.responses.incomplete)
			}
			return 0, w.Skip(maxDepth)
		})
	case "usage":
		return 8, w.Null() || w.object((*walker).responseUsageField)
	case "error":
		return 16, w.Null()
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) responseUsageField(key []byte) (uint, bool) {
	switch string(key) {
	case "input_tokens":
		return 1, w.Null() || w.count(&w.c.prompt, &w.c.hasPrompt)
	case "output_tokens":
		return 2, w.Null() || w.count(&w.c.output, &w.c.hasOutput)
	case "input_tokens_details":
		return 4, w.Null() || w.object((*walker).detailField)
	case "output_tokens_details":
		return 8, w.Null() || w.object((*walker).usageDetailField)
	}
	return 0, w.Skip(maxDepth)
}
