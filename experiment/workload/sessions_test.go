package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// agentTrace has one session twice: a request, two subagents that share its 32 tokens and then a block of their own
// each, and a join that continues the first one's prompt; blocks of 16 tokens.
const agentTrace = `{"schema":"bench/trace/v1","time_unit":"ms","block_tokens":16,"grouped":true,"ends":true}
{"timestamp":0,"input_length":32,"output_length":8,"hash_ids":[1,2],"session":1,"node":1,"took_ms":100}
{"timestamp":200,"input_length":48,"output_length":4,"hash_ids":[1,2,3],"session":1,"node":2,"parents":[1],"at_ms":200,"wait_ms":100,"agent":1}
{"timestamp":300,"input_length":48,"output_length":4,"hash_ids":[1,2,4],"session":1,"node":3,"parents":[1],"at_ms":300,"wait_ms":200,"agent":2}
{"timestamp":1000,"input_length":64,"output_length":4,"hash_ids":[1,2,5,6],"session":1,"node":4,"parents":[2,3],"at_ms":1000,"wait_ms":50}
{"timestamp":5000,"input_length":32,"output_length":8,"hash_ids":[7,8],"session":2,"node":1}
{"timestamp":6000,"input_length":64,"output_length":8,"hash_ids":[7,8,9,10],"session":2,"node":2,"parents":[1],"at_ms":1000,"wait_ms":1000}
`

func agents(t *testing.T, change func(*Trace)) Workload {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agents.jsonl")
	if err := os.WriteFile(file, []byte(agentTrace), 0o600); err != nil {
		t.Fatal(err)
	}
	w := Workload{Trace: &Trace{}}
	w.Trace.File = file
	change(w.Trace)
	w.Trace.Look(&Files{}, func(key, problem, _ string) { t.Fatal(key, problem) })
	return w
}

func planned(w Workload, workers int) (all []Request) {
	p := NewPlan(w, 1, "salt").For(Load{Concurrency: workers})
	for r := range p.all(workers, time.Second) {
		if all = append(all, r); len(all) == 20 {
			break
		}
	}
	return all
}

func TestSessionsOfATrace(t *testing.T) {
	all := planned(agents(t, func(*Trace) {}), 1)
	var got []int
	for _, r := range all {
		got = append(got, r.Session, r.Turn, r.Index, r.Input, r.Agent(), int(r.Think/time.Millisecond))
	}
	if want := []int{0, 0, 0, 32, 0, 0, 0, 1, 1, 48, 1, 100, 0, 2, 2, 48, 2, 200, 0, 3, 3, 64, 0, 50, 1, 0, 4, 32, 0, 0, 1, 1, 5, 64, 0, 1000}; !slices.Equal(got, want) {
		t.Errorf("\n%v, want\n%v", got, want)
	}
	pool, hits := NewPool(0, 16), 0
	for r, hit := range NewPlan(agents(t, func(*Trace) {}), 1, "").Serve(pool, 1, 0) {
		hits += hit
		if r.Turns == 0 {
			t.Error("a request without a session")
		}
	}
	if hits != 4*32 { // both subagents, the join, and the second session's continuation
		t.Errorf("%d tokens can be hit", hits)
	}
}

// A row that replays no sessions has no facts of them in its spec: it is the same point as before there were any.
func TestHeadWithoutSessions(t *testing.T) {
	for replay, sessions := range map[string]bool{"": true, "sessions": true, "requests": false} {
		head := agents(t, func(s *Trace) { s.Replay = replay }).Trace.Head
		if head.Grouped != sessions || head.Ends != sessions || head.SessionRequests > 0 != sessions {
			t.Errorf("replay %q: %+v", replay, head)
		}
	}
	w := Workload{Trace: &Trace{}}
	w.Trace.File = "../trace/testdata/native.jsonl"
	w.Trace.Look(new(Files), func(key, problem, _ string) { t.Fatal(key, problem) })
	if h := w.Trace.Head; h.SessionRequests != 0 {
		t.Errorf("%+v", h)
	}
	w.Trace.Replay = "sessions"
	w.Trace.Look(new(Files), func(key, problem, _ string) { t.Fatal(key, problem) })
	if w.Trace.Head.SessionRequests == 0 {
		t.Error("the replayed sessions are not counted")
	}
}

// With the server's answers a prompt that continues another one has room for its answer.
func TestServerAnswers(t *testing.T) {
	all := planned(agents(t, func(s *Trace) { s.Answers = "server" }), 1)
	for _, r := range all {
		before, ok := r.Continues(r.Turn)
		if want := r.Turn > 0 && r.Turn != 3; ok != want || ok && (before != 0 || r.Context != 40 || r.Added().Input != r.Input-40) {
			t.Errorf("session %d, turn %d continues %d (%v), context %d", r.Session, r.Turn, before, ok, r.Context)
		}
		if tokens := 0; true {
			for _, b := range r.Blocks {
				tokens += b.Tokens
			}
			if tokens != r.Input {
				t.Errorf("session %d, turn %d: blocks of %d tokens for %d", r.Session, r.Turn, tokens, r.Input)
			}
		}
	}
}

func TestToolTime(t *testing.T) {
	for _, c := range []struct {
		set  func(*Trace)
		want time.Duration // of the second session's turn, recorded as 1 s
	}{
		{func(*Trace) {}, time.Second},
		{func(s *Trace) { s.ToolTimeCap = Span(300 * time.Millisecond) }, 300 * time.Millisecond},
	} {
		if got := planned(agents(t, c.set), 1)[5].Think; got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// A repeated trace has other prompts, and goes on counting.
func TestRepeatedSessions(t *testing.T) {
	all := planned(agents(t, func(s *Trace) { s.Repeat = true }), 1)
	if len(all) != 20 || all[6].Session != 2 || all[6].Index != 6 || all[6].Blocks[0] == all[0].Blocks[0] || all[7].Blocks[0] != all[6].Blocks[0] {
		t.Errorf("%d requests, the seventh %+v", len(all), all[6])
	}
}

// Sampled sessions are the first of each worker; what they waited for is gone.
func TestSampledBegin(t *testing.T) {
	all := planned(agents(t, func(s *Trace) { s.Begin, s.Repeat = "sampled", true }), 2)
	partial := map[int]bool{}
	for _, r := range all {
		if r.Session >= 2 && (!r.Whole() || r.Turns != []int{4, 2}[r.Session%2]) {
			t.Errorf("session %d has %d turns", r.Session, r.Turns)
		}
		partial[r.Session] = !r.Whole()
	}
	if !partial[0] || !partial[1] {
		t.Errorf("%v", partial)
	}
}

func TestSessionKeys(t *testing.T) {
	for _, c := range []struct {
		set  func(*Workload)
		want string
	}{
		{func(w *Workload) { w.Trace.Answers = "own" }, "trace.answers"},
		{func(w *Workload) { w.Trace.Begin = "sampled"; w.Rate = 1 }, "trace.begin"},
		{func(w *Workload) { w.Trace.Replay, w.Trace.Repeat = "requests", true }, "trace"},
		{func(w *Workload) {}, ""},
	} {
		w := agents(t, func(*Trace) {})
		c.set(&w)
		var bad []string
		w.Trace.checkSessions(&w, func(key, _, _ string) { bad = append(bad, key) })
		if got := strings.Join(bad, " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Reasoning is in the cache, but no later turn contains it: a prompt is found up to the first answer's place.
func TestReasoningIsNotSentBack(t *testing.T) {
	w := Workload{Seed: 1, Input: Fixed(64), Output: Fixed(40),
		Session: &Session{Turns: Turns{Fixed(3)}, User: Fixed(20)}}
	for _, tt := range []struct {
		reasoning int
		want      [3]int // found tokens of each turn
	}{{0, [3]int{0, 64 + 39, 124 + 39}}, {12, [3]int{0, 64, 64 + 28 + 20}}, {50, [3]int{0, 64, 64 + 20}}} {
		plan := NewPlan(w, 1, "").Thinking(func(int) int { return tt.reasoning })
		for r, hit := range plan.Serve(NewPool(0, 1), 1, 0) {
			sent := max(0, 40-tt.reasoning)
			if want := 64 + r.Turn*(sent+20); r.Input != want || hit != tt.want[r.Turn] {
				t.Errorf("reasoning %d, turn %d: %d tokens, want %d; found %d, want %d", tt.reasoning, r.Turn, r.Input, want, hit, tt.want[r.Turn])
			}
			if r.Turn == 2 {
				break
			}
		}
	}
}
