package workers

import (
	"bytes"
	"fmt"
	"testing"
)

// TestOutboxBacklog takes more slowly than lines come, then all: each comes once, in order, and what was taken is not
// kept.
func TestOutboxBacklog(t *testing.T) {
	o := &outbox{wake: make(chan struct{}, 1)}
	filler := bytes.Repeat([]byte("x"), 20_000)
	var want, got, room []byte
	line := 0
	add := func(bytes int) {
		for before := len(want); len(want) < before+bytes; line++ {
			text := fmt.Appendf(nil, "%d%s", line, filler)
			want = append(append(append(want, kindRecord), text...), '\n')
			if err := o.addText(kindRecord, func(b []byte) []byte { return append(b, text...) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	take := func() bool {
		_, lines, more := o.take(room[:0])
		if n := len(lines); n == 0 || lines[n-1] != '\n' || n > fullBatch+2*len(filler) {
			t.Fatalf("a batch of %d bytes", n)
		}
		room = lines
		got = append(got, lines...)
		return more
	}
	for range 8 {
		add(fullBatch * 3 / 2)
		take()
	}
	for range 10 { // the backlog stays the same
		add(fullBatch)
		take()
	}
	if left := len(want) - len(got); len(o.lines) != left || cap(o.lines) > 2*left {
		t.Errorf("%d bytes wait in %d, want %d", len(o.lines), cap(o.lines), left)
	}
	for take() {
	}
	if !bytes.Equal(got, want) || len(o.lines) > 0 {
		t.Errorf("%d bytes came, %d wait; want %d", len(got), len(o.lines), len(want))
	}
}
