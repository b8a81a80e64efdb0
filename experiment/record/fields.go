package record

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// field is a field of a stored struct. Its tags are the one list of what a line has: AppendJSON writes them in their
// order, and knownLine reads them. Offsets make that as fast as code for each field, which reflection is not.
type field struct {
	key    string
	kind   reflect.Type
	offset uintptr
	always bool    // written even if it is empty
	own    bool    // a text that other records do not share
	fields []field // of a struct behind a pointer
}

var (
	recordFields = fieldsOf(reflect.TypeFor[Record]())

	textType   = reflect.TypeFor[string]()
	intType    = reflect.TypeFor[int]()
	boolType   = reflect.TypeFor[bool]()
	countType  = reflect.TypeFor[*int]()
	microsType = reflect.TypeFor[*int64]()
	truthType  = reflect.TypeFor[*bool]()
	timeType   = reflect.TypeFor[Micros]()
	listType   = reflect.TypeFor[Packed]()
)

func fieldsOf(t reflect.Type) (out []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		x := field{key: key, kind: f.Type, offset: f.Offset, always: options == "", own: slices.Contains([]string{"server_id", "prompt_hash"}, key)}
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			x.fields = fieldsOf(f.Type.Elem())
		}
		out = append(out, x)
	}
	return out
}

func (o *object) write(fields []field, at unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		p := unsafe.Add(at, f.offset)
		switch f.kind {
		case textType:
			if s := *(*string)(p); f.always || s != "" {
				o.text(f.key, s)
			}
		case intType:
			if n := *(*int)(p); f.always || n != 0 {
				o.number(f.key, int64(n))
			}
		case boolType:
			if b := *(*bool)(p); f.always || b {
				o.truth(f.key, b)
			}
		case countType:
			if n := *(**int)(p); n != nil {
				o.number(f.key, int64(*n))
			}
		case microsType:
			if us := *(**int64)(p); us != nil {
				o.number(f.key, *us)
			}
		case truthType:
			if b := *(**bool)(p); b != nil {
				o.truth(f.key, *b)
			}
		case timeType:
			if m := *(*Micros)(p); m.ok {
				o.number(f.key, m.us)
			}
		case listType:
			if list := (*Packed)(p); !list.IsZero() {
				o.key(f.key)
				o.dst = list.appendJSON(o.dst)
			}
		default:
			if inner := *(*unsafe.Pointer)(p); inner != nil {
				o.key(f.key)
				own := object{dst: append(o.dst, '{')}
				own.write(f.fields, inner)
				o.dst = append(own.dst, '}')
			}
		}
	}
}

func (l *knownLine) read(fields []field, at unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		if !l.begins(f.key) {
			continue
		}
		p := unsafe.Add(at, f.offset)
		switch f.kind {
		case textType:
			if text := l.quoted(); f.own {
				*(*string)(p) = string(text)
			} else {
				*(*string)(p) = l.stored.word(text)
			}
		case intType:
			*(*int)(p) = l.whole()
		case boolType:
			*(*bool)(p) = l.truth()
		case countType:
			*(**int)(p) = new(l.whole())
		case microsType:
			*(**int64)(p) = new(l.number())
		case truthType:
			*(**bool)(p) = new(l.truth())
		case timeType:
			*(*Micros)(p) = At(l.number())
		case listType:
			l.list((*Packed)(p))
		default:
			inner := reflect.New(f.kind.Elem())
			*(*unsafe.Pointer)(p) = inner.UnsafePointer()
			l.before = '{'
			l.read(f.fields, inner.UnsafePointer())
			l.closes()
		}
	}
}
