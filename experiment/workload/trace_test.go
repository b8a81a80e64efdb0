package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/trace"
)

const mooncake = `{"timestamp": 0, "input_length": 600, "output_length": 20, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [0, 2, 3]}
{"timestamp": 3000, "input_length": 520, "output_length": 7, "hash_ids": [0, 2]}
{"timestamp": 6000, "input_length": 1536, "output_length": 40, "hash_ids": [0, 2, 3]}
`

func traceFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func looked(t *testing.T, o trace.Options, arrival string) Workload {
	t.Helper()
	w := Workload{Trace: &Trace{Options: o}, Arrival: Arrival{Process: arrival}}
	w.Trace.Look(new(Files), func(key, problem, hint string) { t.Fatalf("%s: %s (%s)", key, problem, hint) })
	w.Rate = w.OwnRate()
	w.Check(func(key, problem, hint string) { t.Fatalf("%s: %s (%s)", key, problem, hint) })
	return w
}

func rest(p *Plan) (out []Request) {
	for p.More() {
		out = append(out, p.Next())
	}
	return out
}

func TestTracePlan(t *testing.T) {
	w := looked(t, trace.Options{File: traceFile(t, mooncake)}, "trace")
	if h := w.Trace.Head; h.RatePerS != 4.0/6 || h.InputMax != 1536 || h.OutputMax != 40 || !h.Timed || len(w.Trace.SHA256) != 64 || w.Longest() != 1576 {
		t.Errorf("looked at: %+v", w.Trace)
	}
	p := NewPlan(w, 1, "salt")
	var times []time.Duration
	for at := range p.Arrivals {
		times = append(times, at)
	}
	first := p.Next()
	ahead := slices.Collect(p.all(0, 0))
	got := append([]Request{first}, rest(p)...)
	if d := cmp.Diff(got[1:], ahead); d != "" {
		t.Errorf("looking ahead gives another plan:\n%s", d)
	}
	for range p.all(0, 0) {
		t.Error("something comes behind the end")
	}
	if p.Err() != nil || len(got) != 4 {
		t.Fatalf("%d requests, %v", len(got), p.Err())
	}
	for i, r := range got {
		tokens := 0
		for _, b := range r.Blocks {
			if b.Tokens < 1 || b.Tokens > BlockTokens {
				t.Errorf("request %d: a block of %d tokens", i, b.Tokens)
			}
			tokens += b.Tokens
		}
		if r.Index != i || tokens != r.Input || r.At != times[i] {
			t.Errorf("request %d: %d tokens in blocks, %d in all, at %v of %v", r.Index, tokens, r.Input, r.At, times[i])
		}
	}
	// Shared are the blocks that the trace shares: of 512 tokens, 32 of ours.
	for _, c := range []struct{ a, b, tokens int }{{0, 1, 512}, {1, 2, 520 / 16 * 16}, {1, 3, 1500 / 16 * 16}, {0, 3, 512}} {
		a, b := got[c.a].Blocks, got[c.b].Blocks
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		if n*BlockTokens != c.tokens {
			t.Errorf("requests %d and %d share %d blocks, want %d tokens", c.a, c.b, n, c.tokens)
		}
	}
	if p.More() || p.Next().Input != 0 {
		t.Error("something comes behind the end")
	}
}

// TestTraceSalt: a trace replayed again is other prompts, unless the salt is the same.
func TestTraceSalt(t *testing.T) {
	w := looked(t, trace.Options{File: traceFile(t, mooncake)}, "trace")
	one, two, again := rest(NewPlan(w, 1, "a")), rest(NewPlan(w, 1, "b")), rest(NewPlan(w, 1, "a"))
	if d := cmp.Diff(one, again); d != "" {
		t.Errorf("equal salts differ:\n%s", d)
	}
	seen := map[uint64]bool{}
	for _, r := range one {
		for _, b := range r.Blocks {
			seen[b.ID] = true
		}
	}
	for _, r := range two {
		for _, b := range r.Blocks {
			if seen[b.ID] {
				t.Fatal("another salt has a block of the first")
			}
		}
	}
}

func TestTraceJitter(t *testing.T) {
	o := trace.Options{File: traceFile(t, mooncake), Jitter: 3 * time.Second}
	w := looked(t, o, "trace")
	p := NewPlan(w, 7, "")
	var times []time.Duration
	for at := range p.Arrivals {
		times = append(times, at)
	}
	got := rest(p)
	for i, r := range got {
		if r.At != times[i] || r.At < time.Duration(i/2)*3*time.Second-3*time.Second {
			t.Errorf("request %d at %v, the schedule has %v", i, r.At, times[i])
		}
	}
	if slices.Equal(times, slices.Collect(NewPlan(w, 8, "").Arrivals)) {
		t.Error("another seed has the same jitter")
	}
}

// TestTraceShapes: a trace's requests at the times of another process, and in a closed loop.
func TestTraceShapes(t *testing.T) {
	text := `{"schema":"bench/trace/v1"}` + "\n"
	for i := range 50 {
		text += fmt.Sprintf(`{"input_length":%d,"output_length":1,"session":%d,"turn":%d}`+"\n", i+1, i/5+1, i%5+1)
	}
	w := Workload{Trace: &Trace{Options: trace.Options{File: traceFile(t, text)}}, Rate: 10, Arrival: Arrival{Process: "constant"}}
	w.Trace.Look(new(Files), func(key, problem, _ string) { t.Fatal(key, problem) })
	w.Check(func(key, problem, _ string) { t.Fatal(key, problem) })
	got := rest(NewPlan(w, 1, ""))
	seen := map[uint64]bool{}
	for i, r := range got {
		if r.At != time.Duration(i)*100*time.Millisecond || r.Input != i+1 || r.Session != i/5+1 || r.Turn != i%5 || r.Turns != 0 {
			t.Fatalf("request %d: %+v", i, r)
		}
		for _, b := range r.Blocks {
			if seen[b.ID] {
				t.Fatal("a block comes twice, though the trace says nothing of any")
			}
			seen[b.ID] = true
		}
	}
	w.Rate, w.Arrival = 0, Arrival{}
	for _, r := range rest(NewPlan(w, 1, "")) {
		if r.At != 0 {
			t.Fatalf("a closed loop has an arrival at %v", r.At)
		}
	}
	if !w.HasPrefix(Shared) || w.HasPrefix(Warm) {
		t.Error("a trace is no cold row")
	}
}

func TestTraceFails(t *testing.T) {
	w := looked(t, trace.Options{File: traceFile(t, mooncake)}, "trace")
	if err := os.WriteFile(w.Trace.File, []byte(mooncake+"nonsense\n"), 0o644); err != nil { // since it was looked at
		t.Fatal(err)
	}
	p := NewPlan(w, 1, "")
	if got := rest(p); len(got) != 4 || p.Err() == nil || !strings.Contains(p.Err().Error(), "trace.jsonl:5: ") {
		t.Errorf("%d requests, then %v", len(got), p.Err())
	}
	if err := os.Remove(w.Trace.File); err != nil {
		t.Fatal(err)
	}
	p = NewPlan(w, 1, "")
	for range p.Arrivals {
		t.Error("an arrival out of nothing")
	}
	if p.More() || p.Err() == nil {
		t.Error("no error of a file that is gone")
	}
}

func TestTraceCheck(t *testing.T) {
	file := traceFile(t, mooncake)
	untimed := traceFile(t, `{"schema":"bench/trace/v1"}`+"\n"+`{"input_length":1,"output_length":1}`+"\n")
	burst := traceFile(t, strings.Join(strings.SplitAfter(mooncake, "\n")[:2], ""))
	for _, c := range []struct {
		name string
		w    Workload
		o    trace.Options
		want string // key and part of the problem
	}{
		{"fine", Workload{Arrival: Arrival{Process: "trace"}}, trace.Options{File: file}, ""},
		{"no file", Workload{}, trace.Options{}, "trace.file: no trace file"},
		{"lost file", Workload{}, trace.Options{File: file + "x"}, "trace.file: reading the trace"},
		{"folder", Workload{}, trace.Options{File: filepath.Dir(file)}, "trace.file: reading the trace"},
		{"option", Workload{}, trace.Options{File: file, Speed: -1}, "trace.speed: speed -1"},
		{"wrong blocks", Workload{}, trace.Options{File: file, BlockTokens: 16}, "trace.file: " + file + ":1: 2 hash ids"},
		{"nothing kept", Workload{}, trace.Options{File: file, MinInput: 5000}, "trace.file: " + file + " has no request to replay (rows read: 4): 4 excluded by window or filters"},
		{"lengths", Workload{Input: Fixed(5), Rate: 1}, trace.Options{File: file}, "trace: the trace sets the lengths"},
		{"prefix", Workload{Prefix: &Prefix{Tokens: 5}, Rate: 1}, trace.Options{File: file}, "trace: the trace sets which prompts share blocks"},
		{"mix", Workload{Mix: []Class{{}}, Rate: 1}, trace.Options{File: file}, "mix: a row with a trace"},
		{"rate and times", Workload{Rate: 3, Arrival: Arrival{Process: "trace"}}, trace.Options{File: file}, "rate: the trace sets the arrival times"},
		{"speed of nothing", Workload{Rate: 3}, trace.Options{File: file, Speed: 2}, "trace: speed and jitter"},
		{"no times", Workload{Arrival: Arrival{Process: "trace"}}, trace.Options{File: untimed}, "arrival: the trace has no timestamps"},
		{"one moment", Workload{Arrival: Arrival{Process: "trace"}}, trace.Options{File: burst}, "arrival: the first requests of the trace all have"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			bad := func(key, problem, hint string) {
				if hint == "" {
					t.Errorf("%s: no hint", key)
				}
				got = append(got, key+": "+problem)
			}
			w := c.w
			w.Trace = &Trace{Options: c.o}
			if w.Trace.Look(new(Files), bad); len(got) == 0 {
				if w.Rate == 0 {
					w.Rate = w.OwnRate()
				}
				w.Check(bad)
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
