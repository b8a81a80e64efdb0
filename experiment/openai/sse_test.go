package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scanned is a copy of an event. Its data ended before byte End of the body.
type scanned struct {
	Data        string
	End         int64
	Failed, Cut bool
}

// scanAll pushes the pieces of r. A piece's arrival is the offset of its end, so that an event's arrival
// identifies the piece in which its data ended.
func scanAll(s *scanner, r io.Reader) (events []scanned, stray string, err error) {
	s.reset()
	add := func(ev event) {
		events = append(events, scanned{string(ev.data), int64(ev.arrival.at), ev.failed, ev.truncated})
	}
	buf, off := make([]byte, 64<<10), 0
	for {
		n, err := r.Read(buf)
		off += n
		if n > 0 {
			s.push(buf[:n], arrival{at: time.Duration(off)})
		}
		for ev, ok, scanErr := s.next(); ok || scanErr != nil; ev, ok, scanErr = s.next() {
			if scanErr != nil {
				return events, string(s.stray), scanErr
			}
			add(ev)
		}
		clear(buf[:n]) // the scanner must have copied what it keeps
		if err != nil {
			if ev, ok := s.finish(); ok {
				add(ev)
			}
			return events, string(s.stray), err
		}
	}
}

// TestScan has the examples of the HTML standard, §9.2.6, and the forms that servers send.
func TestScan(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string // the data; leading !: failed; trailing …: truncated
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

// TestScanEnds: an event arrives with the last byte of its data, not with its line end.
func TestScanEnds(t *testing.T) {
	in := ": x\ndata: a\ndata: bc\nid: 1\n\n" + strings.Repeat("data: "+strings.Repeat("y", 1000)+"\r\n\r\n", 100)
	events, _, _ := scanAll(new(scanner), iotest.OneByteReader(strings.NewReader(in)))
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

// endless repeats its text.
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
	if _, stray, _ := scanAll(new(scanner), strings.NewReader(strings.Repeat(line[:100]+"\n", 1000))); len(stray) > maxStray+1 {
		t.Errorf("%d bytes of stray lines kept", len(stray))
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// splitReader returns the text in pieces whose lengths are the bytes of cuts, repeated.
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

// FuzzScan: any split of the input gives the same events, and each has the arrival of the piece in which its
// data ended.
func FuzzScan(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBFdata: a\r\n\r\n: x\rdata: b\ndata:c\n\nevent: error\ndata: d\n\nerror: e\n\nzzz\ndata: f"), []byte{0, 3, 1})
	f.Add([]byte("data\r\r\ndata:\n\ndata: x\r"), []byte{})
	var again scanner
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		whole, strayA, errA := scanAll(new(scanner), bytes.NewReader(in))
		split, strayB, errB := scanAll(&again, splitReader(in, cuts))
		single, _, _ := scanAll(new(scanner), iotest.OneByteReader(bytes.NewReader(in)))
		noEnds := cmpopts.IgnoreFields(scanned{}, "End")
		if diff := cmp.Diff(whole, split, noEnds); diff != "" || strayA != strayB || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Fatalf("%s\n%q %q %v %v", diff, strayA, strayB, errA, errB)
		}
		ends := pieceEnds(in, cuts)
		for i, ev := range single {
			last := ev.Data[strings.LastIndexByte(ev.Data, '\n')+1:]
			if ev.Data != "" && !strings.HasSuffix(string(in[:ev.End]), last) {
				t.Errorf("data %q does not end at %d", ev.Data, ev.End)
			}
			if at, _ := slices.BinarySearch(ends, ev.End); last != "" && ends[at] != split[i].End {
				t.Errorf("data %q ends at %d, and came with the piece up to %d", ev.Data, ev.End, split[i].End)
			}
		}
	})
}

// pieceEnds are the offsets at which splitReader's pieces end.
func pieceEnds(in, cuts []byte) (ends []int64) {
	r, buf, off := splitReader(in, cuts), make([]byte, 300), int64(0)
	for n, err := r.Read(buf); err == nil; n, err = r.Read(buf) {
		off += int64(n)
		ends = append(ends, off)
	}
	return ends
}
