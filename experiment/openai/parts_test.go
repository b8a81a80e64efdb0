package openai

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestParts: content and tool calls are kept apart, put together from their pieces, and not without being asked for.
func TestParts(t *testing.T) {
	call := func(index int, fields string) string {
		return said(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{%s}}]}`, index, fields))
	}
	server := stream(said(`{"role":"assistant","content":""}`), said(`{"reasoning":"hm"}`), said(`{"content":"a \ud83d"}`), said(`{"content":"\ude00"}`),
		call(0, `"name":"look","arguments":""`), call(0, `"arguments":"{\"x\":"`), call(1, `"name":"sum","arguments":"{"`),
		call(0, `"arguments":"1}"`), call(1, `"arguments":"}"`), finish("tool_calls"), doneEvent)
	client := testClient(t, listen(t, answer(server)))
	var r Result
	for range 2 { // the second answer contains nothing of the first
		client.Do(t.Context(), &Call{Body: []byte("{}"), Stream: true, KeepParts: true}, &r)
		p := r.Answer.Parts
		if r.Outcome != OK || Unescape(p.Content) != "a 😀" || len(p.Calls) != 2 || p.Cut || len(r.Answer.Text) > 0 {
			t.Fatalf("%s %s: %+v", r.Outcome, r.Error, p)
		}
		for i, want := range []string{`0 look {"x":1}`, `1 sum {}`} {
			if c := p.Calls[i]; fmt.Sprint(c.Index, " ", Unescape(c.Name), " ", Unescape(c.Arguments)) != want {
				t.Errorf("call %d is %d %s %s, want %s", i, c.Index, c.Name, c.Arguments, want)
			}
		}
	}
	if client.Do(t.Context(), &Call{Body: []byte("{}"), Stream: true, KeepAnswer: true}, &r); len(r.Answer.Parts.Content)+len(r.Answer.Parts.Calls) > 0 {
		t.Errorf("parts that were not asked for: %+v", r.Answer.Parts)
	}
}

// TestPartsBounds: parts have a limit, and what is missing shows.
func TestPartsBounds(t *testing.T) {
	var long, many Parts
	for range 3 {
		long.add(piece{text: bytes.Repeat([]byte("a"), maxParts/2)})
	}
	if !long.Cut || len(long.Content) != maxParts {
		t.Errorf("cut %v, %d bytes", long.Cut, len(long.Content))
	}
	for i := range 2 * maxToolCalls {
		many.add(piece{part: partArguments, call: i, text: []byte("1")})
	}
	if !many.Cut || len(many.Calls) != maxToolCalls {
		t.Errorf("cut %v, %d calls", many.Cut, len(many.Calls))
	}
	if got := Unescape([]byte(`\x` + strings.Repeat("a", 3))); got != `\xaaa` {
		t.Errorf("no escape: %q", got)
	}
}

// TestFinishName: a finish reason is a name; a sentence that a server writes there is not stored.
func TestFinishName(t *testing.T) {
	for in, want := range map[string]string{"stop": "stop", "max_output_tokens": "max_output_tokens", "tool-calls": "tool-calls",
		"my name is Ann": "other", "<b>": "other", "\x1b[31m": "other", strings.Repeat("a", 41): "other"} {
		if got := finishName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
