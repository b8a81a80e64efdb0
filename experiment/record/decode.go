package record

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// decode reads one record. Almost every line is as AppendJSON writes it, and is read in one pass;
// encoding/json, which takes many times as long, reads any other.
func (l *storedLines) decode(text []byte, r *Record) error {
	line := knownLine{rest: text, before: '{', stored: l}
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
	rest   []byte // nil: the line is another one
	before byte   // stands before the next field
	stored *storedLines
}

func (l *knownLine) record(r *Record) bool {
	l.read(recordFields, unsafe.Pointer(r))
	return l.before == ',' && string(l.rest) == "}"
}

func (l *knownLine) closes() {
	if l.before != ',' || len(l.rest) == 0 || l.rest[0] != '}' {
		l.other()
		return
	}
	l.rest = l.rest[1:]
}

func (l *knownLine) other() { l.rest = nil }

// begins reads the key of a field, with what stands before it; false: the next field is another one.
func (l *knownLine) begins(key string) bool {
	const around = len(`,"":`)
	n := len(key) + around
	t := l.rest
	if len(t) < n || t[0] != l.before || t[1] != '"' || string(t[2:n-2]) != key || t[n-2] != '"' || t[n-1] != ':' {
		return false
	}
	l.rest, l.before = t[n:], ','
	return true
}

func (l *knownLine) number() int64 {
	t, minus := l.rest, false
	if len(t) > 0 && t[0] == '-' {
		t, minus = t[1:], true
	}
	digits, n := leadingNumber(t)
	if n == 0 || n > 18 || n > 1 && t[0] == '0' {
		l.other()
		return 0
	}
	l.rest = t[n:]
	if minus {
		return -int64(digits)
	}
	return int64(digits)
}

func (l *knownLine) whole() int {
	x := l.number()
	if int64(int(x)) != x {
		l.other()
	}
	return int(x)
}

func (l *knownLine) truth() bool {
	for _, word := range []string{"false", "true"} {
		if len(l.rest) >= len(word) && string(l.rest[:len(word)]) == word {
			l.rest = l.rest[len(word):]
			return word == "true"
		}
	}
	l.other()
	return false
}

func (l *knownLine) quoted() []byte {
	if len(l.rest) > 0 && l.rest[0] == '"' {
		for n, c := range l.rest[1:] {
			switch {
			case c == '"':
				text := l.rest[1 : 1+n]
				l.rest = l.rest[n+2:]
				return text
			case c < ' ' || c > '~' || c == '\\':
				l.other()
				return nil
			}
		}
	}
	l.other()
	return nil
}

func (l *knownLine) list(to *Packed) {
	if len(l.rest) == 0 || l.rest[0] != '[' {
		l.other()
		return
	}
	if !l.stored.lists {
		l.rest = l.rest[bytes.IndexByte(l.rest, ']')+1:] // of a cut line, its '[', with which nothing goes on
		return
	}
	room, count, n, ok := appendNumbers(l.stored.room[:0], l.rest[1:])
	l.stored.room = room
	if !ok {
		l.other()
		return
	}
	*to = Packed{b: room, n: count}.clone()
	l.rest = l.rest[1+n:]
}

// appendNumbers reads a list of non-negative integers of at most 18 digits up to its closing bracket, and
// appends them as Packed stores them. n is its length in bytes with the bracket. ok is false for any other text.
func appendNumbers(b, text []byte) (out []byte, count, n int, ok bool) {
	for {
		x, digits := leadingNumber(text[n:])
		if digits == 0 || digits > 18 || digits > 1 && text[n] == '0' {
			return b, 0, 0, false
		}
		b = binary.AppendUvarint(b, x)
		count++
		if n += digits; n == len(text) {
			return b, 0, 0, false
		}
		n++
		switch text[n-1] {
		case ',':
		case ']':
			return b, count, n, true
		default:
			return b, 0, 0, false
		}
	}
}

func leadingNumber(text []byte) (x uint64, digits int) {
	for digits < len(text) && text[digits]-'0' <= 9 {
		x = 10*x + uint64(text[digits]-'0')
		digits++
	}
	return x, digits
}
