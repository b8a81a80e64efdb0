package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// decode decodes a line into v. A duplicate key is an error, since one of the two values would be dropped
// silently.
func decode(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return misread(err)
	}
	if key := twice(line); key != "" {
		return fmt.Errorf("duplicate key %s\nhint: remove one of the two", key)
	}
	return nil
}

// misread describes a decoding error in terms of the file rather than of Go types.
func misread(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is %s, but must be %s", wrong.Field, article(wrong.Value), wanted(wrong.Type))
	case strings.HasPrefix(err.Error(), "json: invalid number literal"):
		return errors.New("timestamp is a string, but must be a number")
	}
	return fmt.Errorf("not a JSON object: %w", err)
}

func article(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	return map[string]string{"string": "a string", "bool": "true or false", "array": "a list", "object": "an object", "number": "a number"}[value]
}

func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[json.Number]() {
		return "a number"
	}
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int64:
		return "an integer, like 512"
	case reflect.Uint64:
		return "an integer from 0 to 18446744073709551615"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	}
	return "a string"
}

// twice is the first duplicate key of a valid JSON object, in its quotes; empty: none. Nested objects are
// skipped.
func twice(object []byte) string {
	var seen [][]byte
	depth := 0
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := i + 1
			for ; object[end] != '"'; end++ {
				if object[end] == '\\' {
					end++
				}
			}
			text := object[i : end+1]
			i = end
			if depth != 1 || !isKey(object[end+1:]) {
				continue
			}
			for _, key := range seen {
				if bytes.Equal(key, text) {
					return string(text)
				}
			}
			seen = append(seen, text)
		}
	}
	return ""
}

// isKey reports whether the next character is a colon.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
