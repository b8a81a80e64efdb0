package endpoint

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// talk is a row of conversations: 4 turns, the first of 64 tokens, 20 more in each later one, answers of 10.
func talk(api string) experiment.Spec {
	spec := point()
	spec.API, spec.Concurrency, spec.Requests, spec.Output = api, 2, 20, workload.Fixed(10)
	spec.Session = &workload.Session{Turns: workload.Turns{Length: workload.Fixed(4)}, User: workload.Fixed(20), Think: workload.Think{Dist: "fixed", Mean: 0.002}}
	return spec
}

// byConversation are the records of each conversation in the order of its turns.
func byConversation(records []*record.Record) map[int][]*record.Record {
	out := map[int][]*record.Record{}
	for _, r := range records {
		out[*r.Session] = append(out[*r.Session], r)
	}
	for _, turns := range out {
		slices.SortFunc(turns, func(a, b *record.Record) int { return cmp.Compare(*a.Turn, *b.Turn) })
	}
	return out
}

// Whatever the form, the server's own answer is sent back: the prompts have the length that the plan says,
// and the server finds nearly all of the turn before in its prefix cache.
func TestConversations(t *testing.T) {
	lists := mocked(t, mock.Config{}, experiment.Target{}, target.APIs...)
	silent := mocked(t, mock.Config{Faults: []string{"no-token-ids"}}, experiment.Target{}, target.Completions)
	for _, tt := range []struct {
		name, api, form string
		s               *Server
	}{
		{"chat", target.Chat, "text", lists},
		{"responses", target.Responses, "text", lists},
		{"messages", target.Messages, "text", lists},
		{"completions", target.Completions, "token_ids", lists},
		{"completions without token ids", target.Completions, "text", silent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, form, spec := tt.s, tt.form, talk(tt.api)
			var m fixture.Mistakes
			if spec.Check(m.Add); len(m) > 0 {
				t.Fatalf("the point itself: %q", m)
			}
			row, records := measure(t, s, spec)
			holdToRecords(t, row, records, experiment.Target{})
			if q := row.Summary.Requests; q.Planned != 20 || q.Completed != 20 || row.PromptForm != form {
				t.Fatalf("%+v, prompts as %s", q, row.PromptForm)
			}
			deep := 0
			for session, turns := range byConversation(records) {
				for i, r := range turns {
					if !r.OK() { // cut at the row's end
						continue
					}
					if want := 64 + 30*i; *r.Turn != i || r.PromptRequested != want || *r.PromptTokens != want {
						t.Errorf("conversation %d, turn %d: %d tokens, asked %d, want %d", session, *r.Turn, *r.PromptTokens, r.PromptRequested, want)
					}
					if i == 0 {
						continue
					}
					deep = max(deep, i)
					before := turns[i-1]
					if known := *before.PromptTokens + before.OutputTokens - 1; *r.CachedTokens < known/16*16-16 || *r.CachedTokens <= *before.CachedTokens {
						t.Errorf("conversation %d, turn %d: %d of %d tokens were cached", session, i, *r.CachedTokens, known)
					}
					if think := r.Arrival.Us() - before.End.Us(); think < 1999 || think > 2001 {
						t.Errorf("conversation %d, turn %d came %d µs after the end of the one before", session, i, think)
					}
				}
			}
			if deep != 3 || slices.Contains(row.Checks.Failed, "prompts") || slices.Contains(row.Checks.Failed, "prefix_cache") {
				t.Errorf("%d turns behind the first; %+v", deep, row.Findings)
			}
		})
	}
}

// A server that lists the ids of its answers gets them back as ids.
func TestConversationsByTokenIDs(t *testing.T) {
	f := &fake{lists: true}
	s, err := f.reach(t, experiment.Target{}, target.Completions)
	if err != nil {
		t.Fatal(err)
	}
	row, records := measure(t, s, talk(target.Completions))
	if row.PromptForm != "token_ids" || row.Lengths.PromptOff > 0 || row.Sampling["return_token_ids"] != true {
		t.Errorf("prompts as %s, %d of a wrong length, %v", row.PromptForm, row.Lengths.PromptOff, row.Sampling)
	}
	for _, turns := range byConversation(records) {
		for i, r := range turns {
			if r.OK() && *r.PromptTokens != 64+30*i {
				t.Errorf("turn %d has %d tokens", i, *r.PromptTokens)
			}
		}
	}
}

// A failed turn ends its conversation: the turns that are never asked are counted, and not as requests.
func TestConversationsAgainstAServerThatFailsNowAndThen(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond, Faults: []string{"status=500@31"}}, experiment.Target{}, target.Completions)
	spec := talk(target.Completions)
	// One user: the 31st request behind a failure is a conversation's third.
	spec.Concurrency, spec.Requests, spec.Session.Think = 1, 100, workload.Think{}
	row, records := measure(t, s, spec)
	holdToRecords(t, row, records, experiment.Target{})
	lost, failed := 0, 0
	for session, turns := range byConversation(records) {
		for i, r := range turns {
			if !r.OK() && i < len(turns)-1 {
				t.Errorf("conversation %d went on after turn %d failed", session, i)
			}
			if r.Outcome != "status" {
				continue
			}
			if r.TurnsLost != 3-*r.Turn {
				t.Errorf("turn %d failed, %d turns lost", *r.Turn, r.TurnsLost)
			}
			if r.Phase == record.PhaseWindow {
				lost += r.TurnsLost
				failed++
			}
		}
	}
	q := row.Summary.Requests
	if lost == 0 || q.TurnsLost != lost || q.Planned != 100 || q.Failed != failed {
		t.Errorf("%d turns lost, %d failed: %+v", lost, failed, q)
	}
}

// Answers that end by themselves: the next prompt is as long as they really made it.
func TestNaturalConversations(t *testing.T) {
	s := mocked(t, mock.Config{NaturalOutput: 12}, experiment.Target{Target: target.Target{ExtraBody: map[string]any{"stop": []any{"###"}}}}, target.Chat)
	spec := talk(target.Chat)
	spec.Stop, spec.Output = "natural", workload.Fixed(30)
	row, records := measure(t, s, spec)
	holdToRecords(t, row, records, experiment.Target{})
	if f := row.Summary.Requests.Finish; f["stop"] == 0 || f["stop"]+f["length"] != 20 || row.Lengths.OutputOff == 0 || row.Lengths.PromptOff > 0 {
		t.Errorf("finish %v, %d answers of another length, %d prompts", f, row.Lengths.OutputOff, row.Lengths.PromptOff)
	}
	if _, forced := row.Sampling["ignore_eos"]; forced || row.Sampling["stop"] == nil || row.Summary.Requests.Short > 0 {
		t.Errorf("sampling %v, %d short", row.Sampling, row.Summary.Requests.Short)
	}
	if !slices.Contains(row.Checks.NotPossible, "output_length") {
		t.Errorf("%+v", row.Checks)
	}
}

// Classes that speak different APIs, with fields and a way to stop of their own.
func TestClassesOfTheirOwn(t *testing.T) {
	s := mocked(t, mock.Config{NaturalOutput: 5}, experiment.Target{Target: target.Target{Headers: map[string]string{"X-Mock-Fault": "tool-calls"}}},
		target.Completions, target.Chat)
	spec := point()
	spec.Input, spec.Output, spec.Concurrency, spec.Requests = workload.Length{}, workload.Length{}, 4, 60
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "look"}}}
	spec.Mix = []workload.Class{
		{Name: "batch", Weight: 1, Input: workload.Fixed(40), Output: workload.Fixed(8)},
		{Name: "agent", Weight: 1, Input: workload.Fixed(60), Output: workload.Fixed(12), API: "chat", Stop: "natural", Extra: map[string]any{"tools": tools},
			Session: &workload.Session{Turns: workload.Turns{Length: workload.Fixed(2)}, User: workload.Fixed(20)}},
	}
	var m fixture.Mistakes
	if spec.Check(m.Add); len(m) > 0 {
		t.Fatalf("the point itself: %q", m)
	}
	if got := strings.Join(experiment.APIs([]experiment.Spec{spec}, experiment.Target{}), " "); got != "completions chat" {
		t.Errorf("APIs %s", got)
	}
	row, records := measure(t, s, spec)
	holdToRecords(t, row, records, experiment.Target{})
	if row.PromptForm != "mixed" || row.Sampling["tools"] != nil || row.ClassSampling["agent"]["tools"] == nil || row.ClassSampling["batch"]["ignore_eos"] != true {
		t.Errorf("prompts as %s, sampling %v, by class %v", row.PromptForm, row.Sampling, row.ClassSampling)
	}
	batch, agent := row.Classes["batch"].Requests, row.Classes["agent"].Requests
	if batch.Finish["length"] != batch.Completed || agent.Finish["tool_calls"] != agent.Completed || batch.Completed == 0 || agent.Completed == 0 {
		t.Errorf("batch %v, agent %v", batch.Finish, agent.Finish)
	}
	short := 0
	for _, r := range records {
		if !r.OK() {
			continue
		}
		if (r.Session != nil) != (r.Class == "agent") || r.OutputTokens == 0 || r.Estimated || r.Class == "batch" && r.OutputTokens != 8 {
			t.Errorf("%+v", r)
		}
		if r.Class == "agent" && r.OutputTokens < 12 {
			short++
		}
		// The deltas of a tool call are tokens: the name comes in an event of its own, and each of the
		// arguments in one.
		if events := r.Gaps.Len() + 1; r.Class == "agent" && events != r.OutputTokens {
			t.Errorf("%d events of %d tokens", events, r.OutputTokens)
		}
	}
	if short == 0 {
		t.Error("no answer of the natural class ended by itself")
	}
}

// A tool's definition stands in the prompt: the words of its class are as many fewer.
func TestToolsAreInThePrompt(t *testing.T) {
	f := &fake{overhead: 5, tools: 9}
	s, err := f.reach(t, experiment.Target{}, target.Chat)
	if err != nil {
		t.Fatal(err)
	}
	spec := point()
	spec.API, spec.Input, spec.Output, spec.Concurrency = target.Chat, workload.Length{}, workload.Length{}, 2
	class := workload.Class{Name: "plain", Weight: 1, Input: workload.Fixed(64), Output: workload.Fixed(4)}
	tools := class
	tools.Name, tools.Extra = "tools", map[string]any{"tools": []any{map[string]any{"type": "function"}}}
	spec.Mix = []workload.Class{class, tools}
	row, records := measure(t, s, spec)
	if row.Lengths.PromptOff > 0 || row.Classes["tools"].Requests.Completed == 0 || row.Classes["plain"].Requests.Completed == 0 {
		t.Errorf("%d prompts of another length of %d; %+v", row.Lengths.PromptOff, len(records), row.Lengths.PromptTokens)
	}
}

// An interruption while the server is asked how it holds conversations is one.
func TestInterruptionBeforeTheConversations(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond}, experiment.Target{}, target.Completions)
	spec := talk(target.Completions)
	if row, err := s.Run(dead(), RunConfig{Spec: &spec, Each: func(*record.Record) error { return nil }}); row != nil || !Interrupted(err) {
		t.Errorf("%v, %v", row, err)
	}
}

func TestColdStart(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: 5 * time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, target.Completions)
	spec := point()
	spec.Kind, spec.Requests, spec.Warmup, spec.Idle = "cold_start", 3, workload.Extent{}, workload.Span(50*time.Millisecond)
	var m fixture.Mistakes
	if spec.Check(m.Add); len(m) > 0 {
		t.Fatalf("the point itself: %q", m)
	}
	row, records := measure(t, s, spec)
	holdToRecords(t, row, records, experiment.Target{})
	if q := row.Summary.Requests; q.Completed != 3 || len(records) != 3 || row.ColdStart == nil || row.ColdStart.IdleS != spec.Idle || row.ColdStart.Server != nil {
		t.Fatalf("%+v, %+v", q, row.ColdStart)
	}
	for i, r := range records {
		if r.ConnectUs == nil {
			t.Errorf("request %d was sent over an open connection", i)
		}
		if i > 0 && r.Arrival.Us()-records[i-1].End.Us() < 50_000 {
			t.Errorf("request %d came %d µs after the one before", i, r.Arrival.Us()-records[i-1].End.Us())
		}
	}
	for _, code := range []string{"unsteady", "rate_not_achieved", "concurrency"} {
		if !slices.Contains(row.Checks.NotPossible, code) {
			t.Errorf("%s is asked of a cold start: %+v", code, row.Checks)
		}
	}
	if row.Connections.Ahead > 0 {
		t.Errorf("%d connections were opened ahead", row.Connections.Ahead)
	}
}

func TestCheckColdStart(t *testing.T) {
	cold := func(change func(*experiment.Spec)) experiment.Spec {
		spec := point()
		spec.Kind = "cold_start"
		change(&spec)
		return spec
	}
	for _, c := range []struct {
		spec experiment.Spec
		want string
	}{
		{cold(func(s *experiment.Spec) {}), ""},
		{cold(func(s *experiment.Spec) { s.Connections, s.Concurrency, s.Idle = "new", 1, workload.Span(time.Minute) }), ""},
		{cold(func(s *experiment.Spec) { s.Rate = 1 }), "rate: a cold start"},
		{cold(func(s *experiment.Spec) { s.Concurrency = 2 }), "concurrency: a cold start"},
		{cold(func(s *experiment.Spec) { s.Requests, s.Duration = 0, workload.Span(time.Minute) }), "a cold start needs a number of requests"},
		{cold(func(s *experiment.Spec) { s.Session = talk("").Session }), "session: a cold start"},
		{cold(func(s *experiment.Spec) { s.Connections = "reuse" }), "connections: a cold start"},
		{cold(func(s *experiment.Spec) { s.SLO = fixture.SLO(t, "min_requests_per_s = 1") }), "slo.min_requests_per_s: a cold start has no throughput"},
		{cold(func(s *experiment.Spec) { s.Kind, s.Concurrency = "warm", 1 }), "kind: unknown kind"},
		{func() experiment.Spec { s := point(); s.Concurrency, s.Idle = 4, 1; return s }(), "idle: only a cold start"}, // one mistake, said once
		{func() experiment.Spec {
			s := talk("chat")
			s.Concurrency, s.Rate = 0, workload.Rate(math.Inf(1))
			s.Warmup = workload.Extent{}
			return s
		}(), "a turn must wait"},
		{func() experiment.Spec {
			s := point()
			s.Concurrency, s.Input, s.Output = 1, workload.Length{}, workload.Length{}
			s.Mix = []workload.Class{{Name: "a", Weight: 1, Input: workload.Fixed(8), Output: workload.Fixed(8), Extra: map[string]any{"messages": 1, "top_k": 2}}}
			return s
		}(), "mix[0].extra_body.messages: messages is set by bench itself"},
	} {
		var m fixture.Mistakes
		c.spec.Check(m.Add)
		if got := strings.Join(m, "; "); len(m) > 1 || c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Reasoning is not sent back: the next prompt has the answer alone, and the cache ends where they part. Reasoning that
// the server does not count leaves the requested length unknown.
func TestConversationsWithReasoning(t *testing.T) {
	s := mocked(t, mock.Config{ReasoningTokens: 6}, experiment.Target{}, target.Chat, target.Responses, target.Messages)
	for _, api := range []string{target.Chat, target.Responses, target.Messages} {
		t.Run(api, func(t *testing.T) {
			row, records := measure(t, s, talk(api))
			for _, turns := range byConversation(records) {
				for i, r := range turns {
					asked := 64 + 24*i
					if api == target.Messages && i > 0 {
						asked = 0
					}
					if r.OK() && (*r.PromptTokens != 64+24*i || r.PromptRequested != asked) {
						t.Errorf("turn %d: %d tokens, asked %d", i, *r.PromptTokens, r.PromptRequested)
					}
				}
			}
			u := row.Reuse
			if u == nil || u.CachedTokens == 0 || math.Abs(float64(u.CachedTokens-u.PossibleTokens)) > 0.05*float64(u.PossibleTokens) {
				t.Errorf("%+v", u)
			}
			if slices.Contains(row.Checks.Failed, "prompts") || slices.Contains(row.Checks.Failed, "prefix_cache") {
				t.Errorf("%+v", row.Findings)
			}
		})
	}
}
