package proxy

import "bytes"

// cursor reads a JSON text once, from its beginning to its end, without a copy. It is lax where a server would be
// strict: what it finds is only hashed. i is the length of b after a mistake.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

// peek is the next byte behind white space; 0 at the end.
func (c *cursor) peek() byte {
	for ; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case ' ', '\t', '\r', '\n':
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// take reads one byte if it is the next.
func (c *cursor) take(want byte) bool {
	if c.peek() != want {
		return false
	}
	c.i++
	return true
}

func (c *cursor) fail() {
	c.bad, c.i = true, len(c.b)
}

// object calls visit for each member of the object that is next; visit must read the value.
func (c *cursor) object(visit func(name []byte)) {
	if !c.take('{') {
		c.fail()
		return
	}
	for first := true; !c.take('}'); first = false {
		if !first && !c.take(',') || c.peek() != '"' {
			c.fail()
			return
		}
		name := c.raw()
		if !c.take(':') {
			c.fail()
			return
		}
		visit(unquoted(name))
		if c.bad {
			return
		}
	}
}

// array calls visit for each element of the array that is next; visit must read it.
func (c *cursor) array(visit func()) {
	if !c.take('[') {
		c.fail()
		return
	}
	for first := true; !c.take(']'); first = false {
		if !first && !c.take(',') {
			c.fail()
			return
		}
		visit()
		if c.bad {
			return
		}
	}
}

// raw reads the next value and is its text, escapes and quotes included.
func (c *cursor) raw() []byte {
	first := c.peek()
	from := c.i
	switch first {
	case '"':
		c.skipString()
	case '{', '[':
		c.skipNested()
	default:
		c.skipScalar()
	}
	return c.b[from:c.i]
}

func (c *cursor) skipString() {
	from := c.i
	for c.i++; ; {
		n := bytes.IndexByte(c.b[min(c.i, len(c.b)):], '"')
		if n < 0 {
			c.fail()
			return
		}
		c.i += n + 1
		escapes := 0
		for k := c.i - 2; k > from && c.b[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return
		}
	}
}

func (c *cursor) skipNested() {
	for depth := 0; c.i < len(c.b); {
		switch c.b[c.i] {
		case '"':
			c.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return
		}
	}
	c.fail()
}

func (c *cursor) skipScalar() {
	from := c.i
	for ; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case ',', ']', '}', ' ', '\t', '\r', '\n', '"', ':', '{', '[':
			if c.i == from {
				c.fail()
			}
			return
		}
	}
	if c.i == from {
		c.fail()
	}
}

// unquoted is a JSON string's text without its quotes, escapes as they are; other values stay.
func unquoted(value []byte) []byte {
	if len(value) >= 2 && value[0] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}
