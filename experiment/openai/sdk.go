package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"bench/experiment/target"
)

// Unmeasured requests go through go-openai and net/http: the model list, and short prompts whose tokens the
// server counts. Measured requests do not: see exchange.

const (
	getTimeout = 30 * time.Second // of a GET
	maxAnswer  = 4 << 20          // bytes of an unmeasured answer
)

type Model struct {
	ID          string
	OwnedBy     string
	MaxModelLen int             // tokens; 0: not reported
	Raw         json.RawMessage // the entry as the server sent it
}

func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var u unmeasured
	list, err := c.sdk.ListModels(u.attach(ctx))
	if err = ignoreMismatch(err); err != nil {
		return nil, fmt.Errorf("listing models: %w", &FailedError{u.failure(c, err), err})
	}
	// go-openai drops the fields that it does not know, vLLM's max_model_len and llama.cpp's meta among them.
	var entries struct{ Data []json.RawMessage }
	if err := json.Unmarshal(u.answer, &entries); err != nil {
		return nil, fmt.Errorf("listing models: %s", u.failure(c, err).Error)
	}
	models := make([]Model, len(entries.Data))
	for i, raw := range entries.Data {
		m := Model{ID: list.Models[i].ID, OwnedBy: list.Models[i].OwnedBy, Raw: raw}
		dropped := struct {
			MaxModelLen *int `json:"max_model_len"`
		}{&m.MaxModelLen}
		if err := json.Unmarshal(raw, &dropped); err != nil {
			return nil, fmt.Errorf("listing models: entry %d: %s", i, c.secrets.clean(err.Error()))
		}
		if m.ID == "" {
			return nil, fmt.Errorf("listing models: entry %d has no id: %s", i, c.secrets.clean(string(raw)))
		}
		models[i] = m
	}
	return models, nil
}

// CountTokens sends a conversation of texts, the user's and the assistant's in turn, and asks for two tokens,
// not streamed. The result has the outcome and the server's usage. The completions API takes one text.
//
// go-openai supplies the call, its answer and its errors; e supplies the fields of the body that it has no
// name for (ignore_eos, extra_body), those that it drops (temperature 0) and those that it refuses by the
// model's name (max_tokens).
func (c *Client) CountTokens(ctx context.Context, e *Encoder, texts ...string) (r Result) {
	if c.api != target.Completions && c.api != target.Chat && c.api != "" { // go-openai has no call for them
		c.countByDo(ctx, e, texts, &r)
		return r
	}
	u := unmeasured{fields: maps.Clone(e.constant)}
	for _, field := range e.lengths {
		u.fields[field] = 2
	}
	ctx = u.attach(ctx)
	var choices int
	var usage *sdk.Usage
	var err error
	if c.api == target.Chat {
		var messages []sdk.ChatCompletionMessage
		roles := []string{sdk.ChatMessageRoleUser, sdk.ChatMessageRoleAssistant}
		for i, text := range texts {
			messages = append(messages, sdk.ChatCompletionMessage{Role: roles[i%2], Content: text})
		}
		answer, failed := c.sdk.CreateChatCompletion(ctx, sdk.ChatCompletionRequest{Messages: messages})
		choices, usage, err = len(answer.Choices), &answer.Usage, failed
	} else {
		answer, failed := c.sdk.CreateCompletion(ctx, sdk.CompletionRequest{Prompt: texts[0]})
		choices, usage, err = len(answer.Choices), answer.Usage, failed
	}
	if err = ignoreMismatch(err); err == nil && choices == 0 {
		err = errors.New("no choices")
	}
	if err != nil {
		return u.failure(c, err)
	}
	r = Result{Outcome: OK, Status: http.StatusOK}
	if usage != nil && usage.PromptTokens > 0 {
		r.HasUsage, r.PromptTokens, r.OutputTokens = true, usage.PromptTokens, usage.CompletionTokens
	}
	return r
}

func (c *Client) countByDo(ctx context.Context, e *Encoder, texts []string, r *Result) {
	body := e.Body(nil, Prompt{Text: texts[0]}, 2)
	for i := 1; i+1 < len(texts); i += 2 {
		body = e.Extend(nil, body, &Answer{Text: jsonEscape(texts[i])}, Prompt{Text: texts[i+1]}, 2)
	}
	c.Do(ctx, &Call{Body: body}, r)
}

// Get requests a path of the server: "/v1/…" is relative to the API's base, any other ("/version",
// "/metrics") to the server's root, which is the base without /v1. Every status is an answer; a body above 4
// MiB is an error. Secrets that the server echoes are masked in the body and the header.
func (c *Client) Get(ctx context.Context, path string) (status int, header http.Header, body []byte, err error) {
	path = "/" + strings.TrimLeft(path, "/")
	url := c.root + path
	if below, ok := strings.CutPrefix(path, "/v1/"); ok {
		url = c.base + "/" + below
	}
	return c.request(ctx, http.MethodGet, url, nil)
}

// post sends JSON to a path of the server's root. It is not measured. Every status is an answer, with secrets masked.
func (c *Client) post(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	status, _, answer, err = c.request(ctx, http.MethodPost, c.root+path, body)
	return status, answer, err
}

func (c *Client) request(
	ctx context.Context, method, url string, body []byte,
) (status int, header http.Header, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, errors.New(c.secrets.clean(err.Error()))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	var u unmeasured
	resp, err := u.send(c, req)
	if err != nil {
		return 0, nil, nil, err
	}
	return resp.StatusCode, resp.Header, u.answer, nil
}

// newSDK returns go-openai's client over ours. It gets no key: setHeaders adds the credentials.
func (c *Client) newSDK() *sdk.Client {
	config := sdk.DefaultConfig("")
	config.BaseURL, config.HTTPClient = c.base, sdkDoer{c}
	return sdk.NewClientWithConfig(config)
}

// unmeasured is one request beside the load. The context carries it through go-openai to the doer.
type unmeasured struct {
	fields    map[string]any // laid over the body that go-openai encodes; nil: none
	responded bool           // a response's header came
	header    http.Header    // of the response, without secrets; nil: none came
	answer    []byte         // the response's body, without secrets
}

type unmeasuredKey struct{}

func (u *unmeasured) attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, unmeasuredKey{}, u)
}

type sdkDoer struct{ client *Client }

func (d sdkDoer) Do(req *http.Request) (*http.Response, error) {
	u, ok := req.Context().Value(unmeasuredKey{}).(*unmeasured)
	if !ok {
		u = new(unmeasured)
	}
	if u.fields != nil {
		var body map[string]any
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			return nil, err
		}
		maps.Copy(body, u.fields)
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		req.Body, req.GetBody, req.ContentLength = io.NopCloser(bytes.NewReader(encoded)), nil, int64(len(encoded))
	}
	resp, err := u.send(d.client, req)
	if err == nil && resp.StatusCode/100 == 3 { // go-openai would read a redirect's body as an answer
		return nil, &sdk.RequestError{HTTPStatus: resp.Status, HTTPStatusCode: resp.StatusCode,
			Body: []byte(redirectText(resp))}
	}
	return resp, err
}

// send sends the request over net/http, and reads the whole answer. Secrets are masked in what it returns.
func (u *unmeasured) send(c *Client, req *http.Request) (*http.Response, error) {
	limit := c.timeout
	if req.Method == http.MethodGet {
		limit = min(limit, getTimeout)
	}
	ctx, cancel := context.WithTimeout(req.Context(), limit)
	defer cancel()
	req = req.WithContext(ctx)
	c.setHeaders(req)
	req.Close = c.noReuse.Load()
	resp, err := c.transport.RoundTrip(req)
	if err == nil {
		u.responded = true
		u.answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		resp.Body.Close()
	}
	if err == nil && len(u.answer) > maxAnswer {
		err = errors.New("the answer is longer than 4 MiB")
	}
	if err != nil {
		return nil, &cleanError{c.secrets.clean(fmt.Sprintf("%s %s: %v", req.Method, req.URL, err)), err}
	}
	for _, secret := range c.secrets {
		u.answer = bytes.ReplaceAll(u.answer, []byte(secret), []byte(mask))
	}
	c.secrets.hideHeader(resp.Header)
	u.header = resp.Header
	resp.Body = io.NopCloser(bytes.NewReader(u.answer))
	return resp, nil
}

func (u *unmeasured) failure(c *Client, err error) Result {
	var api *sdk.APIError
	var other *sdk.RequestError
	var network net.Error
	var transport *cleanError
	r := Result{Outcome: Protocol, Error: err.Error(), Header: u.header}
	switch {
	case errors.As(err, &other): // before the next case: its cause can be an empty APIError
		r.Outcome, r.Status, r.Error = Status, other.HTTPStatusCode, bodyMessage(other.Body)
	case errors.As(err, &api):
		r.Outcome, r.Status, r.Error = Status, api.HTTPStatusCode, api.Message
	case errors.Is(err, context.Canceled):
		r.Outcome = Cancelled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		r.Outcome = Timeout
	case errors.As(err, &transport) && !u.responded:
		r.Outcome = Connect
	case transport != nil && connectionLost(err):
		r.Outcome = Truncated
	case transport == nil:
		r.Error = "the answer is not of this API: " + bodyMessage(u.answer)
	}
	if r.Outcome == Status {
		r.Error = fmt.Sprintf("HTTP %d: %s", r.Status, r.Error)
	}
	r.Error = c.secrets.clean(r.Error)
	return r
}

// ignoreMismatch drops the error of a JSON field that has another type than go-openai expects; encoding/json
// has read the other fields all the same. Servers differ in fields that bench does not need, such as created.
func ignoreMismatch(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

func redirectText(resp *http.Response) string {
	return "redirects are not followed: Location " + target.Redact(resp.Header.Get("Location"))
}

type FailedError struct {
	Result Result // Outcome, Error, and Status and Header of the answer, if there was one
	cause  error
}

func (e *FailedError) Error() string { return e.Result.Error }

func (e *FailedError) Unwrap() error { return e.cause }

// cleanError is an error whose text was made safe to show; its cause is for errors.Is.
type cleanError struct {
	text  string
	cause error
}

func (e *cleanError) Error() string { return e.text }

func (e *cleanError) Unwrap() error { return e.cause }
