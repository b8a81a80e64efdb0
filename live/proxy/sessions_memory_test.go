package proxy

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/target"
)

func TestConversationsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversations("X")
		find := func(messages ...string) string { return placeOf(c.find(target.Chat, nil, []byte(chat(messages...)))) }
		find("u 1")
		time.Sleep(50 * time.Minute)
		if got := find("u 1", "a x", "u 2"); got != "1.2" {
			t.Error(got)
		}
		time.Sleep(50 * time.Minute) // the newer turn keeps the conversation
		if got := find("u 1", "a x", "u 2", "a y", "u 3"); got != "1.3" {
			t.Error(got)
		}
		time.Sleep(61 * time.Minute)
		if got := find("u 1", "a x", "u 2", "a y", "u 3", "a z", "u 4"); got != "2.1!" {
			t.Error(got)
		}
		if c.bytes > 1000 {
			t.Errorf("%d bytes after all expired", c.bytes)
		}
	})
}

// TestConversationsMemory checks the bound, and that what is removed is removed from every list.
func TestConversationsMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := newConversations("X")
	c.limit = 100_000
	for i := range 5000 {
		text := strings.Repeat("x", rng.IntN(1000))
		switch i % 4 {
		case 0:
			c.find(target.Messages, nil, []byte(chat("u "+text)))
		case 1:
			c.find(target.Chat, nil, []byte(chat("u "+text, "a x", "u y")))
		case 2:
			c.answered(c.find(target.Responses, nil, []byte(`{"input":"same"}`)), fmt.Sprint(i))
		case 3:
			c.find(target.Chat, http.Header{"X": {fmt.Sprint(i)}}, nil)
		}
		if c.bytes > c.limit {
			t.Fatalf("%d bytes", c.bytes)
		}
	}
	if c.recent.Len() != len(c.known) || len(c.known) < 100 {
		t.Errorf("%d in the list, %d known", c.recent.Len(), len(c.known))
	}
	for c.recent.Len() > 0 {
		c.remove(c.recent.Back())
	}
	if c.bytes != 0 || len(c.known) != 0 {
		t.Errorf("%d bytes, %d known remain", c.bytes, len(c.known))
	}
}

func FuzzConversations(f *testing.F) {
	for _, seed := range []string{chat("s S", "u 1", "a x", "u 2"), `{"prompt":["a"]}`, `{"prompt":[[1,2]]}`, `{"input":[{"type":"f_call"}],"previous_response_id":"r"}`,
		`{"messages":[[[[["\\"]]]],"x",{"role":`, `{"a":"\"`, `{"prompt":[`, `{"conversation":{"id":"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := newConversations("")
		for _, api := range target.APIs {
			first := c.find(api, nil, body)
			if again := c.find(api, nil, body); (again.session == 0) != (first.session == 0) {
				t.Errorf("%s: found %v, then %v", api, first, again)
			}
		}
		answerID(body)
	})
}

func BenchmarkFind(b *testing.B) {
	var messages []string
	for i := range 40 {
		messages = append(messages, fmt.Sprint("u ", i, strings.Repeat(" question", 100)), fmt.Sprint("a ", i, strings.Repeat(` answer "x"`, 100)))
	}
	for _, c := range []struct{ name, api, body string }{
		{"chat", target.Chat, chat(append(messages, "u last")...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			known := newConversations("")
			body := []byte(c.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				known.find(c.api, nil, body)
			}
		})
	}
}
