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

// stopMessage takes the finish reason. The last event of an answer that ended by itself may bear its last token.
func (c *chunk) stopMessage(reason []byte) {
	if len(reason) > 0 {
		c.finishReason = reason
		c.hasChoices = c.hasChoices || string(reason) != "max_tokens" &&
			string(reason) != "model_context_window_exceeded"
	}
}

type messages struct {
	kind       []byte
	created    int // tokens
	hasCreated bool
	starts     bool // the usage is that of message_start, which counts no output yet
}

func (w *walker) walkMessage() bool {
	from := w.At
	w.messages, w.call = messages{}, 0
	ok := w.object((*walker).messagesField)
	m := &w.messages
	switch string(m.kind) {
	case "":
		return false
	case "message":
		w.messages = messages{}
		ok = ok && w.again(from, (*walker).wholeMessageField)
	default:
		for i := range w.pieces { // the index of a block may stand behind its text
			w.pieces[i].call = w.call
		}
		w.last.call = w.call
		w.c.ended = string(m.kind) == "message_stop"
		w.c.failed = w.c.failed || string(m.kind) == "error"
	}
	w.c.apart, w.c.hasApart = w.c.cached+m.created, w.c.hasCached || m.hasCreated
	return ok
}

func (w *walker) messagesField(key []byte) bool {
	switch string(key) {
	case "type":
		return w.name(&w.messages.kind)
	case "index":
		return w.index()
	case "delta":
		return w.object((*walker).messageDeltaField)
	case "content_block":
		return w.object((*walker).blockField)
	case "message":
		w.messages.starts = true
		ok := w.object((*walker).messageField)
		w.messages.starts = false
		return ok
	case "usage":
		return w.object((*walker).messageUsageField)
	case "error":
		return w.failure()
	case "object":
		var name []byte
		return w.kind(&name)
	}
	return w.skip()
}

func (w *walker) wholeMessageField(key []byte) bool {
	switch string(key) {
	case "content":
		w.call = -1
		return w.array(func(w *walker) bool {
			w.call++
			return w.object((*walker).wholeBlockField)
		})
	case "stop_reason":
		return w.stopReason()
	}
	return w.messageField(key)
}

func (w *walker) wholeBlockField(key []byte) bool {
	if string(key) != "input" {
		return w.blockField(key)
	}
	from, has := w.At, w.next() != 'n'
	ok := w.skip()
	if has && ok {
		w.c.hasToken = true
		w.addAnswer(piece{part: partArguments, call: w.call}, jsonEscape(string(plainJSON(w.Text[from:w.At]))))
	}
	return ok
}

func (w *walker) stopReason() bool {
	var reason []byte
	ok := w.name(&reason)
	w.c.stopMessage(reason)
	return ok
}

func (w *walker) messageDeltaField(key []byte) bool {
	p := partContent
	switch string(key) {
	case "text":
	case "thinking":
		p = partReasoning
	case "partial_json":
		p = partArguments
	case "stop_reason":
		return w.stopReason()
	default:
		return w.skip()
	}
	w.c.hasChoices = w.c.hasChoices || w.next() == '"'
	return w.content(p)
}

func (w *walker) blockField(key []byte) bool {
	switch string(key) {
	case "text":
		return w.content(partContent)
	case "thinking":
		return w.content(partReasoning)
	case "name":
		return w.content(partName)
	}
	return w.skip()
}

func (w *walker) messageField(key []byte) bool {
	switch string(key) {
	case "id":
		return w.name(&w.c.id)
	case "usage":
		return w.object((*walker).messageUsageField)
	}
	return w.skip()
}

func (w *walker) messageUsageField(key []byte) bool {
	switch string(key) {
	case "input_tokens":
		return w.count(ofPrompt, &w.c.prompt, &w.c.hasPrompt)
	case "output_tokens":
		if w.messages.starts {
			return w.skip()
		}
		return w.count(ofOutput, &w.c.output, &w.c.hasOutput)
	case "cache_read_input_tokens":
		return w.count(ofCached, &w.c.cached, &w.c.hasCached)
	case "cache_creation_input_tokens":
		return w.count(ofWritten, &w.messages.created, &w.messages.hasCreated)
	}
	return w.skip()
}
