package openai

import "bytes"

// OpenAI's Responses API. The type of an event is in its data; the tokens are in the strings "delta" of the types
// response.*.delta, the counts and the finish in the last event's response, which is also the form of an answer in
// one piece. Servers number the events and send no [DONE], or one behind the last event.

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
	case !isDelta || !bytes.HasPrefix(kind, []byte("response.")) || bytes.HasSuffix(name, []byte("audio")):
		// sound has no tokens of text
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
	added              []byte // the name of an item that begins
	whole              bool   // it is an answer in one piece
}

func (w *walker) walkResponse() bool {
	from := w.At
	w.responses, w.call, w.eventNumber.upTo = responses{}, 0, 0
	ok := w.object((*walker).responsesField)
	r := &w.responses
	if ok && r.whole {
		*r = responses{}
		ok = w.again(from, (*walker).wholeResponseField)
		w.c.finishResponse(r.status, r.incomplete)
		return ok
	}
	kind := string(r.kind)
	w.c.failed = w.c.failed || kind == "error"
	if !ok || kind == "" {
		return false
	}
	p, isDelta := deltaPart(r.kind)
	switch {
	case isDelta:
		w.c.hasChoices = true
		if w.texts > 0 {
			w.addText(p)
		}
	case kind == "response.output_item.added" && len(r.added) > 0:
		w.c.hasToken = true
		w.addAnswer(piece{part: partName, call: w.call}, jsonEscape(string(r.added)))
	}
	if !isDelta {
		w.texts = 0 // nothing of the answer's own
	}
	w.c.ended = endsResponse(r.kind)
	w.c.finishResponse(r.status, r.incomplete)
	return true
}

func (w *walker) responsesField(key []byte) bool {
	switch string(key) {
	case "type":
		return w.name(&w.responses.kind)
	case "delta":
		if w.next() != '"' {
			return w.skip()
		}
		return w.text()
	case "response":
		return w.object((*walker).responseField)
	case "output_index":
		return w.index()
	case "sequence_number":
		w.eventNumber.from = w.At
		ok := w.skip()
		w.eventNumber.upTo = w.At
		return ok
	case "error":
		return w.failure()
	case "object":
		var name []byte
		ok := w.kind(&name)
		w.responses.whole = string(name) == "response"
		return ok
	case "item":
		return w.nameIn("name", &w.responses.added)
	case "timings", "metrics":
		return w.timesField(key)
	}
	return w.skip()
}

func (w *walker) responseField(key []byte) bool {
	switch string(key) {
	case "id":
		return w.name(&w.c.id)
	case "status":
		return w.name(&w.responses.status)
	case "incomplete_details":
		return w.nameIn("reason", &w.responses.incomplete)
	case "usage":
		return w.object((*walker).responseUsageField)
	case "error":
		return w.failure()
	}
	return w.skip()
}

func (w *walker) wholeResponseField(key []byte) bool {
	switch string(key) {
	case "output":
		w.call = -1
		return w.array(func(w *walker) bool {
			w.call++
			return w.outputItem()
		})
	case "timings", "metrics":
		return w.timesField(key)
	}
	return w.responseField(key)
}

// outputItem reads an item of the output. Its type, which says what its texts are, may stand behind them.
func (w *walker) outputItem() bool {
	from, texts := w.At, partContent
	var kind []byte
	ok := w.nameIn("type", &kind)
	if w.At = from; string(kind) == "reasoning" {
		texts = partReasoning
	}
	return ok && w.object(func(w *walker, key []byte) bool {
		switch string(key) {
		case "summary", "content":
			return w.array(func(w *walker) bool { return w.outputTexts(texts) })
		case "name":
			return w.content(partName)
		case "arguments", "input":
			return w.content(partArguments)
		}
		return w.skip()
	})
}

func (w *walker) outputTexts(p part) bool {
	return w.object(func(w *walker, key []byte) bool {
		if k := string(key); k == "text" || k == "refusal" {
			return w.content(p)
		}
		return w.skip()
	})
}

func (w *walker) responseUsageField(key []byte) bool {
	switch string(key) {
	case "input_tokens":
		return w.count(ofPrompt, &w.c.prompt, &w.c.hasPrompt)
	case "output_tokens":
		return w.count(ofOutput, &w.c.output, &w.c.hasOutput)
	case "input_tokens_details":
		return w.object((*walker).detailField)
	case "output_tokens_details":
		return w.object((*walker).usageDetailField)
	}
	return w.skip()
}
