package parquet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Numbers of the format (parquet.thrift of github.com/apache/parquet-format).
const (
	typeBoolean   = 0 // Type
	typeOfInt32   = 1
	typeOfInt64   = 2
	typeDouble    = 5
	typeByteArray = 6

	required = 0 // FieldRepetitionType
	optional = 1
	repeated = 2

	convertedUTF8      = 0 // ConvertedType
	convertedList      = 3
	convertedTimestamp = 10
	convertedInt32     = 17
	convertedInt64     = 18

	encodingPlain      = 0 // Encoding
	encodingRLE        = 3
	encodingDictionary = 8
)

// column is one field of the lines.
type column struct {
	name     string
	field    int // of the struct
	physical int32
	optional bool
	list     bool
	dict     bool // texts are numbers in a dictionary
	time     bool
}

// columnsOf are the columns of a struct, by its parquet tags: `parquet:"name,option…"` with optional, list, dict
// and timestamp(microsecond).
func columnsOf(t reflect.Type) ([]column, error) {
	var out []column
	for i := range t.NumField() {
		f := t.Field(i)
		words := strings.Split(f.Tag.Get("parquet"), ",")
		has := func(word string) bool { return slices.Contains(words[1:], word) }
		c := column{name: words[0], field: i, optional: has("optional"), list: has("list"), dict: has("dict"), time: has("timestamp(microsecond)")}
		kind := f.Type
		if c.optional || c.list {
			if kind.Kind() != reflect.Pointer && kind.Kind() != reflect.Slice {
				return nil, fmt.Errorf("column %s: %s is no pointer and no slice", c.name, kind)
			}
			kind = kind.Elem()
		}
		switch {
		case kind == reflect.TypeFor[time.Time]() && c.time, kind.Kind() == reflect.Int64:
			c.physical = typeOfInt64
		case kind.Kind() == reflect.Int32:
			c.physical = typeOfInt32
		case kind.Kind() == reflect.Float64:
			c.physical = typeDouble
		case kind.Kind() == reflect.Bool:
			c.physical = typeBoolean
		case kind.Kind() == reflect.String:
			c.physical = typeByteArray
		default:
			return nil, fmt.Errorf("column %s: no Parquet type for %s", c.name, kind)
		}
		out = append(out, c)
	}
	return out, nil
}

// path is the column's path in the schema.
func (c *column) path() []string {
	if c.list {
		return []string{c.name, "list", "element"}
	}
	return []string{c.name}
}

// schema appends the elements of the column.
func (c *column) schema() []func(*message) {
	if !c.list {
		repetition := int32(required)
		if c.optional {
			repetition = optional
		}
		return []func(*message){func(m *message) { c.element(m, c.name, repetition) }}
	}
	group := func(name string, repetition int32, list bool) func(*message) {
		return func(m *message) {
			m.int32(3, repetition)
			m.text(4, name)
			m.int32(5, 1) // child
			if list {
				m.int32(6, convertedList)
				m.message(10, func(m *message) { m.message(3, nil) })
			}
		}
	}
	return []func(*message){group(c.name, required, true), group("list", repeated, false), func(m *message) { c.element(m, "element", required) }}
}

// element is the schema of the values, with both the old and the new name of their logical type.
func (c *column) element(m *message, name string, repetition int32) {
	m.int32(1, c.physical)
	m.int32(3, repetition)
	m.text(4, name)
	integer := func(converted int32, bits byte) {
		m.int32(6, converted)
		m.message(10, func(m *message) {
			m.message(10, func(m *message) {
				m.field(1, 3) // a byte
				m.b = append(m.b, bits)
				m.bool(2, true) // signed
			})
		})
	}
	switch {
	case c.time:
		m.int32(6, convertedTimestamp)
		m.message(10, func(m *message) {
			m.message(8, func(m *message) {
				m.bool(1, true)                                                    // UTC
				m.message(2, func(m *message) { m.message(2, func(*message) {}) }) // µs
			})
		})
	case c.physical == typeByteArray:
		m.int32(6, convertedUTF8)
		m.message(10, func(m *message) { m.message(1, nil) })
	case c.physical == typeOfInt32:
		integer(convertedInt32, 32)
	case c.physical == typeOfInt64:
		integer(convertedInt64, 64)
	}
}
