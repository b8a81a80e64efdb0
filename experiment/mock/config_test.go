package mock

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

func TestConfigFromTOML(t *testing.T) {
	var c Config
	meta, err := toml.Decode("model = 'x'\nttft = '50ms'\nitl = '10ms'\nmax_num_seqs = 4\nseed = 3\nfaults = ['stall=2@5']\n", &c)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Fatal(err, meta.Undecoded())
	}
	if c.Model != "x" || c.TTFT != 50*time.Millisecond || c.ITL != 10*time.Millisecond || c.MaxNumSeqs != 4 || c.Seed != 3 {
		t.Errorf("%+v", c)
	}
	text, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(text), `"ttft_ns":50000000`) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestConfigCheck(t *testing.T) {
	tests := []struct {
		c    Config
		keys []string
	}{
		{Config{}, nil},
		{Config{TTFT: time.Millisecond}, nil},
		{Config{StepBase: time.Millisecond}, nil},
		{Config{TTFT: -1, Queue: -1, Seed: 5}, []string{"ttft", "queue"}},
		{Config{TTFT: 1, StepPerSeq: 1}, []string{"ttft", "step_base"}},
		{Config{MaxNumSeqs: 4096}, []string{"max_num_seqs"}},
		{Config{KVBlocks: 10}, []string{"kv_blocks"}},
		{Config{Model: "m", ServedModels: []string{"b", "a", "a"}, Adapters: map[string]float64{"a": 2, "b": 1, "c": -1}},
			[]string{"models", "models[2]", "adapters.b", "adapters.c", "adapters.c"}},
		{Config{ReasoningTokens: -1}, []string{"reasoning_tokens"}},
		{Config{ValidAnswers: new(float64(2)), CorrectAnswers: new(float64(-1))}, []string{"valid_answers", "correct_answers"}},
		{Config{Speculation: Speculation{Acceptance: 2}},
			[]string{"speculation.tokens", "speculation.acceptance"}},
		{Config{Speculation: Speculation{Tokens: 65}}, []string{"speculation.tokens"}},
		{Config{Faults: []string{"no-done", "nonsense", "multi=0", "stall", "no-done=3", "crlf@0"}}, []string{"faults[1]", "faults[2]", "faults[3]", "faults[4]", "faults[5]"}},
	}
	for _, test := range tests {
		var keys []string
		test.c.Check(func(key, problem, hint string) {
			keys = append(keys, key)
			if problem == "" || hint == "" {
				t.Errorf("%s: %q, %q", key, problem, hint)
			}
		})
		if !slices.Equal(keys, test.keys) {
			t.Errorf("%+v: mistakes in %v, want %v", test.c, keys, test.keys)
		}
		if s, err := New(test.c); (err == nil) != (len(test.keys) == 0) {
			t.Errorf("New: %v", err)
		} else if err == nil && s.Describe() == "" {
			t.Error("no description")
		}
	}
}

// What the server generates has, sent back as text, the ids that it was generated with.
func TestWordsRoundTrip(t *testing.T) {
	v := vocab(1000)
	r := rand.New(rand.NewPCG(1, 2))
	q := newSeq(5, v, []int32{1, 2, 3}, 0)
	p := reply{q: q}
	for i, id := range v.encode(nil, p.text(0, 500)) {
		if id != q.generated(i) {
			t.Fatalf("token %d is %d, was %d", i, id, q.generated(i))
		}
	}
	for range 1000 {
		word := strings.Repeat("w0", r.IntN(4)) + string(rune('a'+r.IntN(26)))
		if id := v.id(word); id < idFirst || id >= int32(v) {
			t.Errorf("%q has id %d", word, id)
		}
	}
}

// The truth is bounded in records and in events, and forgets the oldest first.
func TestTruthIsBounded(t *testing.T) {
	var log recordRing
	for range maxRecords + 10 {
		log.add(&Record{DueNS: make([]int64, 1)})
	}
	if all := log.after(0); len(all) != maxRecords || all[0].N != 11 {
		t.Errorf("%d records from %d", len(all), all[0].N)
	}
	log.add(&Record{DueNS: make([]int64, maxEvents)})
	if all := log.after(maxRecords + 10); len(all) != 1 || log.events > maxEvents || len(log.after(0)) != 1 {
		t.Errorf("%d records, %d events", len(log.after(0)), log.events)
	}
}
