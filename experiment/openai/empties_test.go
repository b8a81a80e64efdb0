package openai

import (
	"slices"
	"testing"
	"time"
)

// TestEmptyEvents: what a complete answer's events without text count for. A letter is an event: t has text, e has
// none, i has a token id and no text, r has the role only, F is the empty one with the finish reason, f is one with
// text, and n an empty one behind it. The wanted times are indexes of events; -1: not known.
func TestEmptyEvents(t *testing.T) {
	const (
		empty  = `data: {"choices":[{"text":""}]}` + "\n\n"
		withID = `data: {"choices":[{"text":"","token_ids":[3]}]}` + "\n\n"
		role   = `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n"
		ending = `data: {"choices":[{"text":"x","finish_reason":"length"}]}` + "\n\n"
	)
	events := map[rune]string{'t': token("x"), 'e': empty, 'i': withID, 'r': role, 'F': finish("length"), 'f': ending, 'n': empty}
	for _, tt := range []struct {
		name, events string
		usage        int
		first, last  int
		bearing      int
	}{
		{"vLLM, special tokens only", "eeF", 3, 0, 2, 3},
		{"llama.cpp, special tokens only", "eeeF", 3, 0, 2, 3},
		{"llama.cpp's chat of special tokens", "rF", 3, -1, -1, 0},
		{"the first one has no text", "etF", 2, 0, 1, 2},
		{"the last one has no text", "tteF", 3, 0, 2, 3},
		{"by its id", "iitF", 3, 0, 2, 3},
		{"empty events beside all tokens", "etetf", 3, 1, 4, 3},
		{"several tokens in the events", "ttF", 9, 0, 1, 2},
		{"several tokens, an empty one first", "ettF", 9, -1, 2, 2},
		{"several tokens, an empty one last", "tteF", 9, 0, -1, 2},
		{"an event behind the end", "tteFn", 3, 0, 2, 3},
		{"nothing known", "eeeF", 9, -1, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sent := make(chan []time.Duration, 1) // when each event was, on this machine
			began := time.Now()
			server := func(p *peer) {
				var at []time.Duration
				p.say(streamHead)
				for _, kind := range tt.events {
					time.Sleep(10 * time.Millisecond)
					at = append(at, time.Since(began))
					p.say(chunked(events[kind]))
				}
				sent <- at
				p.say(chunked(usage(5, tt.usage)), chunked(doneEvent), lastChunk)
			}
			c := testClient(t, listen(t, once(server)))
			call := streamCall
			call.Epoch = began
			var r Result
			c.Do(t.Context(), &call, &r)
			if r.Outcome != OK || r.OutputTokens != tt.usage || r.Events != tt.bearing {
				t.Fatalf("outcome %q (%s), %d tokens in %d events", r.Outcome, r.Error, r.OutputTokens, r.Events)
			}
			at := <-sent
			index := func(when time.Duration) int { // the last event sent before it
				if when == Never {
					return -1
				}
				return slices.IndexFunc(append(slices.Clone(at), time.Hour), func(sent time.Duration) bool { return sent > when }) - 1
			}
			if index(r.First) != tt.first || index(r.Last) != tt.last {
				t.Errorf("first token in event %d, last in %d; want %d and %d", index(r.First), index(r.Last), tt.first, tt.last)
			}
			if tt.first >= 0 {
				sum := r.First
				for _, gap := range r.Gaps {
					sum += gap
				}
				if r.Last != Never && sum != r.Last || len(r.Gaps) != r.Events-1 {
					t.Errorf("%d gaps up to %v, last %v", len(r.Gaps), sum, r.Last)
				}
			}
			if r.First != Never && r.Last != Never {
				checkTimes(t, &r)
			}
		})
	}
}

// TestShapeWithIDs: events with token ids are matched by their shape, too.
func TestShapeWithIDs(t *testing.T) {
	var w walker
	event := func(text, ids string) []byte {
		return []byte(`{"id":"a","choices":[{"index":0,"text":"` + text + `","finish_reason":null,"prompt_token_ids":null,"token_ids":` + ids + `}]}`)
	}
	if _, ok := w.read(event("b", "[17]")); !ok || len(w.shape.end) == 0 {
		t.Fatal("the walker learned no shape")
	}
	for _, ids := range []string{"[5]", "[5,67]"} {
		ok := w.shape.match(&w, event("é", ids))
		c := w.c
		want, err := parse("", event("é", ids))
		if !ok || err != nil || describe(c) != describe(want) || spoken(t, c) != spoken(t, want) {
			t.Errorf("%s: %v, %s %s; want %s %s", ids, ok, describe(c), spoken(t, c), describe(want), spoken(t, want))
		}
	}
	for _, ids := range []string{"[]", "null", "[5,]", "[5", "[5]]"} {
		if w.shape.match(&w, event("c", ids)) {
			t.Errorf("the shape matches ids %s", ids)
		}
	}
}
