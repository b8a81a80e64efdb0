package openai

import "bytes"

// The walker's single JSON values, by RFC 8259 as encoding/json reads it.

func (w *walker) space() {
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case ' ', '\t', '\r', '\n':
			w.i++
		default:
			return
		}
	}
}

func (w *walker) eat(c byte) bool {
	if w.i < len(w.b) && w.b[w.i] == c {
		w.i++
		return true
	}
	return false
}

func (w *walker) literal(text string) bool {
	if len(w.b)-w.i >= len(text) && string(w.b[w.i:w.i+len(text)]) == text {
		w.i += len(text)
		return true
	}
	return false
}

func (w *walker) null() bool { return w.i < len(w.b) && w.b[w.i] == 'n' && w.literal("null") }

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

// asciiString reads a string of unescaped ASCII, the form of keys and names.
func (w *walker) asciiString(into *[]byte) bool {
	if !w.eat('"') {
		return false
	}
	from := w.i
	for w.i < len(w.b) && stringByte[w.b[w.i]] == 1 {
		w.i++
	}
	*into = w.b[from:w.i]
	return w.eat('"')
}

func (w *walker) anyString() bool {
	if !w.eat('"') {
		return false
	}
	for {
		for w.i < len(w.b) && stringByte[w.b[w.i]] != 0 {
			w.i++
		}
		if w.eat('"') {
			return true
		}
		if !w.eat('\\') || !w.escape() {
			return false
		}
	}
}

func (w *walker) escape() bool {
	if w.i >= len(w.b) {
		return false
	}
	c := w.b[w.i]
	w.i++
	if c != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), c) >= 0
	}
	for range 4 {
		if w.i >= len(w.b) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), w.b[w.i]) < 0 {
			return false
		}
		w.i++
	}
	return true
}

func (w *walker) digits() bool {
	from := w.i
	for w.i < len(w.b) && '0' <= w.b[w.i] && w.b[w.i] <= '9' {
		w.i++
	}
	return w.i > from
}

// count reads a number of tokens in its usual form: at most 15 digits.
func (w *walker) count(into *int, has *bool) bool {
	from, n := w.i, 0
	if !w.digits() || w.i-from > 15 || w.b[from] == '0' && w.i-from > 1 {
		return false
	}
	if w.i < len(w.b) && bytes.IndexByte([]byte(".eE"), w.b[w.i]) >= 0 {
		return false
	}
	for _, c := range w.b[from:w.i] {
		n = 10*n + int(c-'0')
	}
	*into, *has = n, true
	return true
}

func (w *walker) integer() bool {
	n, has := 0, false
	return w.count(&n, &has)
}

func (w *walker) number() bool {
	w.eat('-')
	if !w.eat('0') && !w.digits() {
		return false
	}
	if w.eat('.') && !w.digits() {
		return false
	}
	if w.eat('e') || w.eat('E') {
		_ = w.eat('+') || w.eat('-')
		return w.digits()
	}
	return true
}

func (w *walker) skip(depth int) bool {
	if w.i >= len(w.b) || depth > maxDepth {
		return false
	}
	switch w.b[w.i] {
	case '"':
		return w.anyString()
	case '{':
		return w.sequence('{', '}', func() bool { return w.anyString() && w.colon() && w.skip(depth+1) })
	case '[':
		return w.sequence('[', ']', func() bool { return w.skip(depth + 1) })
	case 't':
		return w.literal("true")
	case 'f':
		return w.literal("false")
	case 'n':
		return w.literal("null")
	}
	return w.number()
}

func (w *walker) sequence(open, end byte, item func() bool) bool {
	if !w.eat(open) {
		return false
	}
	w.space()
	if w.eat(end) {
		return true
	}
	for item() {
		w.space()
		if w.eat(end) {
			return true
		}
		if !w.eat(',') {
			return false
		}
		w.space()
	}
	return false
}

func (w *walker) colon() bool {
	w.space()
	ok := w.eat(':')
	w.space()
	return ok
}
