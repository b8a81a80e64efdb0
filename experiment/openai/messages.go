package openai

import "net/http"

// Anthropic's Messages API. A stream is message_start, for each block of the answer content_block_start, _delta and
// _stop, then message_delta with the stop reason and usage, and message_stop; pings may come anywhere. An answer in one
// piece is the message. Prompt tokens that the cache had or keeps now are counted apart from the others.

const anthropicVersion = "2023-06-01"

// setMessagesHeaders sets what Anthropic's own server wants; others look for the key where the other APIs have it.
func (c *Client) setMessagesHeaders(req *http.Request) {
	req.Header.Set("Anthropic-Version", anthropicVersion)
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	}
}

func (c *chunk) parseMessages(m map[string]any) error {
	kind := str(m["type"])
	switch kind {
	case "":
		return errNoType
	case "error":
		*c = chunk{failed: true, message: errorMessage(m)}
		return nil
	case "message":
		c.addMessage(m)
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
	c.cached, c.hasCached = read, hasRead
	c.apart, c.hasApart = read+created, hasRead || hasCreated
	c.prompt, c.hasPrompt = c.usageCount(ofPrompt, m["input_tokens"])
	c.output, c.hasOutput = c.usageCount(ofOutput, m["output_tokens"])
}

// stopMessage takes the finish reason. The last event of an answer that ended by itself may bear its last token.
func (c *chunk) stopMessage(reason []byte) {
	if len(reason) > 0 {
		c.finishReason = reason
		c.hasChoices = c.hasChoices || string(reason) != "max_tokens" && string(reason) != "model_context_window_exceeded"
	}
}

type messages struct {
	kind       []byte
	created    int // tokens
	hasCreated bool
}

// walkMessage reads an event. It leaves answers in one piece to parse.
func (w *walker) walkMessage() bool {
	w.messages, w.call = messages{}, 0
	if !w.object((*walker).messagesField) {
		return false
	}
	m := &w.messages
	if len(m.kind) == 0 || string(m.kind) == "message" || string(m.kind) == "error" {
		return false
	}
	for i := range w.pieces { // the index of a block may stand behind its text
		w.pieces[i].call = w.call
	}
	w.last.call = w.call
	w.c.ended = string(m.kind) == "message_stop"
	w.c.apart, w.c.hasApart = w.c.cached+m.created, w.c.hasCached || m.hasCreated
	return true
}

func (w *walker) messagesField(key []byte) (uint, bool) {
	switch string(key) {
	case "type":
		return 1, w.Plain(&w.messages.kind)
	case "index":
		return 2, w.Null() || w.index()
	case "delta":
		return 4, w.Null() || w.object((*walker).messageDeltaField)
	case "content_block":
		return 8, w.Null() || w.object((*walker).blockField)
	case "message":
		ok := w.Null() || w.object((*walker).messageField)
		w.c.output, w.c.hasOutput = 0, false // message_start counts no output yet
		return 16, ok
	case "usage": // with a message, too, left to parse
		return 16, w.Null() || w.object((*walker).messageUsageField)
	case "error":
		return 32, w.Null()
	case "object":
		return 0, false
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) messageDeltaField(key []byte) (uint, bool) {
	bit, p := uint(0), partContent
	switch string(key) {
	case "text":
		bit = 1
	case "thinking":
		bit, p = 2, partReasoning
	case "partial_json":
		bit, p = 4, partArguments
	case "stop_reason":
		var reason []byte
		ok := w.Null() || w.Plain(&reason)
		w.c.stopMessage(reason)
		return 8, ok
	default:
		return 0, w.Skip(maxDepth)
	}
	if w.Null() {
		return bit, true
	}
	w.c.hasChoices = true
	return bit, w.content(p)
}

func (w *walker) blockField(key []byte) (uint, bool) {
	switch string(key) {
	case "text":
		return 1, w.content(partContent)
	case "thinking":
		return 2, w.content(partReasoning)
	case "name":
		return 4, w.content(partName)
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) messageField(key []byte) (uint, bool) {
	switch string(key) {
	case "id":
		return 1, w.Null() || w.Plain(&w.c.id)
	case "usage":
		return 2, w.Null() || w.object((*walker).messageUsageField)
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) messageUsageField(key []byte) (uint, bool) {
	switch string(key) {
	case "input_tokens":
		return 1, w.Null() || w.count(&w.c.prompt, &w.c.hasPrompt)
	case "output_tokens":
		return 2, w.Null() || w.count(&w.c.output, &w.c.hasOutput)
	case "cache_read_input_tokens":
		return 4, w.Null() || w.count(&w.c.cached, &w.c.hasCached)
	case "cache_creation_input_tokens":
		return 8, w.Null() || w.count(&w.messages.created, &w.messages.hasCreated)
	}
	return 0, w.Skip(maxDepth)
}
