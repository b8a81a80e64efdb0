package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bench/experiment/target"
)

func page(status, body string) func(p *peer) {
	return func(p *peer) {
		p.say(fmt.Sprintf("HTTP/1.1 %s\r\nServer: tiny/1\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body))
	}
}

func TestModels(t *testing.T) {
	c := testClient(t, listen(t, once(page("200 OK", `{"object":"list","data":[{"id":"m","max_model_len":4096,"owned_by":"vllm","x":[1]},{"id":"n"}]}`))))
	models, err := c.Models(t.Context())
	if err != nil || len(models) != 2 || models[0].ID != "m" || models[0].MaxModelLen != 4096 || models[0].OwnedBy != "vllm" ||
		!strings.Contains(string(models[0].Raw), `"x":[1]`) || models[1].ID != "n" {
		t.Errorf("%+v, %v", models, err)
	}
	for body, want := range map[string]string{"<html>": "not of this API: <html>", `{"data":[7]}`: "entry 0"} {
		c := testClient(t, listen(t, once(page("200 OK", body))))
		if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	c = testClient(t, listen(t, once(page("401 No", `{"error":"bad key"}`))))
	if _, err := c.Models(t.Context()); err == nil || err.Error() != "listing models: HTTP 401: bad key" {
		t.Error(err)
	}
}

func TestGet(t *testing.T) {
	paths := make(chan string, 1)
	addr := listen(t, func(_ int, p *peer) {
		for {
			req, _, err := p.request()
			if err != nil {
				return
			}
			paths <- req.URL.Path
			page("404 None", "no")(p)
		}
	})
	for base, want := range map[string][]string{
		"/v1":        {"/metrics", "/v1/models"},
		"/openai/v1": {"/openai/metrics", "/openai/v1/models"},
		"/api":       {"/api/metrics", "/api/models"},
	} {
		c := testClient(t, "", func(o *Options) { o.BaseURL = "http://" + addr + base })
		for i, path := range []string{"/metrics", "/v1/models"} {
			status, header, body, err := c.Get(t.Context(), path)
			if got := <-paths; got != want[i] || status != 404 || header.Get("Server") != "tiny/1" || string(body) != "no" || err != nil {
				t.Errorf("%s %s: %s, %d %v %s %v", base, path, got, status, header, body, err)
			}
		}
		c.Close()
	}
	c := testClient(t, listen(t, once(page("200 OK", strings.Repeat("x", maxAnswer+1)))))
	if _, _, _, err := c.Get(t.Context(), "metrics"); err == nil || !strings.Contains(err.Error(), "4 MiB") {
		t.Error(err)
	}
}

func TestCountTokens(t *testing.T) {
	const answer = `{"created":"today","choices":[{"text":"a","message":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`
	bodies := make(chan string, 1)
	addr := listen(t, func(_ int, p *peer) {
		for {
			req, body, err := p.request()
			if err != nil {
				return
			}
			bodies <- req.URL.Path + " " + req.Header.Get("Authorization") + " " + string(body)
			page("200 OK", answer)(p)
		}
	})
	for api, want := range map[string]string{
		target.Completions: `/v1/completions Bearer sk-test-0123456789 {"ignore_eos":true,"max_tokens":2,"min_tokens":2,"model":"gpt-4o","prompt":"<a>","stream":false,"temperature":0,"top_k":1}`,
		target.Chat: `/v1/chat/completions Bearer sk-test-0123456789 {"ignore_eos":true,"max_tokens":2,"messages":[{"content":"<a>","role":"user"},` +
			`{"content":"b","role":"assistant"},{"content":"c","role":"user"}],"min_tokens":2,"model":"gpt-4o","stream":false,"temperature":0,"top_k":1}`,
	} {
		c := testClient(t, addr, func(o *Options) { o.API = api })
		e, err := Params{API: api, Model: "gpt-4o", IgnoreEOS: true, Extra: map[string]any{"top_k": 1}}.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		r := c.CountTokens(t.Context(), e, "<a>", "b", "c")
		if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(<-bodies); got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
		if r.Outcome != OK || !r.HasUsage || r.PromptTokens != 9 || r.OutputTokens != 2 {
			t.Errorf("%+v", r)
		}
		c.Close()
	}
	for name, tt := range map[string]struct {
		server  func(*peer)
		outcome Outcome
		status  int
		text    string
	}{
		"no usage":       {page("200 OK", `{"choices":[{"text":"a"}]}`), OK, 200, ""},
		"error object":   {page("200 OK", `{"error":{"message":"boom"}}`), Protocol, 0, "boom"},
		"HTML":           {page("200 OK", `<html>`), Protocol, 0, "<html>"},
		"nothing":        {page("200 OK", ``), Protocol, 0, "not of this API"},
		"API error":      {page("400 Bad", `{"error":{"message":"no, `+testKey+`"}}`), Status, 400, "HTTP 400: no, ***"},
		"FastAPI error":  {page("422 X", `{"detail":[{"msg":"Field required"}]}`), Status, 422, "HTTP 422: Field required"},
		"redirect":       {func(p *peer) { p.say("HTTP/1.1 307 Elsewhere\r\nLocation: /v2\r\nContent-Length: 0\r\n\r\n") }, Status, 307, "redirects are not followed: Location /v2"},
		"closed at once": {func(p *peer) {}, Connect, 0, "EOF"},
		"cut":            {func(p *peer) { p.say("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{") }, Truncated, 0, "EOF"},
		"too long":       {page("200 OK", strings.Repeat("x", maxAnswer+1)), Protocol, 0, "4 MiB"},
	} {
		e, _ := Params{}.Encoder()
		r := testClient(t, listen(t, once(tt.server))).CountTokens(t.Context(), e, "a")
		if r.Outcome != tt.outcome || r.Status != tt.status || r.HasUsage || !strings.Contains(r.Error, tt.text) || strings.Contains(r.Error, testKey) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, _ := Params{}.Encoder()
	if r := testClient(t, addr).CountTokens(ctx, e, "a"); r.Outcome != Cancelled {
		t.Errorf("%+v", r)
	}
}

func TestNew(t *testing.T) {
	for _, o := range []Options{{}, {BaseURL: "mock"}, {BaseURL: "http://h/v1", API: "x"}, {BaseURL: "http://h/v1", APIKey: "a\nb"},
		{BaseURL: "http://h/v1", Headers: map[string]string{"a b": "hush"}}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestModelsRedirected: the error has the redirect's target, without secrets.
func TestModelsRedirected(t *testing.T) {
	c := testClient(t, listen(t, once(func(p *peer) {
		p.say("HTTP/1.1 302 Found\r\nLocation: https://u:pw@b.test/v1/models?access_token=abc\r\nContent-Length: 0\r\n\r\n")
	})))
	_, err := c.Models(t.Context())
	failed := new(FailedError)
	want := "listing models: HTTP 302: redirects are not followed: Location https://***@b.test/v1/models?access_token=***"
	if err == nil || err.Error() != want || !errors.As(err, &failed) || failed.Result.Status != 302 {
		t.Error(err)
	}
}
