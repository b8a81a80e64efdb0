package experiment

import (
	"slices"
	"testing"
)

func TestKeysCompared(t *testing.T) {
	got := KeysCompared("size", "json")
	for _, key := range []string{"added", "duration_s", "grace_s", "requests", "search", "seed", "settle_s", "warmup"} {
		if !slices.Contains(got, key) {
			t.Errorf("%q lack %s", got, key)
		}
	}
	s := Spec{Name: "a", Expect: "fast"}
	if own := Measured(&s); own.Name != "a" || own.Expect != "" || s.Expect != "fast" {
		t.Errorf("%+v of %+v", own, s)
	}
}
