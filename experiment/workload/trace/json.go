package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// decode reads a line into v. A key that is there twice is an error: one of the two values would be lost in silence.
func decode(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return misread(err)
	}
	if key := twice(line); key != "" {
		return fmt.Errorf("the key %s is there twice\nhint: which of the two is meant? remove the other", key)
	}
	return nil
}

// misread says what is wrong with a value in the words of the file, not of the program.
func misread(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is %s, but it has to be %s", wrong.Field, article(wrong.Value), wanted(wrong.Type))
	case strings.HasPrefix(err.Error(), "json: invalid number literal"):
		return errors.New("timestamp is a text, but it has to be a number")
	}
	return fmt.Errorf("no JSON object: %w", err)
}

func article(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	return map[string]string{"string": "a text", "bool": "true or false", "array": "a list", "object": "an object", "number": "a number"}[value]
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number, like 512"
	case reflect.Uint64:
		return "a whole number from 0 to 18446744073709551615"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	}
	return "a text"
}

// twice is the first key that a valid JSON object has more than once, in its quotes; empty: none. Objects in it are passed over.
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

// isKey says whether a colon comes next.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
