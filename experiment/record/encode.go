package record

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// AppendJSON appends the record as encoding/json writes it, several times as fast: the load runs in the same process.
func (r *Record) AppendJSON(dst []byte) []byte {
	o := object{dst: append(dst, '{')}
	o.write(recordFields, unsafe.Pointer(r))
	return append(o.dst, '}')
}

type object struct {
	dst   []byte
	begun bool // has a field
}

func (o *object) key(name string) {
	if o.begun {
		o.dst = append(o.dst, ',')
	}
	o.begun = true
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *object) number(name string, x int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, x, 10)
}

func (o *object) text(name, s string) {
	o.key(name)
	o.dst = appendText(o.dst, s)
}

func (o *object) truth(name string, b bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, b)
}

func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always has an encoding
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
