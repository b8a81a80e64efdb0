package response

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
)

// form is what the text of an answer must be.
type form interface{ check(text string) Reason }

type jsonForm struct {
	object bool    // an object
	schema *schema // nil = any
}

func (f *jsonForm) check(text string) Reason {
	var value any
	err := decode(text, &value)
	switch _, isObject := value.(map[string]any); {
	case err != nil:
		return NotJSON
	case f.object && !isObject:
		return NotObject
	case !usable(value, maxDepth):
		return TooComplex
	case f.schema == nil:
		return ""
	}
	return f.schema.check(value)
}

type choiceForm []string

func (f choiceForm) check(text string) Reason {
	if slices.Contains(f, strings.TrimSpace(text)) {
		return ""
	}
	return NotAChoice
}

type patternForm struct{ *regexp.Regexp }

func (f patternForm) check(text string) Reason {
	if f.MatchString(text) {
		return ""
	}
	return NoMatch
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
