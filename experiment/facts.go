package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// SizeKeys are those of the JSON of a row whose fields have the tag compare:"size": they change only the amount
// measured, the random draw or the loads that a search chooses, so that rows which differ in them alone are compared.
var SizeKeys = sync.OnceValue(func() (keys []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Spec]()) {
		if field.Tag.Get("compare") == "size" {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			keys = append(keys, key)
		}
	}
	return keys
})

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
