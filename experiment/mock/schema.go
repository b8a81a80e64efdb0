package mock

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// These bound an instance: a schema may contain itself.
const (
	maxDepth    = 24
	maxWords    = 4096
	maxResolved = 10_000 // schemas looked at
)

// instance writes a smallest value of a JSON schema as words, the mock's tokens: strings without white space, which
// JSON has between them.
type instance struct {
	root   map[string]any
	draw   func() uint64 // of the words in strings
	extra  int           // words for the first string that may be longer
	spoil  bool          // the first scalar that can have a wrong type gets one
	words  []string
	padded bool // a string may be longer
	spoilt bool
	looked int // schemas resolved
	choice int // depth of alternatives, where a wrong type may fit another one
}

// write writes an instance with a number of extra words.
func (w *instance) write(extra int) []string {
	w.extra, w.words, w.padded, w.spoilt, w.looked = extra, nil, false, false, 0
	w.value(w.root, 0)
	return w.words
}

// glue appends text to the last word.
func (w *instance) glue(text string) { w.words[len(w.words)-1] += text }

func (w *instance) word(text string) { w.words = append(w.words, text) }

// scalar writes v; white space in strings is escaped.
func (w *instance) scalar(v any) {
	w.word(strings.NewReplacer(" ", `\u0020`).Replace(string(marshal(v))))
}

func (w *instance) value(schema map[string]any, depth int) {
	schema = w.resolve(schema)
	list, isEnum := schema["enum"].([]any)
	constant, isConst := schema["const"]
	switch {
	case depth > maxDepth || len(w.words) > maxWords:
		w.word("null")
	case isConst:
		w.scalar(constant)
	case isEnum && len(list) > 0:
		w.enum(list)
	case w.alternative(schema, depth):
	default:
		w.typed(schema, depth)
	}
}

// resolve follows references and merges allOf.
func (w *instance) resolve(schema map[string]any) map[string]any { return w.resolveAt(schema, 0) }

func (w *instance) resolveAt(schema map[string]any, depth int) map[string]any {
	if w.looked++; w.looked > maxResolved || depth > maxDepth {
		return nil
	}
	for range maxDepth {
		ref, ok := schema["$ref"].(string)
		if !ok {
			break
		}
		var target any = w.root
		for _, step := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
			object, _ := target.(map[string]any)
			target = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		}
		schema, _ = target.(map[string]any)
	}
	parts, _ := schema["allOf"].([]any)
	if len(parts) == 0 {
		return schema
	}
	all := maps.Clone(schema)
	delete(all, "allOf")
	for _, part := range parts {
		object, _ := part.(map[string]any)
		merge(all, w.resolveAt(object, depth+1))
	}
	return all
}

// merge adds the keys of part to all: properties and required together, others once.
func merge(all, part map[string]any) {
	for key, v := range part {
		switch had := all[key].(type) {
		case map[string]any:
			both := maps.Clone(had)
			object, _ := v.(map[string]any)
			maps.Copy(both, object)
			all[key] = both
		case []any:
			list, _ := v.([]any)
			all[key] = append(slices.Clone(had), list...)
		default:
			all[key] = v
		}
	}
}

func (w *instance) enum(list []any) {
	if w.spoils() {
		w.scalar("not in the list")
		return
	}
	w.scalar(list[w.draw()%uint64(len(list))])
}

// alternative writes the first of anyOf or oneOf.
func (w *instance) alternative(schema map[string]any, depth int) bool {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		if len(list) == 0 {
			continue
		}
		first, _ := list[0].(map[string]any)
		w.choice++
		w.value(first, depth+1)
		w.choice--
		return true
	}
	return false
}

// spoils reports whether the next scalar gets a wrong type.
func (w *instance) spoils() bool {
	now := w.spoil && !w.spoilt && w.choice == 0
	w.spoilt = w.spoilt || now
	return now
}

func (w *instance) typed(schema map[string]any, depth int) {
	kind, several := typeOf(schema)
	if several {
		w.choice++
		defer func() { w.choice-- }()
	}
	switch kind {
	case "object":
		w.object(schema, depth)
	case "array":
		w.array(schema, depth)
	case "null":
		w.word("null")
	default:
		switch spoils := kind != "" && w.spoils(); {
		case spoils && kind == "string":
			w.word("0")
		case spoils:
			w.word(`"0"`)
		case kind == "integer", kind == "number":
			w.word(numberIn(schema, kind == "integer", w.draw()))
		case kind == "boolean":
			w.scalar(w.draw()%2 == 0)
		default:
			w.text(schema)
		}
	}
}

// typeOf is the first type of a schema, else what its keys imply; several: a value of another type may fit, too.
func typeOf(schema map[string]any) (kind string, several bool) {
	switch t := schema["type"].(type) {
	case string:
		return t, schema["nullable"] == true
	case []any:
		if len(t) > 0 {
			kind, _ = t[0].(string)
		}
		return kind, true
	}
	switch {
	case schema["properties"] != nil:
		return "object", false
	case schema["items"] != nil:
		return "array", false
	}
	return "", true
}

// object writes the required properties, in their order.
func (w *instance) object(schema map[string]any, depth int) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	w.word("{")
	var done []string
	for _, r := range required {
		name, ok := r.(string)
		if !ok || slices.Contains(done, name) {
			continue
		}
		if len(done) > 0 {
			w.glue(",")
		}
		done = append(done, name)
		w.scalar(name)
		w.glue(":")
		property, _ := properties[name].(map[string]any)
		w.value(property, depth+1)
	}
	w.word("}")
}

// array writes the least number of items.
func (w *instance) array(schema map[string]any, depth int) {
	first, _ := schema["prefixItems"].([]any)
	rest, _ := schema["items"].(map[string]any)
	n := bound(schema, "minItems", 0)
	if most := bound(schema, "maxItems", 1); n == 0 && most > 0 {
		n = 1 // an empty list tries nothing
	}
	w.word("[")
	for i := range int(min(n, maxWords)) {
		if len(w.words) > maxWords {
			break
		}
		if i > 0 {
			w.glue(",")
		}
		item := rest
		if i < len(first) {
			item, _ = first[i].(map[string]any)
		}
		w.value(item, depth+1)
	}
	w.word("]")
}

// text writes a string: of a pattern or format, else of words.
func (w *instance) text(schema map[string]any) {
	if pattern, ok := schema["pattern"].(string); ok {
		w.scalar(matching(pattern))
		return
	}
	if format, ok := schema["format"].(string); ok && formats[format] != "" {
		w.scalar(formats[format])
		return
	}
	word := "w" + strconv.FormatUint(idFirst+w.draw()%1000, 10)
	least, most := int(bound(schema, "minLength", 0)), int(bound(schema, "maxLength", math.MaxInt32))
	word += strings.Repeat("x", max(0, min(least, 1<<16)-len(word)))
	w.word(`"` + word[:min(most, len(word))])
	if schema["maxLength"] == nil && !w.padded {
		w.padded = true
		for range w.extra {
			w.word("w" + strconv.FormatUint(idFirst+w.draw()%1000, 10))
		}
	}
	w.glue(`"`)
}
