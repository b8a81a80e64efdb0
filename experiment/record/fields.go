package record

import (
	"bytes"
	"encoding/binary"
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
	reflect.TypeFor[*int](): aCount, reflect.TypeFor[*int64](): someMicros, reflect.TypeFor[*bool](): aTruth,
	reflect.TypeFor[Micros](): aTime, reflect.TypeFor[Packed](): aList,
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
			l.must(l.before == ',' && l.Eat('}'))
		}
	}
}

// AppendJSON appends the record as encoding/json writes it, several times as fast: the load runs in the same process.
func (r *Record) AppendJSON(dst []byte) []byte {
	return appendFields(dst, recordFields, unsafe.Pointer(r))
}

// decode reads one record. Almost every line is as AppendJSON writes it, and is read in one pass;
// encoding/json, which takes many times as long, reads any other.
func (l *storedLines) decode(text []byte, r *Record) error {
	line := knownLine{JSON: scan.JSON{Text: text}, before: '{', stored: l}
	if line.record(r) {
		return nil
	}
	*r = Record{}
	if err := decodeLine(text, r); err != nil {
		return err
	}
	if l.share(r); !l.lists {
		r.Gaps, r.TokensPerEvent = Packed{}, Packed{}
	}
	return nil
}

// knownLine is a line whose fields are those of AppendJSON in their order, without spaces, null, or an escape.
type knownLine struct {
	scan.JSON      // without a text: the line is another one
	before    byte // stands before the next field
	stored    *storedLines
}

func (l *knownLine) record(r *Record) bool {
	l.read(recordFields, unsafe.Pointer(r))
	return l.before == ',' && string(l.Text[l.At:]) == "}"
}

// must is called with whether what the line has was read.
func (l *knownLine) must(read bool) {
	if !read {
		l.JSON = scan.JSON{}
	}
}

// begins reads the key of a field, with what stands before it; false: the next field is another one.
func (l *knownLine) begins(key string) bool {
	const around = len(`,"":`)
	n := len(key) + around
	t := l.Text[l.At:]
	if len(t) < n || t[0] != l.before || t[1] != '"' || string(t[2:n-2]) != key || t[n-2] != '"' || t[n-1] != ':' {
		return false
	}
	l.At, l.before = l.At+n, ','
	return true
}

func (l *knownLine) number() int64 {
	minus := l.Eat('-')
	n, ok := l.Natural()
	l.must(ok)
	if minus {
		return -int64(n)
	}
	return int64(n)
}

func (l *knownLine) whole() int {
	x := l.number()
	l.must(int64(int(x)) == x)
	return int(x)
}

func (l *knownLine) truth() bool {
	is := l.Literal("true")
	l.must(is || l.Literal("false"))
	return is
}

func (l *knownLine) quoted() (text []byte) {
	if !l.Plain(&text) {
		l.must(false)
		return nil
	}
	return text
}

// list reads a list of non-negative integers of at most 18 digits.
func (l *knownLine) list(to *Packed) {
	l.must(l.Eat('['))
	if !l.stored.lists {
		n := bytes.IndexByte(l.Text[l.At:], ']')
		if l.must(n > 0); n > 0 {
			l.At += n + 1
		}
		return
	}
	room, rest, n := l.stored.room[:0], l.Text[l.At:], 0
	for next := byte(','); next != ']'; n++ {
		x, digits := scan.Natural(rest)
		if digits == 0 || digits == len(rest) || next != ',' {
			l.must(false)
			return
		}
		room = binary.AppendUvarint(room, x)
		next, rest = rest[digits], rest[digits+1:]
	}
	l.stored.room, l.At = room, len(l.Text)-len(rest)
	*to = Packed{b: room, n: n}.clone()
}
