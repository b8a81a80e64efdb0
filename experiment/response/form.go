package response

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// form checks the text of an answer; the reason is empty if it has the form.
type form func(text string) Reason

// jsonForm is JSON, by a schema; nil = any. object: it must be an object.
func jsonForm(object bool, s *schema) form {
	return func(text string) Reason {
		var value any
		err := decode(text, &value)
		switch _, isObject := value.(map[string]any); {
		case err != nil:
			return NotJSON
		case object && !isObject:
			return NotObject
		case !usable(value, maxDepth):
			return TooComplex
		case s == nil:
			return ""
		}
		return s.check(value)
	}
}

func unless(ok func(text string) bool, reason Reason) form {
	return func(text string) Reason {
		if ok(text) {
			return ""
		}
		return reason
	}
}

const maxDepth = 512

// usable: exact arithmetic on numbers such as 1e999999 takes a second.
func usable(value any, depth int) bool {
	if depth == 0 {
		return false
	}
	bad := func(item any) bool { return !usable(item, depth-1) }
	switch v := value.(type) {
	case json.Number:
		return usableNumber(string(v))
	case []any:
		return !slices.ContainsFunc(v, bad)
	case map[string]any:
		for _, item := range v {
			if bad(item) {
				return false
			}
		}
	}
	return true
}

// usableNumber allows 400 digits, and an exponent of at most three.
func usableNumber(text string) bool {
	if len(text) > 400 {
		return false
	}
	_, exponent, has := strings.Cut(strings.ToLower(text), "e")
	return !has || len(strings.TrimLeft(exponent, "+-0")) <= 3
}

func decode(text string, into any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errTrailing
	}
	return nil
}
