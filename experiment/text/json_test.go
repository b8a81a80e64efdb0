package text

import (
	"encoding/json"
	"testing"
	"unicode"
)

// What JSON returns is the same value, without a character that Escape would escape.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "plain é漢", "\x1b[31m\u009b\u202e\u2028\n\t\x7f", "\U000e0001\U000f0000", "a\xffb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain, err := json.Marshal(map[string]string{"key" + s: s})
		if err != nil {
			t.Fatal(err)
		}
		text := JSON(plain)
		var was, is map[string]string
		if err := json.Unmarshal(plain, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &is); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if len(is) != 1 || is["key"+was["key"]] != was["key"] {
			for k, v := range was {
				if is[k] != v {
					t.Errorf("%q became %q", was, is)
				}
			}
		}
		for _, r := range string(text) {
			if !unicode.IsGraphic(r) {
				t.Errorf("%U in %q", r, text)
			}
		}
	})
}
