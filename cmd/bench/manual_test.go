package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// docs/roofline.md shows what bench prints.
func TestBoundsManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/roofline.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(page), "\n    $ bench ")
	if !ok {
		t.Fatal("the page shows no command")
	}
	command, shown, _ := strings.Cut(shown, "\n")
	shown, _, _ = strings.Cut(shown, "\n## ")
	var stdout, stderr bytes.Buffer
	if code := bench(t.Context(), strings.NewReader(""), &stdout, &stderr, strings.Fields(command)); code != codeDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if got, want := trimmed(stdout.String(), ""), trimmed(shown, "    "); got != want {
		t.Errorf("bench %s prints\n%s\nthe page shows\n%s", command, got, want)
	}
}

// trimmed removes each line's indentation and trailing spaces.
func trimmed(text, indent string) string {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(lines[i], indent), " ")
	}
	return strings.Join(lines, "\n")
}
