package record

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"bench/experiment/scan"
)

// decode reads one record. Almost every line is as AppendJSON writes it, and is read in one pass;
// encoding/json, which takes many times as long, reads any other.
func (l *storedLines) decode(text []byte, r *Record) error {
	line := knownLine{JSON: scan.JSON{Text: text}, before: '{', stored: l}
	if line.record(r) {
		return nil
	}
	*r = Record{}
	if err := decodeLine(text, r); err != nil {
		return err
	}
	if l.share(r); !l.lists {
		r.Gaps, r.TokensPerEvent = Packed{}, Packed{}
	}
	return nil
}

// knownLine is a line whose fields are those of AppendJSON in their order, without spaces, null, or an escape.
type knownLine struct {
	scan.JSON      // without a text: the line is another one
	before    byte // stands before the next field
	stored    *storedLines
}

func (l *knownLine) record(r *Record) bool {
	l.read(recordFields, unsafe.Pointer(r))
	return l.before == ',' && string(l.Text[l.At:]) == "}"
}

// must is called with whether what the line has was read.
func (l *knownLine) must(read bool) {
	if !read {
		l.JSON = scan.JSON{}
	}
}

func (l *knownLine) closes() { l.must(l.before == ',' && l.Eat('}')) }

// begins reads the key of a field, with what stands before it; false: the next field is another one.
func (l *knownLine) begins(key string) bool {
	const around = len(`,"":`)
	n := len(key) + around
	t := l.Text[l.At:]
	if len(t) < n || t[0] != l.before || t[1] != '"' || string(t[2:n-2]) != key || t[n-2] != '"' || t[n-1] != ':' {
		return false
	}
	l.At, l.before = l.At+n, ','
	return true
}

func (l *knownLine) number() int64 {
	minus := l.Eat('-')
	n, ok := l.Natural()
	l.must(ok)
	if minus {
		return -int64(n)
	}
	return int64(n)
}

func (l *knownLine) whole() int {
	x := l.number()
	l.must(int64(int(x)) == x)
	return int(x)
}

func (l *knownLine) truth() bool {
	is := l.Literal("true")
	l.must(is || l.Literal("false"))
	return is
}

func (l *knownLine) quoted() (text []byte) {
	if !l.Plain(&text) {
		l.must(false)
		return nil
	}
	return text
}

// list reads a list of non-negative integers of at most 18 digits.
func (l *knownLine) list(to *Packed) {
	l.must(l.Eat('['))
	if !l.stored.lists {
		n := bytes.IndexByte(l.Text[l.At:], ']')
		if l.must(n > 0); n > 0 {
			l.At += n + 1
		}
		return
	}
	room, rest, n := l.stored.room[:0], l.Text[l.At:], 0
	for next := byte(','); next != ']'; n++ {
		x, digits := scan.Natural(rest)
		if digits == 0 || digits == len(rest) || next != ',' {
			l.must(false)
			return
		}
		room = binary.AppendUvarint(room, x)
		next, rest = rest[digits], rest[digits+1:]
	}
	l.stored.room, l.At = room, len(l.Text)-len(rest)
	*to = Packed{b: room, n: n}.clone()
}
