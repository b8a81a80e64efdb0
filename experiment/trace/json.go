package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

func decode(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return misread(err)
	}
	return nil
}

// mistyped describes a value of another type, in the terms of the file.
func mistyped(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("%s is %s, but must be %s", cmp.Or(wrong.Field, "the value"), article(wrong.Value),
		wanted(wrong.Type))
}

func misread(err error) error {
	switch wrong := mistyped(err); {
	case wrong != err:
		return wrong
	case strings.HasPrefix(err.Error(), "json: invalid number literal"):
		return errors.New("timestamp is a string, but must be a number")
	}
	return fmt.Errorf("not a JSON object: %w", err)
}

func article(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	return map[string]string{"string": "a string", "bool": "true or false", "array": "a list", "object": "an object",
		"number": "a number"}[value]
}

func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[json.Number]() {
		return "a number"
	}
	const integer = "an integer, like 512"
	kinds := map[reflect.Kind]string{reflect.Float64: "a number", reflect.Int: integer, reflect.Int64: integer,
		reflect.Uint64: "an integer from 0 to 18446744073709551615", reflect.Slice: "a list",
		reflect.Struct: "an object", reflect.Bool: "true or false"}
	return cmp.Or(kinds[t.Kind()], "a string")
}
