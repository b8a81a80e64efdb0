package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
)

// Packed is a list of whole numbers that are small and not negative, as a rule: the gaps of a request in µs, in two
// bytes each below 16.4 ms and three below 2.1 s, where a slice takes eight. It holds any int64 exactly. In JSON it is a
// plain array. The zero value is the empty list.
type Packed struct {
	b []byte // uvarints of encoding/binary; a negative number takes ten bytes
	n int
}

// Pack makes a list of xs.
func Pack[T int | int64](xs ...T) Packed {
	var room packing
	p := Packed{b: room[:0]}
	for _, x := range xs {
		p = p.Append(int64(x))
	}
	return p.clone()
}

// packing is where a list is made, on the stack: most fit, and are then allocated once and to size.
type packing [4 << 10]byte

// Append gives the list with one more entry at its end; as with the built-in append, p itself is used up.
func (p Packed) Append(x int64) Packed {
	return Packed{b: binary.AppendUvarint(p.b, uint64(x)), n: p.n + 1}
}

// clone is a copy without spare room.
func (p Packed) clone() Packed {
	if p.n == 0 {
		return Packed{}
	}
	return Packed{b: bytes.Clone(p.b), n: p.n}
}

// Len is the number of entries.
func (p Packed) Len() int { return p.n }

// IsZero says that there are none; encoding/json's omitzero leaves the field out then.
func (p Packed) IsZero() bool { return p.n == 0 }

// All gives the entries in their order.
func (p Packed) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for b := p.b; len(b) > 0; {
			x, n := binary.Uvarint(b)
			b = b[n:]
			if !yield(int64(x)) {
				return
			}
		}
	}
}

// take cuts the first entry off; there must be one.
func (p *Packed) take() int64 {
	x, n := binary.Uvarint(p.b)
	p.b, p.n = p.b[n:], p.n-1
	return int64(x)
}

// MarshalJSON writes an array of numbers.
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

// UnmarshalJSON reads an array of whole numbers; null is the empty list.
func (p *Packed) UnmarshalJSON(text []byte) error {
	*p = Packed{}
	if string(text) == "null" {
		return nil
	}
	inner, ok := bytes.CutPrefix(text, []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	if !ok || !closed {
		return fmt.Errorf("reading a list of numbers: %.20q is no array", text)
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
