package endpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bench/experiment"
	"bench/experiment/target"
)

// fake is a server with habits, written for these tests alone; its zero value takes and tells everything.
type fake struct {
	models  []string // nil: one, "m"
	noModel bool     // /v1/models is a 404
	version string
	owner   string            // of its models; empty: vllm
	infos   map[string]string // answers by path

	refuses       map[string]int            // request field → status
	ids           int                       // status for a prompt of token ids; 0: it takes them
	idsCountMore  int                       // what it adds to their number: a token of its own
	stumbles      func(http.ResponseWriter) // how its first prompt of token ids fails; nil: it does not
	stumbled      atomic.Bool               //
	silent        bool                      // no usage in streams
	mute          bool                      // no usage at all
	overhead      int                       // tokens around a text prompt
	tools         int                       // and those of tools
	cost          func(word string) int     // nil: one token a word
	constant      bool                      // every prompt counts as 7
	dies          int64                     // after so many posts every connection is dropped; 0: it lives
	posts         atomic.Int64              //
	broken        atomic.Bool               // every post is answered by down
	down          func(http.ResponseWriter) // how
	modelRefused  int                       // status of every post
	alwaysStreams bool                      // it streams every answer, asked for or not
	closesStreams bool                      // it closes the connection after a stream, and does not say so
	lists         bool                      // it lists the token ids of its answers where it is asked for them: 7, 7, …
}

func (f *fake) start(t testing.TB) string { return serve(t, f) }

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	base, err := target.BaseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// reach starts f and reaches it.
func (f *fake) reach(t testing.TB, target experiment.Target, apis ...string) (*Server, error) {
	t.Helper()
	s, err := Reach(t.Context(), target, f.start(t), "", apis, nil)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		f.post(w, r)
	case r.URL.Path == "/v1/models" && !f.noModel:
		names := f.models
		if names == nil {
			names = []string{"m"}
		}
		entries := []any{}
		for i, n := range names {
			entries = append(entries, map[string]any{"id": n, "object": "model", "created": 1000 + i, "owned_by": cmp.Or(f.owner, "vllm"), "max_model_len": 2048})
		}
		reply(w, 200, map[string]any{"object": "list", "data": entries})
	case f.infos[r.RequestURI] != "":
		_, _ = io.WriteString(w, f.infos[r.RequestURI])
	case r.URL.Path == "/version" && f.version != "":
		reply(w, 200, map[string]any{"version": f.version})
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refusal(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]any{"error": map[string]any{"message": text, "type": "invalid_request_error"}})
}

func drop(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	if n := f.posts.Add(1); f.dies > 0 && n > f.dies {
		drop(w)
		return
	}
	if f.broken.Load() {
		f.down(w)
		return
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refusal(w, 400, err.Error())
		return
	}
	for field, status := range f.refuses {
		if _, ok := body[field]; ok {
			refusal(w, status, "unknown field "+field)
			return
		}
	}
	if f.modelRefused != 0 {
		refusal(w, f.modelRefused, "no")
		return
	}
	chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
	prompt := body["prompt"]
	if chat || newer(r.URL.Path) != "" {
		prompt = said(body)
	}
	if _, ok := prompt.([]any); ok && f.stumbles != nil && f.stumbled.CompareAndSwap(false, true) {
		f.stumbles(w)
		return
	}
	if ids, ok := prompt.([]any); ok && f.ids != 0 {
		refusal(w, f.ids, fmt.Sprintf("a prompt is a string, not %d numbers", len(ids)))
		return
	}
	n := f.count(prompt)
	if body["tools"] != nil {
		n += f.tools
	}
	if api := newer(r.URL.Path); api != "" {
		f.answerNewer(w, api, body, n, most(body))
		return
	}
	f.answer(w, body, chat, n)
}

// most is how many tokens a body asks for.
func most(body map[string]any) int {
	n := 1
	for _, key := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		if x, ok := body[key].(float64); ok {
			n = int(x)
		}
	}
	return n
}

// count is the tokens of a prompt by this server's reckoning.
func (f *fake) count(prompt any) int {
	if f.constant {
		return 7
	}
	if ids, ok := prompt.([]any); ok {
		return len(ids) + f.idsCountMore
	}
	n := f.overhead
	for _, word := range strings.Fields(prompt.(string)) {
		if f.cost == nil {
			n++
		} else {
			n += f.cost(word)
		}
	}
	return n
}

func (f *fake) answer(w http.ResponseWriter, body map[string]any, chat bool, prompt int) {
	n := most(body)
	usage := map[string]any{"prompt_tokens": prompt, "completion_tokens": n, "total_tokens": prompt + n}
	choice := func(text string, finish any, delta string) map[string]any {
		c := map[string]any{"index": 0, "text": text, "finish_reason": finish}
		if f.lists && body["return_token_ids"] == true {
			c["token_ids"] = slices.Repeat([]int{7}, len(strings.Fields(text)))
		}
		if chat {
			c = map[string]any{"index": 0, delta: map[string]any{"role": "assistant", "content": text}, "finish_reason": finish}
		}
		return map[string]any{"id": "x", "choices": []any{c}}
	}
	if body["stream"] != true && !f.alwaysStreams {
		whole := choice(strings.Repeat("a ", n), "length", "message")
		if !f.mute {
			whole["usage"] = usage
		}
		reply(w, 200, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(v any) {
		b, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
		_ = http.NewResponseController(w).Flush()
	}
	for i := range n {
		var finish any
		if i == n-1 {
			finish = "length"
		}
		send(choice("a ", finish, "delta"))
	}
	if _, asked := body["stream_options"]; (asked || f.alwaysStreams) && !f.silent && !f.mute {
		send(map[string]any{"id": "x", "choices": []any{}, "usage": usage})
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	if f.closesStreams {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func dead() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
