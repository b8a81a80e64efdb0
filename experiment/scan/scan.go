// Package scan is the grammar of JSON by RFC 8259, as encoding/json reads and writes it: values read in place, one
// after the other, and texts and objects appended. It allocates nothing and gives no meaning to what it reads.
package scan

import "bytes"

// JSON is a text and how far it is read. Its methods read what comes next, and report whether it is what they read; if
// not, how far they went is of no meaning.
type JSON struct {
	Text []byte
	At   int
}

func (j *JSON) Space() {
	for j.At < len(j.Text) {
		switch j.Text[j.At] {
		case ' ', '\t', '\r', '\n':
			j.At++
		default:
			return
		}
	}
}

func (j *JSON) Eat(c byte) bool {
	if j.At < len(j.Text) && j.Text[j.At] == c {
		j.At++
		return true
	}
	return false
}

func (j *JSON) Literal(text string) bool {
	if len(j.Text)-j.At >= len(text) && string(j.Text[j.At:j.At+len(text)]) == text {
		j.At += len(text)
		return true
	}
	return false
}

// stringByte classifies bytes inside a string: 1 ASCII that stands for itself, 2 other UTF-8, 0 the rest.
var stringByte = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 0x80:
			t[c] = 2
		case c >= ' ' && c != '"' && c != '\\':
			t[c] = 1
		}
	}
	return t
}()

// Plain reads a string of unescaped ASCII, the form of keys and names.
func (j *JSON) Plain(into *[]byte) bool {
	if !j.Eat('"') {
		return false
	}
	rest, n := j.Text[j.At:], 0
	for n < len(rest) && stringByte[rest[n]] == 1 {
		n++
	}
	*into = rest[:n]
	j.At += n
	return j.Eat('"')
}

func (j *JSON) Quoted() bool {
	if !j.Eat('"') {
		return false
	}
	for {
		rest, n := j.Text[j.At:], 0
		for n < len(rest) && stringByte[rest[n]] != 0 {
			n++
		}
		j.At += n
		if j.Eat('"') {
			return true
		}
		if !j.Eat('\\') || !j.escape() {
			return false
		}
	}
}

func (j *JSON) escape() bool {
	if j.At >= len(j.Text) {
		return false
	}
	c := j.Text[j.At]
	j.At++
	if c != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), c) >= 0
	}
	for range 4 {
		if j.At >= len(j.Text) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), j.Text[j.At]) < 0 {
			return false
		}
		j.At++
	}
	return true
}

// Natural is the integer without a sign, of at most 18 digits, that a text begins with, and its length; 0 = none. A
// fraction or an exponent behind it is no part of it.
func Natural(text []byte) (n uint64, digits int) {
	n, digits = leadingNumber(text)
	if digits > 18 || digits > 1 && text[0] == '0' {
		return 0, 0
	}
	return n, digits
}

func leadingNumber(text []byte) (n uint64, digits int) {
	for digits < len(text) && text[digits]-'0' <= 9 {
		n = 10*n + uint64(text[digits]-'0')
		digits++
	}
	return n, digits
}

func (j *JSON) Natural() (uint64, bool) {
	n, digits := Natural(j.Text[j.At:])
	j.At += digits
	return n, digits > 0
}

func (j *JSON) digits() bool {
	_, digits := leadingNumber(j.Text[j.At:])
	j.At += digits
	return digits > 0
}

func (j *JSON) Number() bool {
	j.Eat('-')
	if !j.Eat('0') && !j.digits() {
		return false
	}
	if j.Eat('.') && !j.digits() {
		return false
	}
	if j.Eat('e') || j.Eat('E') {
		_ = j.Eat('+') || j.Eat('-')
		return j.digits()
	}
	return true
}

// Skip reads any value with at most so many levels of lists and objects.
func (j *JSON) Skip(levels int) bool {
	if j.At >= len(j.Text) || levels < 0 {
		return false
	}
	switch j.Text[j.At] {
	case '"':
		return j.Quoted()
	case '{':
		return j.Sequence('{', '}', func() bool { return j.Quoted() && j.Colon() && j.Skip(levels-1) })
	case '[':
		return j.Sequence('[', ']', func() bool { return j.Skip(levels - 1) })
	case 't':
		return j.Literal("true")
	case 'f':
		return j.Literal("false")
	case 'n':
		return j.Literal("null")
	}
	return j.Number()
}

// Sequence reads a list or an object, whose items or fields item reads.
func (j *JSON) Sequence(open, end byte, item func() bool) bool {
	if !j.Eat(open) {
		return false
	}
	j.Space()
	if j.Eat(end) {
		return true
	}
	for item() {
		j.Space()
		if j.Eat(end) {
			return true
		}
		if !j.Eat(',') {
			return false
		}
		j.Space()
	}
	return false
}

// Colon reads what stands between a key and its value.
func (j *JSON) Colon() bool {
	j.Space()
	ok := j.Eat(':')
	j.Space()
	return ok
}
