package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// exchange is a request and the connection for its answer.
type exchange struct {
	net.Conn
	request *http.Request
	failed  error // of a write: the client is gone

	Stream    bool `json:"stream"`
	MaxTokens int  `json:"max_tokens"`
	Most      int  `json:"max_completion_tokens"`
}

// Serve answers on a listener until ctx ends, and waits for its connections. What the case does not concern is answered
// as a server of one model does.
func (c *Case) Serve(ctx context.Context, l net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			c.talk(conn)
		})
	}
}

// longestRequest bounds the body of a request, bytes.
const longestRequest = 64 << 20

func (c *Case) talk(conn net.Conn) {
	lines := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(lines)
		if err != nil {
			return
		}
		x := &exchange{Conn: conn, request: request}
		asked := request.Method == http.MethodPost && strings.Contains(request.URL.Path, "completions")
		hit := asked && c.on == "" || c.on != "" && strings.HasPrefix(request.URL.Path, c.on)
		if hit && c.Name == earlyRefusal {
			c.answer(x)
			return
		}
		body, err := io.ReadAll(io.LimitReader(request.Body, longestRequest))
		if err != nil {
			return
		}
		_ = json.Unmarshal(body, x) // another request has no such fields
		switch {
		case hit:
			c.answer(x)
			return
		case asked:
			x.send(x.whole())
		default:
			x.send(plain(request.URL.Path))
		}
	}
}

const (
	modelName = "bench-mock"
	ok        = "HTTP/1.1 200 OK\r\n"
	events    = ok + "Content-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	pieces    = ok + "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	document  = ok + "Content-Type: application/json\r\nConnection: close\r\n\r\n"
	done      = "data: [DONE]\n\n"
)

// plain answers a request that is not for a completion.
func plain(path string) string {
	switch {
	case strings.HasPrefix(path, "/v1/models"):
		return sized("application/json", models(modelName))
	case path == "/health":
		return sized("text/plain", "")
	}
	return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
}

func models(name string) string {
	return `{"object":"list","data":[{"object":"model","id":` + quote(name) + `}]}`
}

func sized(kind, body string) string {
	return fmt.Sprintf("%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", ok, kind, len(body), body)
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return string(b)
}

// token is an event of text in both APIs, with more fields after it.
func token(text, more string) string {
	text = quote(text)
	return `data: {"choices":[{"index":0,"text":` + text + `,"delta":{"content":` + text + `}` + more + "}]}\n\n"
}

func usage(prompt, output string) string {
	return `"usage":{"prompt_tokens":` + prompt + `,"completion_tokens":` + output + `,"total_tokens":1`
}

// tokens is the number that the request asks for.
func (x *exchange) tokens() int { return min(max(x.MaxTokens, x.Most, 1), 1000) }

// stream are the events of a right answer, up to its usage.
func (x *exchange) stream() string {
	return strings.Repeat(token("a ", ""), x.tokens()-1) + token("a", `,"finish_reason":"length"`)
}

// body is a right answer whose usage has some fields.
func (x *exchange) body(usage string) string {
	if x.Stream {
		return x.stream() + `data: {"choices":[],` + usage + "}}\n\n" + done
	}
	text := quote(strings.Repeat("a ", x.tokens()))
	return `{"choices":[{"index":0,"finish_reason":"length","text":` + text +
		`,"message":{"role":"assistant","content":` + text + `}}],` + usage + "}}"
}

// right is the body of a right answer.
func (x *exchange) right() string { return x.body(usage("8", fmt.Sprint(x.tokens()))) }

func (x *exchange) whole() string {
	if x.Stream {
		return sized("text/event-stream", x.right())
	}
	return sized("application/json", x.right())
}

// head begins an answer of the kind that was asked for, which ends with the connection.
func (x *exchange) head() string {
	if x.Stream {
		return events
	}
	return document
}

// send writes texts, while the client takes them.
func (x *exchange) send(texts ...string) {
	for _, text := range texts {
		if x.failed == nil {
			_, x.failed = io.WriteString(x, text)
		}
	}
}

// wait waits until the client leaves.
func (x *exchange) wait() { _, _ = io.Copy(io.Discard, x.Conn) }

// reply answers with a text.
func reply(text string) func(*exchange) { return func(x *exchange) { x.send(text) } }

// replyBody answers with a body of the kind that was asked for.
func replyBody(text string) func(*exchange) { return func(x *exchange) { x.send(x.head(), text) } }

// replyUsage answers rightly, but for the usage.
func replyUsage(usage string) func(*exchange) {
	return func(x *exchange) { x.send(x.head(), x.body(usage)) }
}

// flood repeats a piece without end after a head; empty: one of the kind that was asked for.
func flood(head, piece string) func(*exchange) {
	return func(x *exchange) {
		many := strings.Repeat(piece, 1+bunch/len(piece))
		if x.send(head); head == "" {
			x.send(x.head())
		}
		for x.failed == nil {
			x.send(many)
		}
	}
}

// drip sends a right answer byte by byte.
func drip(x *exchange) {
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for _, b := range []byte(x.whole()) {
		if x.send(string(b)); x.failed != nil {
			return
		}
		<-t.C
	}
}
