package mock

import (
	"encoding/json"
	"math"
	"regexp/syntax"
	"strconv"
	"strings"
)

// formats are strings of the formats of JSON schema.
var formats = map[string]string{
	"date": "2026-01-31", "time": "12:00:00Z", "date-time": "2026-01-31T12:00:00Z", "duration": "P1D", "email": "a@example.org",
	"hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.org/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
}

// bound is a number of a schema, without a key the default.
func bound(schema map[string]any, key string, otherwise float64) float64 {
	if v, ok := schema[key].(float64); ok {
		return v
	}
	return otherwise
}

// numberIn is a number between the bounds of a schema. Fractions come where no whole number fits.
func numberIn(schema map[string]any, whole bool, draw uint64) string {
	step := bound(schema, "multipleOf", 1)
	above, below := bound(schema, "exclusiveMinimum", math.Inf(-1)), bound(schema, "exclusiveMaximum", math.Inf(1))
	high := min(bound(schema, "maximum", math.Inf(1)), below)
	low := max(bound(schema, "minimum", math.Inf(-1)), above)
	if math.IsInf(low, -1) {
		low = min(0, high-100*step)
	}
	fits := func(v float64) bool { return v > above && v < below && v >= low && v <= high }
	for range 12 {
		first := math.Ceil(low / step)
		for _, n := range []float64{first + float64(draw%100), first, first + 1} {
			if v := n * step; fits(v) {
				return strconv.FormatFloat(v, 'f', -1, 64)
			}
		}
		if whole || schema["multipleOf"] != nil {
			break
		}
		step /= 10
	}
	return "0"
}

// matching is a short string that matches a regular expression; "" for one that Go cannot read.
func matching(pattern string) string {
	r, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	match(&b, r)
	return b.String()
}

func match(b *strings.Builder, r *syntax.Regexp) {
	switch r.Op {
	case syntax.OpLiteral:
		b.WriteString(string(r.Rune))
	case syntax.OpCharClass:
		if len(r.Rune) > 0 {
			b.WriteRune(printable(r.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		match(b, r.Sub[0])
	case syntax.OpConcat:
		for _, part := range r.Sub {
			match(b, part)
		}
	case syntax.OpRepeat:
		for range r.Min {
			match(b, r.Sub[0])
		}
	}
}

// printable is a rune of a character class, a letter or digit if it has one.
func printable(ranges []rune) rune {
	for _, c := range "a0A-_ " {
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				return c
			}
		}
	}
	return ranges[0]
}

// readSchema is the schema of some bytes, an object or a string with one; nil: it is neither.
func readSchema(b json.RawMessage) map[string]any {
	var schema map[string]any
	var text string
	if json.Unmarshal(b, &text) == nil {
		b = json.RawMessage(text)
	}
	if json.Unmarshal(b, &schema) != nil {
		return nil
	}
	return schema
}
