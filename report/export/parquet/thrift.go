package parquet

import "encoding/binary"

// message is a struct in Thrift's compact protocol, in which Parquet writes its metadata: a header byte for each
// field with the distance of its number from the field before, which here is never above 15.
type message struct {
	b    []byte
	last int // number of the last field
}

// Types of fields.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeInt32  = 5
	typeInt64  = 6
	typeBinary = 8
	typeList   = 9
	typeStruct = 12
)

func (m *message) field(number, kind int) {
	m.b = append(m.b, byte((number-m.last)<<4|kind))
	m.last = number
}

func (m *message) int32(number int, x int32) {
	m.field(number, typeInt32)
	m.b = binary.AppendVarint(m.b, int64(x))
}

func (m *message) int64(number int, x int64) {
	m.field(number, typeInt64)
	m.b = binary.AppendVarint(m.b, x)
}

func (m *message) bool(number int, x bool) {
	if x {
		m.field(number, typeTrue)
	} else {
		m.field(number, typeFalse)
	}
}

func (m *message) text(number int, s string) {
	m.field(number, typeBinary)
	m.b = appendText(m.b, s)
}

// message appends a struct; nil: one without fields.
func (m *message) message(number int, fill func(*message)) {
	m.field(number, typeStruct)
	m.b = appendMessage(m.b, fill)
}

// list appends a list; each appends the i-th entry, of this kind.
func (m *message) list(number, kind, n int, each func(b []byte, i int) []byte) {
	m.field(number, typeList)
	if n < 15 {
		m.b = append(m.b, byte(n<<4|kind))
	} else {
		m.b = binary.AppendUvarint(append(m.b, byte(15<<4|kind)), uint64(n))
	}
	for i := range n {
		m.b = each(m.b, i)
	}
}

func appendMessage(b []byte, fill func(*message)) []byte {
	m := message{b: b}
	if fill != nil {
		fill(&m)
	}
	return append(m.b, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
