package record

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"bench/experiment/scan"
)

// field is a field of a stored struct. Its tags are the one list of what a line has: AppendJSON writes them in their
// order, and knownLine reads them. Offsets make that as fast as code for each field, which reflection is not.
type field struct {
	key    string
	kind   kind
	offset uintptr
	always bool    // written even if it is empty
	own    bool    // a text that other records do not share
	fields []field // of a struct behind a pointer
	behind reflect.Type
}

type kind uint8

const (
	aStruct kind = iota
	aText
	anInt
	aBool
	aCount
	someMicros
	aTruth
	aTime
	aList
)

var kinds = map[reflect.Type]kind{
	reflect.TypeFor[string](): aText, reflect.TypeFor[int](): anInt, reflect.TypeFor[bool](): aBool,
	reflect.TypeFor[*int]():   aCount,
	reflect.TypeFor[*int64](): someMicros, reflect.TypeFor[*bool](): aTruth, reflect.TypeFor[Micros](): aTime,
	reflect.TypeFor[Packed](): aList,
}

var recordFields = fieldsOf(reflect.TypeFor[Record]())

func fieldsOf(t reflect.Type) (out []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		x := field{key: key, kind: kinds[f.Type], offset: f.Offset, always: options == "",
			own: slices.Contains([]string{"server_id", "prompt_hash"}, key)}
		if x.kind == aStruct {
			if f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
				panic(t.Name() + "." + f.Name + " has a type that no line has")
			}
			x.behind = f.Type.Elem()
			x.fields = fieldsOf(x.behind)
		}
		out = append(out, x)
	}
	return out
}

func appendFields(dst []byte, fields []field, at unsafe.Pointer) []byte {
	o := scan.Begin(dst)
	for i := range fields {
		f := &fields[i]
		p := unsafe.Add(at, f.offset)
		switch f.kind {
		case aText:
			if s := *(*string)(p); f.always || s != "" {
				o.Text(f.key, s)
			}
		case anInt:
			if n := *(*int)(p); f.always || n != 0 {
				o.Int(f.key, int64(n))
			}
		case aBool:
			if b := *(*bool)(p); f.always || b {
				o.Bool(f.key, b)
			}
		case aCount:
			if n := *(**int)(p); n != nil {
				o.Int(f.key, int64(*n))
			}
		case someMicros:
			if us := *(**int64)(p); us != nil {
				o.Int(f.key, *us)
			}
		case aTruth:
			if b := *(**bool)(p); b != nil {
				o.Bool(f.key, *b)
			}
		case aTime:
			if m := *(*Micros)(p); m.ok {
				o.Int(f.key, m.us)
			}
		case aList:
			if list := (*Packed)(p); !list.IsZero() {
				o.Key(f.key)
				o.JSON = list.appendJSON(o.JSON)
			}
		default:
			if inner := *(*unsafe.Pointer)(p); inner != nil {
				o.Key(f.key)
				o.JSON = appendFields(o.JSON, f.fields, inner)
			}
		}
	}
	return o.End()
}

func (l *knownLine) read(fields []field, at unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		if !l.begins(f.key) {
			continue
		}
		p := unsafe.Add(at, f.offset)
		switch f.kind {
		case aText:
			if text := l.quoted(); f.own {
				*(*string)(p) = string(text)
			} else {
				*(*string)(p) = l.stored.word(text)
			}
		case anInt:
			*(*int)(p) = l.whole()
		case aBool:
			*(*bool)(p) = l.truth()
		case aCount:
			*(**int)(p) = new(l.whole())
		case someMicros:
			*(**int64)(p) = new(l.number())
		case aTruth:
			*(**bool)(p) = new(l.truth())
		case aTime:
			*(*Micros)(p) = At(l.number())
		case aList:
			l.list((*Packed)(p))
		default:
			inner := reflect.New(f.behind)
			*(*unsafe.Pointer)(p) = inner.UnsafePointer()
			l.before = '{'
			l.read(f.fields, inner.UnsafePointer())
			l.closes()
		}
	}
}
