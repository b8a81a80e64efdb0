package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// habit is a server and what should be learnt of it.
type habit struct {
	name string
	fake *fake
	api  string
	form string
	how  string // a part of the calibration
	omit string
	off  int // by how many tokens a prompt may miss its length
}

func refuse(status int, fields ...string) map[string]int {
	out := map[string]int{}
	for _, f := range fields {
		out[f] = status
	}
	return out
}

func TestProbe(t *testing.T) {
	long := func(most int) func(string) int {
		return func(word string) int { return 1 + max(0, len(word)-1)/most }
	}
	var habits = []habit{
		{name: "takes all", fake: &fake{}, form: "token_ids", how: "token IDs: exact"},
		{name: "chat has no ids", fake: &fake{overhead: 9}, api: "chat", form: "text", how: "one token each"},
		{name: "ids refused by 400", fake: &fake{ids: 400}, form: "text", how: "; no token IDs: HTTP 400"},
		{name: "ids refused by 422", fake: &fake{ids: 422, overhead: 1}, form: "text", how: "one token each"},
		{name: "ids refused by 500", fake: &fake{ids: 500}, form: "text", how: "one token each"},
		{name: "ids taken for text", fake: &fake{idsCountMore: 70}, form: "text", how: "; no token IDs: of 24 the server counted 94"},
		{name: "usage only in whole answers", fake: &fake{silent: true}, form: "token_ids", how: "token IDs: exact"},
		{name: "usage only in whole answers, text", fake: &fake{silent: true, ids: 400, overhead: 3}, form: "text", how: "one token each"},
		{name: "no stream_options, so no usage in streams", fake: &fake{refuses: refuse(400, "stream_options"), ids: 400}, form: "text",
			how: "one token each", omit: "stream_options"},
		{name: "no usage at all", fake: &fake{mute: true}, form: "text", how: "the server does not report prompt tokens"},
		{name: "a constant count", fake: &fake{constant: true}, form: "text", how: "does not grow with the prompt"},
		{name: "long words are two tokens", fake: &fake{ids: 400, cost: long(6), overhead: 4}, form: "text", how: "words that are one token each"},
		{name: "long words are two tokens, chat", fake: &fake{cost: long(5), overhead: 20}, api: "chat", form: "text", how: "words that are one token each"},
		{name: "every word is two tokens", fake: &fake{ids: 400, cost: func(string) int { return 2 }, overhead: 3}, form: "text",
			how: "2 tokens per word on average", off: 1},
		{name: "bytes are tokens", fake: &fake{ids: 400, cost: func(w string) int { return len(w) + 1 }}, form: "text",
			how: "tokens per word on average by the server's count: lengths are approximate", off: 90},
		{name: "closes after a stream", fake: &fake{closesStreams: true, ids: 400}, form: "text", how: "one token each"},
	}
	for _, api := range []string{target.Responses, target.Messages} {
		habits = append(habits,
			habit{name: api, fake: &fake{overhead: 9}, api: api, form: "text", how: "one token each"},
			habit{name: api + " refuses what it does not know", fake: &fake{refuses: refuse(400, "ignore_eos", "min_tokens")}, api: api, form: "text",
				how: "one token each", omit: "ignore_eos min_tokens"},
			habit{name: api + " with usage only in whole answers", fake: &fake{silent: true, overhead: 3}, api: api, form: "text", how: "one token each"},
			habit{name: api + " always streams", fake: &fake{alwaysStreams: true, overhead: 2}, api: api, form: "text", how: "one token each"},
			habit{name: api + " without usage", fake: &fake{mute: true}, api: api, form: "text", how: "the server does not report prompt tokens"},
			habit{name: api + " with long words", fake: &fake{cost: long(5), overhead: 20}, api: api, form: "text", how: "words that are one token each"},
			habit{name: api + " closes after a stream", fake: &fake{closesStreams: true}, api: api, form: "text", how: "one token each"})
	}
	for _, f := range optionalFields {
		for _, status := range []int{400, 422, 500} {
			habits = append(habits, habit{name: fmt.Sprintf("refuses %s by %d", f, status), fake: &fake{refuses: refuse(status, f)},
				form: "token_ids", how: "token IDs", omit: f})
		}
	}
	habits = append(habits,
		habit{name: "refuses two", fake: &fake{refuses: refuse(400, "min_tokens", "temperature")}, form: "token_ids", how: "token IDs", omit: "min_tokens temperature"},
		habit{name: "refuses all", fake: &fake{refuses: refuse(422, optionalFields...)}, form: "token_ids", how: "token IDs",
			omit: strings.Join(slices.Sorted(slices.Values(optionalFields)), " ")},
	)
	for _, h := range habits {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			h.check(t)
		})
	}
}

func (h habit) check(t *testing.T) {
	if h.api == "" {
		h.api = target.Completions
	}
	s, err := h.fake.reach(t, experiment.Target{}, h.api)
	if err != nil {
		t.Fatal(err)
	}
	d := s.apis[h.api]
	if s.Info.PromptForm != h.form || !strings.Contains(s.Info.Tokenizer, h.how) {
		t.Errorf("prompts are %s: %s", s.Info.PromptForm, s.Info.Tokenizer)
	}
	if omit := strings.Join(slices.Sorted(maps.Keys(d.omit)), " "); omit != h.omit {
		t.Errorf("left out: %q, want %q", omit, h.omit)
	}
	if closes := strings.Contains(s.Info.Connections, "one per request"); closes != h.fake.closesStreams {
		t.Errorf("connections: %s", s.Info.Connections)
	}
	if s.Info.Model != "m" || s.contextLength != 2048 {
		t.Errorf("model %q of %d tokens", s.Info.Model, s.contextLength)
	}
	if h.fake.mute || h.fake.constant {
		return
	}
	// Prompts come to the length that is asked for, by the server's own count.
	plan := workload.NewPlan(workload.Workload{Input: workload.Length{Dist: "uniform", Min: 40, Max: 400}, Output: workload.Fixed(1)}, 1, "salt")
	for range 30 {
		r := plan.Next()
		var prompt any
		if d.vocab.IDs > 0 {
			prompt = make([]any, len(d.vocab.TokenIDs(nil, &r)))
		} else {
			prompt = d.vocab.Text(&r)
		}
		if got := h.fake.count(prompt); got < r.Input-h.off || got > r.Input+h.off {
			t.Errorf("a prompt of %d came to %d", r.Input, got)
		}
	}
}

func TestReachErrorsSayWhatToDo(t *testing.T) {
	html := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<html>a start page</html>")
	}
	page := &fake{down: html}
	page.broken.Store(true)
	gone := &fake{down: drop}
	gone.broken.Store(true)
	for _, c := range []struct {
		name   string
		fake   *fake
		target experiment.Target
		want   []string
	}{
		{"no model listed", &fake{models: []string{}}, experiment.Target{}, []string{"lists no model", `model = "…" in [target]`}},
		{"several", &fake{models: []string{"a", "b", "c"}}, experiment.Target{}, []string{`3 models: "a", "b", "c"`, `model = "a" in [target]`}},
		{"no list", &fake{noModel: true}, experiment.Target{}, []string{"listing models", "404"}},
		{"401", &fake{modelRefused: 401}, experiment.Target{}, []string{"HTTP 401", "hint: set the API key"}},
		{"404", &fake{modelRefused: 404}, experiment.Target{}, []string{"HTTP 404", "hint: set another model or API"}},
		{"429", &fake{modelRefused: 429}, experiment.Target{}, []string{"HTTP 429", "limits the rate of requests"}},
		{"400 for all", &fake{modelRefused: 400}, experiment.Target{}, []string{"HTTP 400", "[target.extra_body]"}},
		{"500 for all", &fake{modelRefused: 500}, experiment.Target{}, []string{"HTTP 500", "server's log"}},
		{"a web page", page, experiment.Target{}, []string{"protocol", "check the URL"}},
		{"nobody answers", gone, experiment.Target{}, []string{"connect", "server's log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.fake.reach(t, c.target, target.Completions)
			if err == nil {
				t.Fatal("reached")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nlacks %q", err, part)
				}
			}
			var probe *ProbeError
			if c.fake.modelRefused != 0 && (!errors.As(err, &probe) || probe.Result.Status != c.fake.modelRefused) {
				t.Errorf("not a ProbeError of %d: %v", c.fake.modelRefused, err)
			}
		})
	}
}

// One failed ask is no refusal of token ids: the form of all prompts must not hang on it.
func TestReachAsksAgainAboutIDs(t *testing.T) {
	by := func(status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { refusal(w, status, "not now") }
	}
	for name, c := range map[string]struct {
		fake *fake
		form string
	}{
		"connection lost":     {&fake{stumbles: drop}, "token_ids"},
		"500":                 {&fake{stumbles: by(500)}, "token_ids"},
		"503":                 {&fake{stumbles: by(503)}, "token_ids"},
		"429":                 {&fake{stumbles: by(429)}, "token_ids"},
		"503, then a refusal": {&fake{stumbles: by(503), ids: 400}, "text"},
		"400 is a refusal":    {&fake{stumbles: by(400)}, "text"},
		"501 is a refusal":    {&fake{stumbles: by(501)}, "text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := c.fake.reach(t, experiment.Target{}, target.Completions)
			if err != nil {
				t.Fatal(err)
			}
			if s.Info.PromptForm != c.form || !c.fake.stumbled.Load() {
				t.Errorf("%s: %s", s.Info.PromptForm, s.Info.Tokenizer)
			}
		})
	}
}

// A server that streams every answer, as vllm-bench's mock does, is asked for its counts in streams.
func TestReachAServerThatAlwaysStreams(t *testing.T) {
	f := &fake{alwaysStreams: true, ids: 400}
	s, err := f.reach(t, experiment.Target{}, target.Completions)
	if err != nil {
		t.Fatal(err)
	}
	if s.Info.PromptForm != "text" || !strings.Contains(s.Info.Tokenizer, "one token each") {
		t.Errorf("%s: %s", s.Info.PromptForm, s.Info.Tokenizer)
	}
}

// A server may die at any request of the probe: that is an error with a hint.
func TestReachAServerThatDies(t *testing.T) {
	habits := func(dies int64) *fake {
		return &fake{dies: dies, ids: 400, cost: func(w string) int { return 1 + len(w)/6 }}
	}
	f := habits(0)
	if _, err := f.reach(t, experiment.Target{}, target.Completions); err != nil {
		t.Fatal(err)
	}
	all := f.posts.Load()
	for _, n := range []int64{1, 2, 3, 4, 5, 6, 7, 8, all / 2, all - 2, all - 1} {
		_, err := habits(n).reach(t, experiment.Target{}, target.Completions)
		if err == nil || !strings.Contains(err.Error(), "trying completions of http://127.0.0.1") || !strings.Contains(err.Error(), "hint: check the server's log") {
			t.Fatalf("dead after %d posts: %v", n, err)
		}
	}
}

func TestReachAServerThatDiesUncounted(t *testing.T) {
	f := &fake{dies: 3, silent: true} // the fourth would be the first whole answer
	if _, err := f.reach(t, experiment.Target{}, target.Completions); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Errorf("error %v", err)
	}
}

func TestReachIsInterrupted(t *testing.T) {
	f := &fake{}
	if _, err := Reach(dead(), experiment.Target{}, f.start(t), "", []string{target.Completions}, nil); err == nil {
		t.Error("reached in no time")
	}
	if f.posts.Load() > 0 {
		t.Error("requests were sent after the end")
	}
}

func TestProbeErrorWithoutAStatus(t *testing.T) {
	for outcome, want := range map[openai.Outcome]string{
		openai.Timeout: "timeout: it was\nhint: raise timeout", openai.Cancelled: "cancelled: it was", openai.Truncated: "truncated: it was\nhint: check",
	} {
		err := &ProbeError{Result: openai.Result{Outcome: outcome, Error: "it was"}}
		if !strings.HasPrefix(err.Error(), want) || outcome == openai.Cancelled && err.Error() != want {
			t.Errorf("%s: %s", outcome, err)
		}
	}
}
