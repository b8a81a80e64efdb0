package experiment

import (
	"slices"
	"strings"
	"testing"
)

func TestKeysCompared(t *testing.T) {
	got := KeysCompared("size", "json")
	for _, key := range []string{"added", "duration_s", "grace_s", "requests", "search", "seed", "settle_s", "warmup"} {
		if !slices.Contains(got, key) {
			t.Errorf("%q lack %s", got, key)
		}
	}
	for _, key := range []string{"input", "output", "rate", "concurrency", "prefix", "arrival", "mix", "trace"} {
		if slices.Contains(got, key) {
			t.Errorf("%s is no size", key)
		}
	}
	for _, field := range compared()["none"] { // else it would change the hash of rows that lack it
		if !strings.HasSuffix(field.Tag.Get("json"), ",omitempty") {
			t.Errorf("%s is not left out if empty", field.Name)
		}
	}
	s := Spec{Name: "a", Expect: "fast"}
	if own := Measured(&s); own.Name != "a" || own.Expect != "" || s.Expect != "fast" {
		t.Errorf("%+v of %+v", own, s)
	}
}
