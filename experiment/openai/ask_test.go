package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"
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
	for body, want := range map[string]string{"<html>": "not the API's: <html>", `{"data":[7]}`: "entry 0"} {
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
	c := testClient(t, listen(t, once(page("200 OK", strings.Repeat("x", askBytes+1)))))
	if _, _, _, err := c.Get(t.Context(), "metrics"); err == nil || !strings.Contains(err.Error(), "4 MiB") {
		t.Error(err)
	}
}

func TestTokenize(t *testing.T) {
	for _, tt := range []struct {
		status, body string
		want         int
		unsupported  bool
	}{
		{"200 OK", `{"count":3,"max_model_len":10,"tokens":[1,2,3]}`, 3, false},
		{"200 OK", `{"count":0,"tokens":[]}`, 0, false},
		{"200 OK", `{"tokens":[1,2]}`, 2, false},
		{"200 OK", `{"tokens":[]}`, 0, true}, // llama.cpp, which reads "content"
		{"200 OK", `<html>`, 0, true},
		{"404 None", ``, 0, true},
		{"405 Not", ``, 0, true},
		{"501 Not", ``, 0, true},
	} {
		c := testClient(t, listen(t, once(page(tt.status, tt.body))))
		n, err := c.Tokenize(t.Context(), "hello")
		if n != tt.want || errors.Is(err, ErrUnsupported) != tt.unsupported || (err != nil) != tt.unsupported {
			t.Errorf("%s %s: %d, %v", tt.status, tt.body, n, err)
		}
	}
	c := testClient(t, listen(t, once(page("500 Oops", "boom"))))
	if _, err := c.Tokenize(t.Context(), "x"); err == nil || errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "boom") {
		t.Error(err)
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
