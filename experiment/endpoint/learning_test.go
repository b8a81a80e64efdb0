package endpoint

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"bench/experiment"
	"bench/experiment/target"
)

// long are words of more than one token where a test needs some.
func long(w string) int { return 1 + len(w)/6 }

// tokenizing is a fake with POST /tokenize in the dialect of an engine.
type tokenizing struct {
	fake
	dialect   string // vllm, sglang, llamacpp; "other": a tokenizer that counts otherwise; "": none
	tokenized atomic.Int64
}

func (f *tokenizing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/tokenize" || f.dialect == "" {
		if r.URL.Path == "/tokenize" {
			http.NotFound(w, r)
			return
		}
		f.fake.ServeHTTP(w, r)
		return
	}
	f.tokenized.Add(1)
	var body struct {
		Model, Prompt, Content string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refusal(w, 400, err.Error())
		return
	}
	text := body.Prompt
	if f.dialect == "llamacpp" {
		text = body.Content
	}
	with := fake{overhead: 1, cost: long} // of a special token before the text
	n := with.count(text)
	tokens := slices.Repeat([]int{7}, n)
	switch {
	case f.dialect == "vllm" && body.Model != "m":
		refusal(w, 404, "no such model")
	case f.dialect == "llamacpp":
		reply(w, 200, map[string]any{"tokens": tokens[1:]})
	case f.dialect == "other":
		reply(w, 200, map[string]any{"count": 2 * n})
	case f.dialect == "sglang":
		reply(w, 200, map[string]any{"count": n, "tokens": tokens, "max_model_len": 2048})
	default:
		reply(w, 200, map[string]any{"count": n, "tokens": tokens, "token_strs": nil})
	}
}

func (f *tokenizing) reach(t *testing.T, l *Learning, apis ...string) *Server {
	t.Helper()
	f.ids, f.cost = 400, long
	server := serve(t, f)
	s, err := Reach(t.Context(), experiment.Target{}, server, "", apis, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for api, c := range s.apis {
		if c.vocab.TokensPerWord != 1 || len(c.vocab.Words) < fewestWords || slices.ContainsFunc(c.vocab.Words, func(w string) bool { return long(w) != 1 }) {
			t.Errorf("%s: %v", api, c.vocab.Words)
		}
	}
	return s
}

// Words of one token each are found by /tokenize of each engine, with few requests that generate; without it, or where
// it counts otherwise, by requests alone. A second API of the model learns nothing again.
func TestWordsByTokenize(t *testing.T) {
	for dialect, most := range map[string]int64{"vllm": 25, "sglang": 25, "llamacpp": 25, "other": 125, "": 125} {
		t.Run(dialect, func(t *testing.T) {
			f := &tokenizing{dialect: dialect}
			s := f.reach(t, nil, target.Completions, target.Chat)
			if n := f.posts.Load(); n > most {
				t.Errorf("%d requests, %d of /tokenize", n, f.tokenized.Load())
			}
			if a, b := s.apis[target.Completions].vocab.Words, s.apis[target.Chat].vocab.Words; !slices.Equal(a, b) {
				t.Errorf("%v and %v", a, b)
			}
			t.Logf("%q: %d requests, %d of /tokenize", dialect, f.posts.Load(), f.tokenized.Load())
		})
	}
}

// A later run tries the words of the one before, and the server's count decides.
func TestWordsOfAnEarlierRun(t *testing.T) {
	kept := map[string][]string{}
	l := func() *Learning {
		return &Learning{Words: func(id string) []string { return kept[id] }, Keep: func(id string, w []string) { kept[id] = w }}
	}
	count := func() int64 {
		f := &tokenizing{}
		f.reach(t, l(), target.Chat)
		return f.posts.Load()
	}
	first := count()
	if len(kept) != 1 {
		t.Fatalf("%v", kept)
	}
	if again := count(); again > 8 || first < 3*again {
		t.Errorf("%d requests, then %d", first, again)
	}
	for id := range kept {
		for what, bad := range map[string][]string{"words of a file that is none of ours": slices.Repeat([]string{"x"}, 40), "too few": {"time"}, "of another tokenizer": words} {
			kept[id] = bad
			if n := count(); n < first || n > first+2 || !slices.Contains(kept[id], "time") || len(kept[id]) > 2*fewestWords+40 {
				t.Errorf("%s: %d requests, %v", what, n, kept[id])
			}
		}
	}
}

func TestProgressOfLearning(t *testing.T) {
	f := &tokenizing{}
	said := 0
	f.reach(t, &Learning{Progress: func(int) { said++ }}, target.Chat)
	if said > 0 {
		t.Error("a server that answers at once needs no progress")
	}
}
