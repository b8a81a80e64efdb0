package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
)

func (x *exchange) onStream(b []byte, a arrival) (enough bool) {
	x.scanner.push(b, a)
	for {
		ev, ok, err := x.scanner.next()
		switch err = cmp.Or(err, x.checkBounds()); {
		case err != nil:
			x.protocolErr = err
			return true
		case !ok:
			return false
		case x.onEvent(ev):
			return !x.sawDone
		}
	}
}

func (x *exchange) onEvent(ev event) bool {
	data := bytes.TrimSpace(ev.data)
	if (len(data) == 0 || ev.ping) && !ev.failed { // a keep-alive
		return false
	}
	if x.result.FirstEvent == Never {
		x.result.FirstEvent = x.sinceEpoch(ev.arrival.at)
	}
	if ev.failed {
		x.fail(Protocol, "the server reports an error in the stream: "+bodyMessage(data))
		return true
	}
	if last, ok := x.onChunk(data, ev.arrival); ok || x.protocolErr != nil {
		return last || x.protocolErr != nil
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) { // some servers forget the empty lines
		last, ok := x.onChunk(bytes.TrimSpace(line), ev.arrival)
		if last {
			return true
		}
		if !ok && !ev.truncated { // a lost connection leaves a partial line, a server does not
			x.fail(Protocol, fmt.Sprintf("an event is not of this API: %s", line[:min(len(line), maxError)]))
			return true
		}
	}
	return false
}

// onChunk handles the data of an event. ok is false if it is no JSON object; last ends the stream.
func (x *exchange) onChunk(data []byte, a arrival) (last, ok bool) {
	if string(data) == "[DONE]" {
		x.sawDone = true
		x.succeed()
		return true, true
	}
	c, ok := x.walker.read(data)
	if !ok {
		var err error
		if c, err = x.decode(data); err != nil {
			return false, false
		}
	}
	if c.failed {
		x.fail(Protocol, "the server reports an error in the stream: "+c.message)
		return true, true
	}
	x.recordMetadata(&c)
	x.keepAnswer(&c)
	if c.hasToken {
		n := x.eventTokens(&c)
		x.tokens += n
		x.call.Counter.add(x.result.Events == 0, x.call.Prompt, n)
		x.result.addToken(x.sinceEpoch(a.at), n)
		x.addSide(&c, x.result.Last, n)
		x.result.countStamp(a)
	} else if ends := len(c.finishReason) > 0; c.hasChoices && !c.hasRole && (ends || x.result.Finish == "") {
		x.empties = append(x.empties, emptyEvent{a, x.result.Events, ends})
	}
	if c.ended {
		x.sawDone = true
		x.succeed()
	}
	return c.ended, true
}

// eventTokens is the number of tokens in a token-bearing event: its token ids, else the growth of running
// usage, else 1. Usage that does not come with the first token is not running usage.
func (x *exchange) eventTokens(c *chunk) int {
	if x.result.Events == 0 {
		x.runningUsage = c.hasOutput
	}
	switch {
	case c.idCount > 0:
		return c.idCount
	case x.runningUsage && c.hasOutput:
		return max(1, c.output-x.tokens)
	}
	return 1
}

func (x *exchange) recordMetadata(c *chunk) {
	r, clean := x.result, x.client.secrets.clean
	x.addApart(c)
	x.refuseImpossible(c)
	if r.ServerID == "" && len(c.id) > 0 && x.observed == nil {
		r.ServerID = truncate(clean(string(c.id)), maxName)
	}
	if len(c.finishReason) > 0 {
		r.Finish = finishName(clean(string(c.finishReason)))
	}
	if c.hasOutput {
		r.OutputTokens, x.usageSeen = c.output, true
	}
	if c.hasPrompt {
		x.prompt.tokens, x.prompt.known = c.prompt, true
	}
	if c.hasCached {
		x.prompt.cached, x.prompt.cachedKnown = c.cached, true
	}
	if x.usageSeen {
		r.PromptTokens, r.HasUsage = x.prompt.tokens, x.prompt.known
		r.CachedTokens, r.HasCached = x.prompt.cached, x.prompt.cachedKnown
	}
	if c.times != (ServerTimes{}) {
		r.Server = c.times
	}
	if c.more != nil {
		x.recordMore(c.more)
	}
}

func (x *exchange) keepAnswer(c *chunk) {
	a := &x.result.Answer
	if x.call.KeepAnswer {
		a.IDs = append(a.IDs, c.tokenIDs...)
	}
	for _, p := range c.pieces {
		if x.call.KeepAnswer {
			a.Text = append(a.Text, p.text...)
		}
		if x.call.KeepParts {
			a.Parts.add(p)
		}
	}
}

func (x *exchange) endDocument(err error) {
	if err != io.EOF {
		switch {
		case x.interrupted(err):
		case connectionLost(err):
			x.fail(Truncated, fmt.Sprintf("the connection was lost in the middle of the answer: %v", err))
		default:
			x.fail(Protocol, fmt.Sprintf("the answer broke: %v", err))
		}
		return
	}
	c, err := x.decode(x.body)
	switch {
	case x.protocolErr != nil:
		x.interrupted(x.protocolErr)
	case len(x.body) == 0:
		x.fail(Truncated, "the answer is empty")
	case err != nil || !c.failed && !c.hasChoices:
		x.fail(Protocol, "the answer is not of this API: "+bodyMessage(x.body))
	case c.failed:
		x.fail(Protocol, "the server reports an error: "+c.message)
	default:
		x.result.Last = x.sinceEpoch(x.bodyAt.at)
		x.result.countStamp(x.bodyAt)
		x.recordMetadata(&c)
		x.keepAnswer(&c)
		if c.hasToken {
			x.sides.thinking = c.hasReasoning
			x.tokens = max(1, c.idCount)
			x.call.Counter.add(true, x.call.Prompt, max(x.tokens, x.result.OutputTokens))
		}
		x.succeed()
	}
}

// finishName is a finish reason as it is stored: a name, and not what else a server may write there.
func finishName(reason string) string {
	const longest = 40
	isName := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if len(reason) > longest || strings.ContainsFunc(reason, func(r rune) bool { return !isName(r) }) {
		return "other"
	}
	return reason
}
