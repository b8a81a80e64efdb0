package text

import (
	"slices"
	"testing"
)

func TestShellWords(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, ""},
		{[]string{"bench", "sweep", "a/b.toml"}, "bench sweep a/b.toml"},
		{[]string{"--only", "A-*", "", "it's", "$x y"}, `--only 'A-*' '' 'it'\''s' '$x y'`},
	} {
		before := slices.Clone(c.words)
		if got := ShellWords(c.words); got != c.want {
			t.Errorf("%q: %s, want %s", c.words, got, c.want)
		}
		if !slices.Equal(before, c.words) {
			t.Errorf("%q became %q", before, c.words)
		}
	}
}
