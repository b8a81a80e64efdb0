package openai

import (
	"bytes"
	"context"
	"errors"
	"net/http"
)

// Post sends JSON to a path of the server's root. It is not measured. Every status is an answer, with secrets masked.
func (c *Client) Post(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.root+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New(c.secrets.clean(err.Error()))
	}
	req.Header.Set("Content-Type", "application/json")
	var u unmeasured
	resp, err := u.send(c, req)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, u.answer, nil
}
