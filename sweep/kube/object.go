package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"bench/experiment/safetext"
)

// object is a mapping whose keys stay in order, with comments for who reads it. Values are objects, lists ([]any),
// texts, whole numbers and booleans.
type object []field

// field is a key and its value; comment is one line above it, from this package, and may be empty.
type field struct {
	key     string
	value   any
	comment string
}

// with returns the object with a further field.
func (o object) with(key string, value any) object {
	return append(o[:len(o):len(o)], field{key: key, value: value})
}

// encode writes objects as documents of one YAML stream. No library of YAML is linked for what is JSON
// but for indentation, comments and block literals; tests read it with one.
func encode(objects []object) []byte {
	var b bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		writeObject(&b, o, "")
	}
	return b.Bytes()
}

// writeObject writes the fields of an object, the first one at the place where b is.
func writeObject(b *bytes.Buffer, o object, indent string) {
	for i, f := range o {
		at := indent
		if i == 0 {
			at = ""
		}
		if f.comment != "" {
			b.WriteString(at + "# " + f.comment + "\n")
			at = indent
		}
		b.WriteString(at + scalar(f.key) + ":")
		writeValue(b, f.value, indent)
	}
}

// writeValue writes the value of a key at an indentation.
func writeValue(b *bytes.Buffer, v any, indent string) {
	const step = "  "
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n" + indent + step)
		writeObject(b, v, indent+step)
	case []any:
		b.WriteString("\n")
		for _, item := range v {
			b.WriteString(indent + step + "- ")
			if o, ok := item.(object); ok {
				writeObject(b, o, indent+step+step)
			} else {
				b.WriteString(scalar(item) + "\n")
			}
		}
	case string:
		if literal(v) {
			b.WriteString(" |\n" + indent + step)
			b.WriteString(strings.ReplaceAll(strings.TrimSuffix(v, "\n"), "\n", "\n"+indent+step) + "\n")
			return
		}
		b.WriteString(" " + scalar(v) + "\n")
	default:
		b.WriteString(" " + scalar(v) + "\n")
	}
}

// literal reports whether a text can be a block literal: lines, the last one with its end, in which nothing at an edge
// has a meaning of its own.
func literal(s string) bool {
	if !strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\n\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r == utf8.RuneError || r != '\n' && r != '\t' && safetext.Escape(string(r)) != string(r)
	})
}

// plain matches texts that need no quotes in any version of YAML, but for the words of YAML 1.1, which is what
// Kubernetes reads.
var (
	plain  = grammar(`^[A-Za-z/][A-Za-z0-9._/-]*$`)
	word11 = grammar(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// scalar is a value in one line: a plain text, or JSON, which is YAML.
func scalar(v any) string {
	if s, ok := v.(string); ok && plain(s) && !word11(s) {
		return s
	}
	return compact(v)
}

// compact is a value of this package as JSON in one line.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("no YAML of %T: %v", v, err))
	}
	return string(safetext.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	fields := make([]string, len(o))
	for i, f := range o {
		fields[i] = compact(f.key) + ":" + compact(f.value)
	}
	return []byte("{" + strings.Join(fields, ",") + "}"), nil
}

// texts are the strings of a list as values.
func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// isText reports whether a ConfigMap can hold bytes as text.
func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
