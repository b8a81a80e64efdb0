package text

import "testing"

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "名前": 4, "e\u0301": 1, "\x1b[32mPASS\x1b[0m": 4, "━…": 2} {
		if got := Width(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"名前", 3, "名"}, {"名前", 1, ""}, {"abc", 0, ""}, {"abc", -1, ""}, {"e\u0301x", 1, "e\u0301"}} {
		if got := Clip(tt.s, tt.n); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  string
	}{
		{"äbcdefgh", 8, "äbcdefgh"}, {"äbcdefgh", 6, "äb…fgh"}, {"名前前前前前", 7, "名…前前"}, {"abcdef", 3, "a…f"},
	} {
		if got := Shorten(tt.s, tt.width); got != tt.want {
			t.Errorf("%s in %d: %s, want %s", tt.s, tt.width, got, tt.want)
		}
	}
}

func TestEllipsis(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab cd", 4, "ab…"}, {"名前", 3, "名…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := Ellipsis(tt.s, tt.n); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
