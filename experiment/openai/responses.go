package openai

import (
	"bytes"
	"slices"
)

// OpenAI's Responses API. The type of an event is in its data; the tokens are in the strings "delta" of the types
// response.*.delta, the counts and the finish in the last event's response, which is also the form of an answer in
// one piece. Servers number the events and send no [DONE], or one behind the last event.

// deltaPart is what the delta of an event of a type belongs to; false: events of the type bear no token.
func deltaPart(kind []byte) (part, bool) {
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
	ok := w.object(responsesFields)
	r := &w.responses
	if ok && r.whole {
		*r = responses{}
		ok = w.again(from, wholeResponseFields)
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
	w.c.ended = slices.Contains([]string{"response.completed", "response.incomplete", "response.failed"}, kind)
	w.c.finishResponse(r.status, r.incomplete)
	return true
}

var (
	responsesFields = fields{
		{"type", func(w *walker) bool { return w.name(&w.responses.kind) }},
		{"delta", (*walker).delta},
		{"response", in(responseFields)},
		{"output_index", (*walker).index},
		{"sequence_number", (*walker).sequenceNumber},
		{"error", (*walker).failure},
		{"object", (*walker).kind},
		{"item", func(w *walker) bool { return w.nameIn("name", &w.responses.added) }},
		{"timings", in(timingFields)}, {"metrics", in(metricFields)},
	}
	responseFields = fields{
		{"id", (*walker).id},
		{"status", func(w *walker) bool { return w.name(&w.responses.status) }},
		{"usage", in(responseUsageFields)},
		{"error", (*walker).failure},
		{"incomplete_details", func(w *walker) bool {
			return w.nameIn("reason", &w.responses.incomplete)
		}},
	}
	wholeResponseFields = responseFields.with(fields{
		{"output", (*walker).output}, {"timings", in(timingFields)}, {"metrics", in(metricFields)},
	})
	responseUsageFields = fields{
		{"input_tokens", (*walker).promptTokens}, {"output_tokens", (*walker).outputTokens},
		{"input_tokens_details", in(detailFields)}, {"output_tokens_details", in(usageDetails)},
	}
)

func (w *walker) delta() bool {
	if w.next() != '"' {
		return w.skip()
	}
	return w.text()
}

func (w *walker) sequenceNumber() bool {
	w.eventNumber.from = w.At
	ok := w.skip()
	w.eventNumber.upTo = w.At
	return ok
}

func (w *walker) output() bool {
	w.call = -1
	return w.array(func(w *walker) bool {
		w.call++
		return w.outputItem()
	})
}

// outputItem reads an item of the output. Its type, which says what its texts are, may stand behind them.
func (w *walker) outputItem() bool {
	from, texts := w.At, partContent
	var kind []byte
	ok := w.nameIn("type", &kind)
	if w.At = from; string(kind) == "reasoning" {
		texts = partReasoning
	}
	list := func(w *walker) bool {
		return w.array(in(fields{{"text", textOf(texts)}, {"refusal", textOf(texts)}}))
	}
	return ok && w.object(fields{{"summary", list}, {"content", list}, {"name", textOf(partName)},
		{"arguments", textOf(partArguments)}, {"input", textOf(partArguments)}})
}
