package proxy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bench/experiment/target"
)

// place of a turn as "session.number", with "!" if not seen from its start and "@" if it is at the server.
func placeOf(t turn) string {
	s := fmt.Sprintf("%d.%d", t.session, t.number)
	if !t.fromStart {
		s += "!"
	}
	if t.atServer {
		s += "@"
	}
	return s
}

// chat is a body of the chat API; each message is "role text", "a", "s" and "u" for the roles.
func chat(messages ...string) string {
	var list []map[string]any
	for _, m := range messages {
		role, text, _ := strings.Cut(m, " ")
		role = map[string]string{"a": "assistant", "s": "system", "u": "user", "t": "tool"}[role]
		list = append(list, map[string]any{"role": role, "content": text})
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": list, "stream": true})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestConversations(t *testing.T) {
	type step struct{ body, want string }
	for _, c := range []struct {
		name, api string
		steps     []step
	}{
		{"turns", target.Chat, []step{
			{chat("s S", "u 1"), "1.1"}, {chat("s S", "u other"), "2.1"},
			{chat("s S", "u 1", "a x", "u 2"), "1.2"}, {chat("s S", "u other", "a x", "u 2"), "2.2"},
			{chat("s S", "u 1", "a x", "u 2", "a y", "t result", "t result", "u 3"), "1.3"}}},
		{"system prompt with the time", target.Chat, []step{
			{chat("s 10:00", "u 1"), "1.1"}, {chat("s 10:01", "u 1", "a x", "u 2"), "1.2"}}},
		{"equal head first", target.Chat, []step{
			{chat("s A", "u hi"), "1.1"}, {chat("s B", "u hi"), "2.1"},
			{chat("s B", "u hi", "a x", "u 2"), "2.2"}, {chat("s A", "u hi", "a x", "u 2"), "1.2"}}},
		{"a retry is another conversation", target.Chat, []step{
			{chat("u 1"), "1.1"}, {chat("u 1"), "2.1"},
			{chat("u 1", "a x", "u 2"), "1.2"}, {chat("u 1", "a x", "u 2"), "2.2"}, {chat("u 1", "a x", "u 2"), "2.3"}}},
		{"branches", target.Chat, []step{
			{chat("u 1"), "1.1"}, {chat("u 1", "a x", "u 2"), "1.2"}, {chat("u 1", "a x", "u two"), "1.3"},
			{chat("u 1", "a x", "u 2", "a y", "u 3"), "1.4"}}},
		{"begun answer", target.Chat, []step{
			{chat("u 1", "a The"), "1.1"}, {chat("u 1", "a The answer", "u 2", "a So"), "1.2"}, {chat("u 1", "a The answer", "u 2", "a So it", "u 3"), "1.3"}}},
		{"joined late", target.Chat, []step{
			{chat("u 1", "a x", "u 2"), "1.1!"}, {chat("u 1", "a x", "u 2"), "2.1!"}, {chat("u 1", "a x", "u 2", "a y", "u 3"), "1.2!"}}},
		{"examples", target.Chat, []step{
			{chat("s S", "u e", "a f", "u 1"), "1.1!"}, {chat("s S", "u e", "a f", "u 2"), "2.1"}, {chat("s S", "u e", "a f", "u 3"), "3.1"},
			{chat("s S", "u e", "a f", "u 2", "a x", "u 3"), "2.2"}}},
		{"only a system prompt", target.Chat, []step{{chat("s S"), "1.1"}, {chat("s S"), "2.1"}, {chat("s S", "u 1"), "3.1"}}},
		{"unreadable", target.Chat, []step{{"", "0.0!"}, {"[]", "0.0!"}, {`{"messages":[{]}`, "0.0!"}, {`{"messages":3}`, "1.1"}}},
		{"marks of the cache move", target.Messages, []step{
			{`{"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"1","cache_control":{"type":"ephemeral"}}]}]}`, "1.1"},
			{`{"system":"S","messages":[{"role":"user","content":"1"},{"role":"assistant","content":[{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"tool_result","content":"r"}]}]}`, "1.2"}}},
		{"responses", target.Responses, []step{
			{`{"input":"1"}`, "1.1"}, {`{"input":[{"role":"user","content":"1"},{"type":"reasoning","summary":[]},{"type":"function_call","name":"f"},{"type":"function_call_output","output":"3"}]}`, "1.2"},
			{`{"input":[{"type":"item_reference","id":"x"},{"role":"user","content":"1"}]}`, "2.1@"},
			{`{"conversation":{"id":"conv_1"},"input":"9"}`, "3.1!@"}, {`{"conversation":"conv_1","input":"8"}`, "3.2!@"},
			{`{"previous_response_id":null,"input":"7"}`, "4.1"}}},
		{"completions", target.Completions, []step{{`{"prompt":"a"}`, "1.1"}, {`{"prompt":"a b"}`, "2.1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := newConversations("")
			for i, s := range c.steps {
				if got := placeOf(known.find(c.api, nil, []byte(s.body))); got != s.want {
					t.Errorf("step %d: %s, want %s", i, got, s.want)
				}
			}
		})
	}
}

func TestConversationsByName(t *testing.T) {
	c := newConversations("X-Session")
	named := func(name, api, body string) turn {
		return c.find(api, http.Header{"X-Session": {name}}, []byte(body))
	}
	check := func(got turn, want string) {
		t.Helper()
		if placeOf(got) != want {
			t.Errorf("%s, want %s", placeOf(got), want)
		}
	}
	check(named("a", target.Chat, chat("u 1")), "1.1")
	check(named("b", target.Chat, chat("u 1")), "2.1")
	check(named("a", target.Chat, ""), "1.2") // too large to keep
	check(named("late", target.Chat, chat("u 1", "a x", "u 2")), "3.1!")
	check(c.find(target.Chat, nil, []byte(chat("u 1"))), "4.1") // without the header

	first := named("", target.Responses, `{"input":"1"}`)
	check(first, "5.1")
	c.answered(first, "")
	c.answered(turn{}, "resp_0")
	c.answered(first, answerID([]byte(`data: {"type":"response.created","id" : "evt", "response":{"id":"resp_1","x":1}}`)))
	second := c.find(target.Responses, nil, []byte(`{"previous_response_id":"resp_1","input":"2"}`))
	check(second, "5.2@")
	check(c.find(target.Responses, nil, []byte(`{"previous_response_id":"resp_9","input":"2"}`)), "6.1!@")
	for _, none := range []string{"", `"id"`, `"id":3,"id":"resp`, `{"id":"x"}`} {
		if id := answerID([]byte(none)); id != "" {
			t.Errorf("%q: id %q", none, id)
		}
	}
}

// TestConversationsOracle compares with strings, compared one by one, for few messages: many requests are alike.
func TestConversationsOracle(t *testing.T) {
	type entry struct {
		messages []string
		head     string
		session  int
		taken    bool
	}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 0))
		known := newConversations("")
		var all []*entry
		sessions, turns, lastAt := 0, map[int]int{}, map[string]*entry{}
		choose := func(head string, messages []string) int {
			for n := len(messages) - 1; n > 0; n-- {
				at := strings.Join(messages[:n], "|")
				last := lastAt[at]
				if last == nil {
					continue
				}
				var open []*entry
				for _, e := range all {
					if !e.taken && strings.Join(e.messages, "|") == at {
						open = append(open, e)
					}
				}
				i := slices.IndexFunc(open, func(e *entry) bool { return e.head == head })
				if i < 0 && last.head == head || len(open) == 0 {
					return last.session
				}
				e := open[max(i, 0)]
				e.taken = true
				lastAt[at] = e
				return e.session
			}
			sessions++
			return sessions
		}
		for range 150 {
			head := fmt.Sprint("s ", rng.IntN(2))
			var messages []string
			for range 1 + rng.IntN(4) {
				if len(messages) > 0 {
					messages = append(messages, fmt.Sprint("a ", rng.IntN(2)))
				}
				messages = append(messages, fmt.Sprint("u ", rng.IntN(2)))
			}
			session := choose(head, messages)
			turns[session]++
			e := &entry{messages: messages, head: head, session: session}
			all = append(all, e)
			lastAt[strings.Join(messages, "|")] = e
			got := known.find(target.Chat, nil, []byte(chat(append([]string{head}, messages...)...)))
			if got.session != session || got.number != turns[session] {
				t.Fatalf("seed %d: %v: %s, want %d.%d", seed, messages, placeOf(got), session, turns[session])
			}
		}
	}
}
