package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// scanned is an event that outlives the scanner's buffer.
type scanned struct {
	Data        string
	End         int64
	Failed, Cut bool
}

func scanAll(s *scanner, r io.Reader) (events []scanned, stray string, err error) {
	s.reset(r)
	for {
		ev, err := s.next()
		if err != nil {
			return events, string(s.stray), err
		}
		events = append(events, scanned{string(ev.data), ev.end, ev.failed, ev.cut})
	}
}

// TestScan has the examples of the HTML standard, §9.2.6, and the shapes that servers send.
func TestScan(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string // the data; a leading ! is failed, a trailing … is cut
		stray    string
	}{
		{"one", "data: a\n\n", []string{"a"}, ""},
		{"no space", "data:a\n\n", []string{"a"}, ""},
		{"two spaces", "data:  a \n\n", []string{" a "}, ""},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, ""},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}, ""},
		{"mixed line ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []string{"a", "b", "c"}, ""},
		{"several lines", "data: YHOO\ndata: +2\ndata: 10\n\n", []string{"YHOO\n+2\n10"}, ""},
		{"standard's third", "data\n\ndata\ndata\n\ndata:", []string{"\n"}, ""},
		{"standard's fourth", "data:test\n\ndata: test\n\n", []string{"test", "test"}, ""},
		{"comments", ": hello\n\n:\n:data: x\n\ndata: a\n: in between\n\n", []string{"a"}, ""},
		{"fields", "id: 7\nretry: 10\nevent: add\ndata: a\n\n", []string{"a"}, ""},
		{"a type without data", "event: add\n\ndata: a\n\n", []string{"a"}, ""},
		{"event: error", "event: error\ndata: a\n\ndata: b\n\n", []string{"!a", "b"}, ""},
		{"event: error behind the data", "data: a\nevent:error\n\n", []string{"!a"}, ""},
		{"event: error alone", "event: error\n\n", []string{"!"}, ""},
		{"error field", "error: {}\n\n", []string{"!{}"}, ""},
		{"BOM", "\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", []string{"a"}, "\xEF\xBB\xBFdata: b\n"},
		{"BOM alone", "\xEF\xBB\xBF", nil, ""},
		{"BOM line", "\xEF\xBB\xBF\ndata: a\n\n", []string{"a"}, ""},
		{"unended event", "data: a\n\ndata: b\n", []string{"a", "b…"}, ""},
		{"unended line", "data: a\n\ndata: b", []string{"a", "b…"}, ""},
		{"unended name", "data: a\n\ndat", []string{"a"}, "dat\n"},
		{"stray", "<html>\n\nhello: you\n", nil, "<html>\nhello: you\n"},
		{"runes", "data: 日本語\U0001F600\n\n", []string{"日本語\U0001F600"}, ""},
		{"empty", "", nil, ""},
		{"long", "data: " + strings.Repeat("x", 1<<20) + "\n\ndata: b\n\n", []string{strings.Repeat("x", 1<<20), "b"}, ""},
		{"long, several lines", strings.Repeat("data: "+strings.Repeat("x", 40<<10)+"\n", 2) + "\n", []string{strings.Repeat("x", 40<<10) + "\n" + strings.Repeat("x", 40<<10)}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			readers := map[string]io.Reader{
				"whole":        strings.NewReader(tt.in),
				"half":         iotest.HalfReader(strings.NewReader(tt.in)),
				"data and EOF": iotest.DataErrReader(strings.NewReader(tt.in)),
			}
			if len(tt.in) < 1000 {
				readers["bytes"] = iotest.OneByteReader(strings.NewReader(tt.in))
			}
			for name, r := range readers {
				events, stray, err := scanAll(new(scanner), r)
				var got []string
				for _, ev := range events {
					text := ev.Data
					if ev.Failed {
						text = "!" + text
					}
					if ev.Cut {
						text += "…"
					}
					got = append(got, text)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || stray != tt.stray || err != io.EOF {
					t.Errorf("%s: %s, stray %q, %v", name, diff, stray, err)
				}
			}
		})
	}
}

// TestScanEnds: an event's end is the offset behind its data, before the line end.
func TestScanEnds(t *testing.T) {
	in := ": x\ndata: a\ndata: bc\nid: 1\n\n" + strings.Repeat("data: "+strings.Repeat("y", 1000)+"\r\n\r\n", 100)
	events, _, _ := scanAll(new(scanner), iotest.HalfReader(strings.NewReader(in)))
	if len(events) != 101 {
		t.Fatal(len(events))
	}
	for i, ev := range events {
		lines := strings.Split(ev.Data, "\n")
		if last := lines[len(lines)-1]; !strings.HasSuffix(in[:ev.End], "data: "+last) {
			t.Fatalf("event %d: end %d is behind %q", i, ev.End, in[max(0, ev.End-10):ev.End])
		}
	}
}

// endless repeats its text for ever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestScanBounds(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{"a line without an end": line, "data without an end": "data: " + line + "\n"} {
		if _, _, err := scanAll(new(scanner), &endless{text: text}); !errors.Is(err, errTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := scanAll(new(scanner), iotest.ErrReader(errors.New("boom"))); err == nil || err.Error() != "boom" {
		t.Error(err)
	}
	if _, _, err := scanAll(new(scanner), readFunc(func([]byte) (int, error) { return 0, nil })); err != io.ErrNoProgress {
		t.Error(err)
	}
	if _, stray, _ := scanAll(new(scanner), strings.NewReader(strings.Repeat(line[:100]+"\n", 1000))); len(stray) > maxStray+1 {
		t.Errorf("%d bytes of stray lines kept", len(stray))
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// splitReader gives the text in pieces whose lengths are the bytes of cuts, over and over.
func splitReader(text, cuts []byte) io.Reader {
	i := 0
	return readFunc(func(p []byte) (int, error) {
		if len(text) == 0 {
			return 0, io.EOF
		}
		n := 1
		if len(cuts) > 0 {
			n = 1 + int(cuts[i%len(cuts)])
			i++
		}
		n = copy(p[:min(n, len(p))], text)
		text = text[n:]
		return n, nil
	})
}

// FuzzScan: any split of the input gives the same events, and their data lies where their end says.
func FuzzScan(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBFdata: a\r\n\r\n: x\rdata: b\ndata:c\n\nevent: error\ndata: d\n\nerror: e\n\nzzz\ndata: f"), []byte{0, 3, 1})
	f.Add([]byte("data\r\r\ndata:\n\ndata: x\r"), []byte{})
	var small scanner
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		small.buf = make([]byte, 4) // grows soon
		a, strayA, errA := scanAll(new(scanner), bytes.NewReader(in))
		b, strayB, errB := scanAll(&small, splitReader(in, cuts))
		if diff := cmp.Diff(a, b); diff != "" || strayA != strayB || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("%s\n%q %q %v %v", diff, strayA, strayB, errA, errB)
		}
		for _, ev := range a {
			last := ev.Data[strings.LastIndexByte(ev.Data, '\n')+1:]
			if ev.Data != "" && !strings.HasSuffix(string(in[:ev.End]), last) {
				t.Errorf("data %q does not end at %d", ev.Data, ev.End)
			}
		}
	})
}
