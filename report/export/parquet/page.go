package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"reflect"
	"time"
)

// page is a part of a column's values, not compressed.
type page struct {
	repetition, definition levels
	values                 []byte
	bools, numbers         []uint32 // of a boolean column; of a column with a dictionary
	n                      int      // values, with absent ones and empty lists
}

// add appends the column's values of a line. known is the dictionary, which grows.
func (p *page) add(c *column, v reflect.Value, known *dictionary) {
	switch {
	case c.list && v.Len() == 0:
		p.slot(0, 0)
	case c.list:
		for i := range v.Len() {
			p.slot(uint32(min(i, 1)), 1)
			p.value(c, v.Index(i), known)
		}
	case c.optional && v.IsNil():
		p.slot(0, 0)
	case c.optional:
		p.slot(0, 1)
		p.value(c, v.Elem(), known)
	default:
		p.n++
		p.value(c, v, known)
	}
}

// slot appends the levels of a value that can be absent.
func (p *page) slot(repetition, definition uint32) {
	p.n++
	p.repetition.add(repetition)
	p.definition.add(definition)
}

func (p *page) value(c *column, v reflect.Value, known *dictionary) {
	switch c.physical {
	case typeOfInt64:
		x := int64(0)
		if c.time {
			x = v.Interface().(time.Time).UnixMicro()
		} else {
			x = v.Int()
		}
		p.values = binary.LittleEndian.AppendUint64(p.values, uint64(x))
	case typeOfInt32:
		p.values = binary.LittleEndian.AppendUint32(p.values, uint32(v.Int()))
	case typeDouble:
		p.values = binary.LittleEndian.AppendUint64(p.values, math.Float64bits(v.Float()))
	case typeBoolean:
		x := uint32(0)
		if v.Bool() {
			x = 1
		}
		p.bools = append(p.bools, x)
	case typeByteArray:
		if c.dict {
			p.numbers = append(p.numbers, known.number(v.String()))
		} else {
			p.values = appendBytes(p.values, v.String())
		}
	}
}

// encode is the page's content: levels, then values.
func (p *page) encode(c *column, known *dictionary) []byte {
	var b []byte
	if c.list {
		b = p.repetition.encode(b)
	}
	if c.list || c.optional {
		b = p.definition.encode(b)
	}
	switch {
	case c.dict:
		width := max(1, bits.Len(uint(max(0, known.n-1))))
		var numbers levels
		for _, x := range p.numbers {
			numbers.add(x)
		}
		return numbers.runs(append(b, byte(width)), (width+7)/8)
	case c.physical == typeBoolean:
		packed := make([]byte, (len(p.bools)+7)/8)
		for i, x := range p.bools {
			packed[i/8] |= byte(x) << (i % 8)
		}
		return append(b, packed...)
	}
	return append(b, p.values...)
}

// levels are numbers as runs of equal ones.
type levels struct{ value, times []uint32 }

func (l *levels) add(x uint32) {
	if n := len(l.value); n > 0 && l.value[n-1] == x {
		l.times[n-1]++
		return
	}
	l.value, l.times = append(l.value, x), append(l.times, 1)
}

// encode appends levels of one bit, with their length.
func (l *levels) encode(b []byte) []byte {
	from := len(b)
	b = l.runs(append(b, 0, 0, 0, 0), 1)
	binary.LittleEndian.PutUint32(b[from:], uint32(len(b)-from-4))
	return b
}

// runs appends each run: its length, and the value in so many bytes.
func (l *levels) runs(b []byte, bytes int) []byte {
	for i, x := range l.value {
		b = binary.AppendUvarint(b, uint64(l.times[i])<<1)
		for k := range bytes {
			b = append(b, byte(x>>(8*k)))
		}
	}
	return b
}

// dictionary numbers the texts of a column in the order in which they occur.
type dictionary struct {
	known map[string]uint32
	texts []byte
	n     int
}

func (d *dictionary) number(s string) uint32 {
	n, known := d.known[s]
	if !known {
		n = uint32(d.n)
		d.known[s] = n
		d.texts = appendBytes(d.texts, s)
		d.n++
	}
	return n
}

// appendBytes appends a text as a plain BYTE_ARRAY.
func appendBytes(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}
