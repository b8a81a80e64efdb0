package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// compared are the fields of a row by their tag compare. Rows that differ in these alone are compared: "size" changes
// only the amount measured, the random draw or the loads that a search chooses; "none" is a text for readers, which
// changes nothing, so that a resumed run keeps the row.
var compared = sync.OnceValue(func() map[string][]reflect.StructField {
	fields := map[string][]reflect.StructField{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Spec]()) {
		kind := field.Tag.Get("compare")
		fields[kind] = append(fields[kind], field)
	}
	return fields
})

// KeysCompared are the names of the fields with a tag compare, in the JSON or the TOML of a row.
func KeysCompared(kind, format string) (keys []string) {
	for _, field := range compared()[kind] {
		key, _, _ := strings.Cut(field.Tag.Get(format), ",")
		keys = append(keys, key)
	}
	return keys
}

// Measured is a row without the texts for readers.
func Measured(s *Spec) Spec {
	own := *s
	for _, field := range compared()["none"] {
		reflect.ValueOf(&own).Elem().FieldByIndex(field.Index).SetZero()
	}
	return own
}

// Facts is a value by the keys of its JSON, without empty ones: "mix.0.input.mean". named: the entries of a list go by
// their name, if they have one: "mix.chat.input.mean". v has a JSON form: it came from TOML or JSON.
func Facts(v any, named bool) map[string]string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	facts := map[string]string{}
	addFacts(facts, "", tree, named)
	return facts
}

func addFacts(facts map[string]string, at string, v any, named bool) {
	under := func(key string) string { return strings.TrimPrefix(at+"."+key, ".") }
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for key, own := range v {
			addFacts(facts, under(key), own, named)
		}
	case []any:
		for i, own := range v {
			name := fmt.Sprint(i)
			if entry, ok := own.(map[string]any); ok && named {
				if given, ok := entry["name"].(string); ok {
					name = given
				}
			}
			addFacts(facts, under(name), own, named)
		}
	default:
		if text := fmt.Sprint(v); text != "" {
			facts[at] = text
		}
	}
}
