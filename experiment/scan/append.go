package scan

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Object is an object that is written field by field, as encoding/json writes it, but several times as fast.
type Object struct {
	JSON []byte // without the closing brace
	some bool   // has a field
}

func Begin(dst []byte) Object { return Object{JSON: append(dst, '{')} }

func (o *Object) End() []byte { return append(o.JSON, '}') }

// Key writes a key that needs no escape. Its value is the caller's to append.
func (o *Object) Key(name string) {
	if o.some {
		o.JSON = append(o.JSON, ',')
	}
	o.some = true
	o.JSON = append(o.JSON, '"')
	o.JSON = append(o.JSON, name...)
	o.JSON = append(o.JSON, '"', ':')
}

func (o *Object) Int(name string, x int64) {
	o.Key(name)
	o.JSON = strconv.AppendInt(o.JSON, x, 10)
}

func (o *Object) Bool(name string, b bool) {
	o.Key(name)
	o.JSON = strconv.AppendBool(o.JSON, b)
}

func (o *Object) Text(name, s string) {
	o.Key(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always has an encoding
			o.JSON = append(o.JSON, quoted...)
			return
		}
	}
	o.JSON = append(o.JSON, '"')
	o.JSON = append(o.JSON, s...)
	o.JSON = append(o.JSON, '"')
}
