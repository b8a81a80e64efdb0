package openai

// Anthropic's Messages API. A stream is message_start, for each block of the answer content_block_start, _delta and
// _stop, then message_delta with the stop reason and usage, and message_stop; pings may come anywhere. An answer in one
// piece is the message. Prompt tokens that the cache had or keeps now are counted apart from the others.

const anthropicVersion = "2023-06-01"

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
	ok := w.object(messagesFields)
	m := &w.messages
	switch string(m.kind) {
	case "":
		return false
	case "message":
		w.messages = messages{}
		ok = ok && w.again(from, wholeMessageFields)
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

var (
	messagesFields = fields{
		{"type", func(w *walker) bool { return w.name(&w.messages.kind) }},
		{"index", (*walker).index},
		{"delta", in(messageDeltaFields)},
		{"content_block", in(blockFields)},
		{"message", (*walker).messageStart},
		{"usage", in(messageUsageFields)},
		{"error", (*walker).failure},
		{"object", (*walker).kind},
	}
	messageDeltaFields = fields{
		{"text", deltaOf(partContent)}, {"thinking", deltaOf(partReasoning)}, {"partial_json", deltaOf(partArguments)},
		{"stop_reason", (*walker).stopReason},
	}
	messageFields      = fields{{"id", (*walker).id}, {"usage", in(messageUsageFields)}}
	wholeMessageFields = messageFields.with(fields{
		{"content", (*walker).blocks}, {"stop_reason", (*walker).stopReason},
	})
	blockFields = fields{
		{"text", textOf(partContent)}, {"thinking", textOf(partReasoning)}, {"name", textOf(partName)},
	}
	wholeBlockFields   = blockFields.with(fields{{"input", (*walker).wholeInput}})
	messageUsageFields = fields{
		{"input_tokens", (*walker).promptTokens}, {"output_tokens", (*walker).messageOutput},
		{"cache_read_input_tokens", (*walker).cachedTokens},
		{"cache_creation_input_tokens", (*walker).created},
	}
)

func (w *walker) messageStart() bool {
	w.messages.starts = true
	ok := w.object(messageFields)
	w.messages.starts = false
	return ok
}

func (w *walker) blocks() bool {
	w.call = -1
	return w.array(func(w *walker) bool {
		w.call++
		return w.object(wholeBlockFields)
	})
}

func (w *walker) wholeInput() bool {
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

func deltaOf(p part) func(*walker) bool {
	return func(w *walker) bool {
		w.c.hasChoices = w.c.hasChoices || w.next() == '"'
		return w.content(p)
	}
}

func (w *walker) messageOutput() bool {
	if w.messages.starts {
		return w.skip()
	}
	return w.outputTokens()
}

func (w *walker) created() bool {
	return w.count(ofWritten, &w.messages.created, &w.messages.hasCreated)
}
