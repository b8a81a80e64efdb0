package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
)

// Packed is a compact list of integers: two bytes each below 16.4 ms in µs, three below 2.1 s. The zero value is
// empty.
type Packed struct {
	b []byte // uvarints of encoding/binary; a negative number takes ten bytes
	n int
}

func Pack[T int | int64](xs ...T) Packed {
	var room packing
	p := Packed{b: room[:0]}
	for _, x := range xs {
		p = p.Append(int64(x))
	}
	return p.clone()
}

// packing is room on the stack to build a list: most fit, and are then allocated once, at their size.
type packing [4 << 10]byte

// Append returns the list with x appended; as with the built-in append, p must not be used afterwards.
func (p Packed) Append(x int64) Packed {
	return Packed{b: binary.AppendUvarint(p.b, uint64(x)), n: p.n + 1}
}

func (p Packed) clone() Packed {
	if p.n == 0 {
		return Packed{}
	}
	return Packed{b: bytes.Clone(p.b), n: p.n}
}

func (p Packed) Len() int { return p.n }

func (p Packed) IsZero() bool { return p.n == 0 }

// All yields the entries in order.
func (p Packed) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for b := p.b; len(b) > 0; {
			var x uint64
			n := 2
			if len(b) > 1 && b[0] >= 0x80 && b[1] < 0x80 { // most, and much faster
				x = uint64(b[0]&0x7f) | uint64(b[1])<<7
			} else {
				x, n = binary.Uvarint(b)
			}
			b = b[n:]
			if !yield(int64(x)) {
				return
			}
		}
	}
}

func (p *Packed) take() int64 {
	x, n := binary.Uvarint(p.b)
	p.b, p.n = p.b[n:], p.n-1
	return int64(x)
}

func (p Packed) MarshalJSON() ([]byte, error) { return p.appendJSON(nil), nil }

func (p Packed) appendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for x := range p.All() {
		dst = strconv.AppendInt(dst, x, 10)
		dst = append(dst, ',')
	}
	if p.n > 0 {
		dst = dst[:len(dst)-1]
	}
	return append(dst, ']')
}

func (p *Packed) UnmarshalJSON(text []byte) error {
	*p = Packed{}
	if string(text) == "null" {
		return nil
	}
	inner, ok := bytes.CutPrefix(text, []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	if !ok || !closed {
		return fmt.Errorf("reading a list of numbers: %.20q is not an array", text)
	}
	if len(bytes.TrimSpace(inner)) == 0 {
		return nil
	}
	var room packing
	q := Packed{b: room[:0]}
	for entry := range bytes.SplitSeq(inner, []byte(",")) {
		x, err := strconv.ParseInt(string(bytes.TrimSpace(entry)), 10, 64)
		if err != nil {
			return fmt.Errorf("reading a list of numbers: entry %d: %w", q.n+1, err)
		}
		q = q.Append(x)
	}
	*p = q.clone()
	return nil
}
