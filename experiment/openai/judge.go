package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
)

// conclude judges what has not been judged yet; err is how the exchange ended, nil or io.EOF for an orderly end.
func (x *exchange) conclude(err error) {
	switch {
	case x.broken != nil:
		err = x.broken
	case err == nil:
		err = io.EOF
	case err == io.EOF && x.resp != nil:
		err = x.frames.end()
	}
	switch {
	case x.judged:
	case x.resp == nil:
		x.lost(err)
	case x.resp.StatusCode < 200 || x.resp.StatusCode > 299:
		x.refused()
	case x.call.Stream:
		x.over(err)
	default:
		x.document(err)
	}
}

// fail ends the exchange with a failure.
func (x *exchange) fail(outcome Outcome, text string) {
	x.result.Outcome = outcome
	x.result.Error = x.client.secrets.clean(text)
	x.settle()
}

// interrupted fails the exchange where its caller or the clock has ended it, whatever error that made.
func (x *exchange) interrupted(err error) bool {
	var network net.Error
	switch cause := context.Cause(x.caller); {
	case errors.Is(cause, ErrUnfinished):
		x.fail(Unfinished, ErrUnfinished.Error())
	case cause != nil && x.caller.Err() == context.DeadlineExceeded:
		x.fail(Timeout, "no end within the caller's deadline: "+x.progress())
	case cause != nil:
		x.fail(Cancelled, "cancelled: "+x.progress())
	case x.ctx.Err() != nil:
		x.fail(Timeout, fmt.Sprintf("no end within %s: %s", x.client.timeout, x.progress()))
	case errors.As(err, &network) && network.Timeout():
		x.fail(Timeout, fmt.Sprintf("%v: %s", err, x.progress()))
	default:
		return false
	}
	return true
}

// progress says how far the request got.
func (x *exchange) progress() string {
	r := x.result
	switch {
	case r.Sent == Never && x.conn == nil:
		return "no connection to " + x.client.addr
	case r.Sent == Never:
		return "nothing was sent"
	case r.Status == 0:
		return "no answer"
	case !x.call.Stream:
		return "in the middle of the answer"
	default:
		return fmt.Sprintf("after %d token-bearing events", r.Events)
	}
}

// lost judges a request that has no response.
func (x *exchange) lost(err error) {
	switch {
	case x.interrupted(err):
	case !x.received && x.result.Sent == Never && x.conn == nil:
		x.fail(Connect, fmt.Sprintf("no connection to %s: %v", x.client.addr, err))
	case !x.received:
		x.fail(Connect, fmt.Sprintf("the connection was lost before any byte of an answer: %v", err))
	case brokenOff(err):
		x.fail(Truncated, fmt.Sprintf("the connection ended in the answer's header: %v", err))
	default:
		x.fail(Protocol, fmt.Sprintf("no HTTP answer: %v", err))
	}
}

// refused ends a request whose response has another status than 2xx.
func (x *exchange) refused() {
	if x.ctx.Err() != nil && x.interrupted(x.ctx.Err()) {
		return
	}
	text := bodyMessage(x.body)
	if x.result.Status >= 300 && x.result.Status < 400 {
		text = redirectText(x.resp)
	}
	x.fail(Status, statusText(x.resp.Status, text))
}

// over judges a stream whose body ended, or broke, without [DONE].
func (x *exchange) over(err error) {
	if err != errTooLong {
		if ev, ok := x.scan.finish(); ok && x.event(ev) {
			return
		}
	}
	stray := string(x.scan.stray)
	switch {
	case err != io.EOF && x.interrupted(err):
	case err != io.EOF && !brokenOff(err):
		x.fail(Protocol, fmt.Sprintf("the stream broke: %v %s", err, x.progress()))
	case x.result.Finish != "":
		x.complete()
	case stray != "":
		x.fail(Protocol, "the answer is no event stream: "+bodyMessage(x.scan.stray))
	case err == io.EOF:
		x.fail(Truncated, "the stream ended without a finish reason or [DONE] "+x.progress())
	default:
		x.fail(Truncated, fmt.Sprintf("the connection was lost %s: %v", x.progress(), err))
	}
}

// complete judges an answer that came to its end.
func (x *exchange) complete() {
	x.settle()
	r := x.result
	switch {
	case x.call.Stream && r.Events == 0 && r.OutputTokens > 0:
		x.fail(Truncated, fmt.Sprintf("no event bore a token, though the server counts %d: their text is empty", r.OutputTokens))
	case x.tokens == 0 && r.OutputTokens == 0:
		x.fail(Truncated, "the answer ended before any token")
	case r.OutputTokens < x.call.Forced && (x.call.Stream || !r.Estimated):
		r.Outcome = Short
	default:
		r.Outcome = OK
	}
}

// settle notes when it was over, and how many tokens there were.
func (x *exchange) settle() {
	r := x.result
	x.judged = true
	if r.End = x.now(); x.done {
		r.End = x.since(x.last)
	}
	if !x.counted {
		r.OutputTokens, r.Estimated = x.tokens, x.tokens > 0
	}
}

// brokenOff says whether an error is that of a connection that ended, rather than of what came over it.
func brokenOff(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}
