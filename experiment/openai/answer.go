package openai

import (
	"bytes"
	"fmt"
	"io"
)

// events takes a piece of a stream; it is true when no more are wanted.
func (x *exchange) events(b []byte, a arrival) (enough bool) {
	x.scan.push(b, a)
	for {
		ev, ok, err := x.scan.next()
		switch {
		case err != nil:
			x.broken = err
			return true
		case !ok:
			return false
		case x.event(ev):
			return !x.done
		}
	}
}

// event takes one event; it is true when it was the last.
func (x *exchange) event(ev event) bool {
	data := bytes.TrimSpace(ev.data)
	if len(data) == 0 && !ev.failed { // a keep-alive
		return false
	}
	if x.result.FirstEvent == Never {
		x.result.FirstEvent = x.since(ev.a.at)
	}
	if ev.failed {
		x.fail(Protocol, "the server reports an error in the stream: "+bodyMessage(data))
		return true
	}
	if last, ok := x.data(data, ev.a); ok {
		return last
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) { // a server that forgets the empty lines
		last, ok := x.data(bytes.TrimSpace(line), ev.a)
		if last {
			return true
		}
		if !ok && !ev.cut { // a lost connection leaves such a piece, a server does not
			x.fail(Protocol, fmt.Sprintf("an event is not the API's: %s", line[:min(len(line), maxError)]))
			return true
		}
	}
	return false
}

// data takes what an event says. It is not ok where that is no JSON object; last ends the stream.
func (x *exchange) data(data []byte, a arrival) (last, ok bool) {
	if string(data) == "[DONE]" {
		x.done = true
		x.complete()
		return true, true
	}
	c, ok := x.walk.read(data)
	if !ok {
		var err error
		if c, err = parse(data); err != nil {
			return false, false
		}
	}
	if c.failed {
		x.fail(Protocol, "the server reports an error in the stream: "+c.message)
		return true, true
	}
	x.note(&c)
	x.keep(&c)
	if c.bears {
		n := x.count(&c)
		x.tokens += n
		x.call.Meter.came(x.result.Events == 0, x.call.Prompt, n)
		x.result.token(x.since(a.at), n)
		x.result.stamped(a)
	}
	return false, true
}

// count is the number of tokens in a token-bearing event: those listed, else those that running usage has grown by,
// else one. Usage that first comes later than the first token is no running usage.
func (x *exchange) count(c *chunk) int {
	if x.result.Events == 0 {
		x.running = c.hasOutput
	}
	switch {
	case c.ids > 0:
		return c.ids
	case x.running && c.hasOutput:
		return max(1, c.output-x.tokens)
	}
	return 1
}

// note keeps what may come on any chunk: names, the finish reason, usage.
func (x *exchange) note(c *chunk) {
	r, clean := x.result, x.client.secrets.clean
	if r.ServerID == "" && len(c.id) > 0 {
		r.ServerID = cut(clean(string(c.id)), maxName)
	}
	if len(c.finish) > 0 {
		r.Finish = cut(clean(string(c.finish)), maxName)
	}
	if c.hasOutput {
		r.OutputTokens, x.counted = c.output, true
	}
	if c.hasPrompt && x.counted {
		r.PromptTokens, r.HasUsage = c.prompt, true
	}
	if c.hasCached {
		r.CachedTokens, r.HasCached = c.cached, true
	}
}

// keep adds to the answer, where it is wanted.
func (x *exchange) keep(c *chunk) {
	if a := &x.result.Answer; x.call.Keep {
		a.Text = append(a.Text, c.said...)
		a.IDs = append(a.IDs, c.listed...)
	}
}

// document judges an answer in one piece; err is how its body ended.
func (x *exchange) document(err error) {
	if err != io.EOF {
		switch {
		case x.interrupted(err):
		case brokenOff(err):
			x.fail(Truncated, fmt.Sprintf("the connection was lost in the middle of the answer: %v", err))
		default:
			x.fail(Protocol, fmt.Sprintf("the answer broke: %v", err))
		}
		return
	}
	c, err := parse(x.body)
	switch {
	case len(x.body) == 0:
		x.fail(Truncated, "the answer is empty")
	case err != nil || !c.failed && !c.choices:
		x.fail(Protocol, "the answer is not the API's: "+bodyMessage(x.body))
	case c.failed:
		x.fail(Protocol, "the server reports an error: "+c.message)
	default:
		x.result.Last = x.since(x.bodyAt.at)
		x.result.stamped(x.bodyAt)
		x.note(&c)
		x.keep(&c)
		if c.bears {
			x.tokens = max(1, c.ids)
			x.call.Meter.came(true, x.call.Prompt, max(x.tokens, x.result.OutputTokens))
		}
		x.complete()
	}
}
