package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	sdk "github.com/sashabaranov/go-openai"

	"bench/experiment/target"
)

// template is the request as go-openai makes it, address, key and headers, around a stub of a body: it is made once,
// and each call's own body and headers are put in its place.
type template struct {
	request *http.Request
	stream  []byte // the request line and the headers that all calls share
	whole   []byte // the same for an answer in one piece
}

// newTemplate has go-openai make a request and takes it from there. Nothing is sent.
func (c *Client) newTemplate() (template, error) {
	var made *http.Request
	taken := errors.New("taken")
	err := c.viaSDK(func(req *http.Request) (*http.Response, error) {
		made = req
		return nil, taken
	})
	if !errors.Is(err, taken) {
		return template{}, fmt.Errorf("making the client: %w", err)
	}
	c.dress(made)
	made.Header.Del("Connection") // each call says whether it keeps its connection
	t := template{request: made, stream: appendHead(made)}
	made.Header.Set("Accept", "application/json")
	t.whole = appendHead(made)
	return t, nil
}

// appendHead is the request line and the headers without what follows from the body.
func appendHead(req *http.Request) []byte {
	var b bytes.Buffer
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", req.URL.RequestURI(), host)
	_ = req.Header.Write(&b) // a buffer takes all
	return b.Bytes()
}

// head appends a call's request line and headers to b.
func (t *template) head(b []byte, call *Call, keep bool) []byte {
	if call.Stream {
		b = append(b, t.stream...)
	} else {
		b = append(b, t.whole...)
	}
	if call.RequestID != "" {
		b = append(append(append(b, "X-Request-Id: "...), call.RequestID...), "\r\n"...)
	}
	if !keep {
		b = append(b, "Connection: close\r\n"...)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(call.Body)), 10)
	return append(b, "\r\n\r\n"...)
}

// http is the call as net/http has it.
func (t *template) http(ctx context.Context, call *Call) *http.Request {
	req := t.request.Clone(ctx)
	req.Header.Set("Accept", "text/event-stream")
	if !call.Stream {
		req.Header.Set("Accept", "application/json")
	}
	if call.RequestID != "" {
		req.Header.Set("X-Request-Id", call.RequestID)
	}
	req.Body, req.ContentLength, req.GetBody = io.NopCloser(bytes.NewReader(call.Body)), int64(len(call.Body)), nil
	return req
}

// dress sets the headers that every request has.
func (c *Client) dress(req *http.Request) {
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	} else if c.user != nil {
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
	req.Header.Set("User-Agent", "bench")
	for name, value := range c.headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
}

// doer is what go-openai sends its requests by.
type doer func(req *http.Request) (*http.Response, error)

type doerKey struct{}

// Do hands the request to the doer in its context.
func (doer) Do(req *http.Request) (*http.Response, error) {
	do, ok := req.Context().Value(doerKey{}).(doer)
	if !ok {
		return nil, errors.New("a request from outside of the client")
	}
	return do(req)
}

// viaSDK has go-openai make a request of the client's API, gives it to do, and returns what go-openai makes of the answer.
func (c *Client) viaSDK(do doer) error {
	ctx := context.WithValue(context.Background(), doerKey{}, do)
	if c.api == target.Chat {
		_, err := c.sdk.CreateChatCompletionStream(ctx, sdk.ChatCompletionRequest{})
		return err
	}
	_, err := c.sdk.CreateCompletionStream(ctx, sdk.CompletionRequest{Prompt: ""})
	return err
}

// refusal is the error that go-openai makes of an answer with another status than 2xx; nil for a redirect.
func (c *Client) refusal(resp *http.Response, body []byte) error {
	return c.viaSDK(func(*http.Request) (*http.Response, error) {
		shown := *resp
		shown.Body = io.NopCloser(bytes.NewReader(body))
		return &shown, nil
	})
}
