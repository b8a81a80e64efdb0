package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	askFor   = 30 * time.Second // how long a question beside the load may take
	askBytes = 4 << 20          // and how long its answer may be
)

// ErrUnsupported says that the server has no such call.
var ErrUnsupported = errors.New("the server does not support it")

// Model is an entry of /v1/models.
type Model struct {
	ID          string          `json:"id"`
	OwnedBy     string          `json:"owned_by"`
	MaxModelLen int             `json:"max_model_len"` // tokens; 0: not told
	Raw         json.RawMessage `json:"-"`             // the entry as it came
}

// Models lists what the server serves.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	status, _, body, err := c.Get(ctx, "/v1/models")
	if err == nil && status != http.StatusOK {
		err = c.statusError(status, body)
	}
	if err != nil {
		return nil, fmt.Errorf("listing models: %w", err)
	}
	var answer struct{ Data []json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("listing models: the answer is not the API's: %s", c.secrets.clean(string(body)))
	}
	models := make([]Model, len(answer.Data))
	for i, raw := range answer.Data {
		if err := json.Unmarshal(raw, &models[i]); err != nil {
			return nil, fmt.Errorf("listing models: entry %d: %s", i, c.secrets.clean(err.Error()))
		}
		models[i].Raw = raw
	}
	return models, nil
}

// Get asks for a path of the server: "/v1/…" is relative to the API's base, any other ("/version", "/metrics") to the
// server's root, which is the base without /v1. Every status is an answer; a body above 4 MiB is an error. Secrets that
// the server echoes are masked in the body and the header.
func (c *Client) Get(ctx context.Context, path string) (status int, header http.Header, body []byte, err error) {
	return c.ask(ctx, http.MethodGet, path, nil)
}

// Tokenize has the server count a prompt's tokens by vLLM's /tokenize, special tokens included. The error is
// ErrUnsupported where the server has no such call, or none that counts.
func (c *Client) Tokenize(ctx context.Context, prompt string) (count int, err error) {
	question, err := json.Marshal(map[string]any{"model": c.model, "prompt": prompt})
	if err != nil {
		return 0, fmt.Errorf("counting tokens: %w", err)
	}
	status, _, body, err := c.ask(ctx, http.MethodPost, "/tokenize", question)
	switch {
	case err != nil:
		return 0, fmt.Errorf("counting tokens: %w", err)
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return 0, fmt.Errorf("counting tokens: %w", ErrUnsupported)
	case status != http.StatusOK:
		return 0, fmt.Errorf("counting tokens: %w", c.statusError(status, body))
	}
	var answer struct {
		Count  *int
		Tokens []json.RawMessage
	}
	if json.Unmarshal(body, &answer) != nil || answer.Count == nil && len(answer.Tokens) == 0 {
		return 0, fmt.Errorf("counting tokens: no count in the answer: %w", ErrUnsupported)
	}
	if answer.Count == nil {
		return len(answer.Tokens), nil
	}
	return *answer.Count, nil
}

// url is the address of a path as Get takes it.
func (c *Client) url(path string) string {
	path = "/" + strings.TrimLeft(path, "/")
	if below, ok := strings.CutPrefix(path, "/v1/"); ok {
		return c.base + "/" + below
	}
	return c.root + path
}

// ask sends a question that is no part of the load, and reads the answer.
func (c *Client) ask(ctx context.Context, method, path string, question []byte) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, min(c.timeout, askFor))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url(path), bytes.NewReader(question))
	if err != nil {
		return 0, nil, nil, errors.New(c.secrets.clean(err.Error()))
	}
	if question != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.dress(req)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, nil, c.askError(req, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, askBytes+1))
	if err != nil {
		return 0, nil, nil, c.askError(req, err)
	}
	if len(body) > askBytes {
		return 0, nil, nil, c.askError(req, errors.New("the answer is longer than 4 MiB"))
	}
	for _, secret := range c.secrets {
		body = bytes.ReplaceAll(body, []byte(secret), []byte(mask))
	}
	return resp.StatusCode, c.secrets.hideHeader(resp.Header), body, nil
}

// askError names the address; the cause stays reachable by errors.Is, but its text is cleaned.
func (c *Client) askError(req *http.Request, err error) error {
	return &cleanError{c.secrets.clean(fmt.Sprintf("%s %s: %v", req.Method, req.URL, err)), err}
}

func (c *Client) statusError(status int, body []byte) error {
	return fmt.Errorf("HTTP %d: %s", status, c.secrets.clean(bodyMessage(body)))
}

// cleanError is an error whose text was made safe to show.
type cleanError struct {
	text  string
	cause error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.cause }
