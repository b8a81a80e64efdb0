package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// conclude gives the result its outcome, unless it has one; err: how the exchange ended, nil or io.EOF in order.
func (x *exchange) conclude(err error) {
	defer x.setFree()
	defer x.settleSides()
	switch {
	case x.protocolErr != nil:
		err = x.protocolErr
	case err == nil:
		err = io.EOF
	case err == io.EOF && x.resp != nil:
		err = x.framing.endError()
	}
	switch {
	case x.concluded:
	case x.resp == nil:
		x.endWithoutResponse(err)
	case x.resp.StatusCode < 200 || x.resp.StatusCode > 299:
		x.endStatus()
	case x.call.Stream:
		x.endStream(err)
	default:
		x.endDocument(err)
	}
}

func (x *exchange) fail(outcome Outcome, text string) {
	x.result.Outcome = outcome
	if x.observed == nil { // else it could quote a prompt, an answer or an address
		x.result.Error = x.client.secrets.clean(text)
	}
	x.setEnd()
}

// leave concludes a request whose user left. The connection is closed, since the answer has not ended.
func (x *exchange) leave() {
	x.result.Outcome = Left
	x.setEnd()
}

// interrupted concludes if the caller's context or a time limit has ended the exchange, whatever err is.
func (x *exchange) interrupted(err error) bool {
	if x.observed != nil && x.observed.interrupted(err) {
		return true
	}
	var network net.Error
	switch cause := context.Cause(x.callerCtx); {
	case errors.Is(cause, ErrUnfinished):
		x.fail(Unfinished, cause.Error())
	case cause != nil && x.callerCtx.Err() == context.DeadlineExceeded:
		x.fail(Timeout, "timed out at the caller's deadline: "+x.progress())
	case cause != nil:
		x.fail(Cancelled, "cancelled: "+x.progress())
	case context.Cause(x.ctx) == errLeft:
		x.leave()
	case x.ctx.Err() != nil:
		x.fail(Timeout, fmt.Sprintf("timed out after %s: %s", x.client.timeout, x.progress()))
	case errors.As(err, &network) && network.Timeout():
		x.fail(Timeout, fmt.Sprintf("%v: %s", err, x.progress()))
	default:
		return false
	}
	return true
}

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

func (x *exchange) endWithoutResponse(err error) {
	switch {
	case x.interrupted(err):
	case !x.received && x.result.Sent == Never && x.conn == nil:
		x.fail(Connect, fmt.Sprintf("no connection to %s: %v", x.client.addr, err))
	case !x.received:
		x.fail(Connect, fmt.Sprintf("the connection was lost before any byte of an answer: %v", err))
	case connectionLost(err):
		x.fail(Truncated, fmt.Sprintf("the connection ended in the answer's header: %v", err))
	default:
		x.fail(Protocol, fmt.Sprintf("not an HTTP response: %v", err))
	}
}

func (x *exchange) endStatus() {
	if x.ctx.Err() != nil && x.interrupted(x.ctx.Err()) {
		return
	}
	text := bodyMessage(x.body)
	if x.result.Status >= 300 && x.result.Status < 400 {
		text = redirectText(x.resp)
	}
	x.fail(Status, "HTTP "+x.resp.Status+rateLimit(x.resp)+": "+text)
}

// rateLimit quotes what an answer of 429 states about the limit; empty: nothing.
func rateLimit(resp *http.Response) string {
	if resp.StatusCode != http.StatusTooManyRequests {
		return ""
	}
	var out []string
	for _, name := range []string{"Retry-After", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens"} {
		if v := resp.Header.Get(name); v != "" && len(v) <= 40 {
			out = append(out, name+" "+v)
		}
	}
	if out == nil {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

func (x *exchange) endStream(err error) {
	if x.scanner.err == nil && err != x.ctx.Err() { // otherwise an event before the last one was not read
		if ev, ok := x.scanner.finish(); ok && x.onEvent(ev) && x.concluded {
			return
		}
	}
	stray := string(x.scanner.stray)
	switch {
	case err != io.EOF && x.interrupted(err):
	case err != io.EOF && !connectionLost(err):
		x.fail(Protocol, fmt.Sprintf("the stream broke: %v %s", err, x.progress()))
	case x.result.Finish != "":
		x.succeed()
	case stray != "":
		x.fail(Protocol, "the answer is not an event stream: "+bodyMessage(x.scanner.stray))
	case err == io.EOF:
		x.fail(Truncated, "the stream ended without a finish reason or [DONE] "+x.progress())
	default:
		x.fail(Truncated, fmt.Sprintf("the connection was lost %s: %v", x.progress(), err))
	}
}

func (x *exchange) succeed() {
	x.setEnd()
	x.placeEmpties()
	r := x.result
	switch {
	case x.tokens == 0 && r.OutputTokens == 0:
		x.fail(Truncated, "the answer ended before any token")
	case r.OutputTokens < x.call.MinTokens && (x.call.Stream || !r.Estimated):
		r.Outcome = Short
	default:
		r.Outcome = OK
	}
}

func (x *exchange) setEnd() {
	r := x.result
	x.concluded = true
	if r.End = x.now(); x.sawDone || x.bodyEnded() {
		r.End = x.sinceEpoch(x.lastArrival)
	}
	if !x.usageSeen {
		r.OutputTokens, r.Estimated = x.tokens, x.tokens > 0
	}
}

func (x *exchange) bodyEnded() bool {
	return x.resp != nil && !x.client.viaTransport && x.framing.state == atEnd
}

// setFree records when the response was over. A server that leaves it open behind [DONE] costs drainTimeout.
func (x *exchange) setFree() {
	last := x.sinceEpoch(x.lastArrival)
	switch x.result.Free = x.now(); {
	case x.bodyEnded():
		x.result.Free = last
	case x.sawDone:
		x.result.Free = min(x.result.Free, last+drainTimeout)
	}
}

// connectionLost reports whether err is the end of a connection, rather than a fault in what came over it.
func connectionLost(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}
