package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// docs/predict.md shows how what bench prints begins.
func TestBoundsManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/predict.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(page), "\n    $ bench ")
	if !ok {
		t.Fatal("the page shows no command")
	}
	command, shown, _ := strings.Cut(shown, "\n")
	shown, _, _ = strings.Cut(shown, "\n    …\n")
	var stdout, stderr bytes.Buffer
	if code := bench(t.Context(), strings.NewReader(""), &stdout, &stderr, strings.Fields(command)); code != codeDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if got, want := trimmed(stdout.String(), ""), trimmed(shown, "    "); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("bench %s prints\n%s\nthe page shows, as its beginning,\n%s", command, got, want)
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

// TestRecipes: each matrix of docs/recipes.md has at most 15 lines, and its command can run.
func TestRecipes(t *testing.T) {
	page, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log.csv", []byte("ContextTokens,GeneratedTokens\n300,50\n2000,400\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MY_KEY", "secret")
	recipes := strings.Split(string(page), "\n```toml\n")[1:]
	if len(recipes) < 6 {
		t.Errorf("%d recipes", len(recipes))
	}
	for _, recipe := range recipes {
		matrix, rest, _ := strings.Cut(recipe, "```\n")
		_, command, _ := strings.Cut(rest, "\n    bench ")
		command, _, _ = strings.Cut(command, "\n")
		args := strings.Fields(command)
		if n := strings.Count(matrix, "\n"); n > 15 || len(args) < 2 {
			t.Errorf("%d lines, command %q:\n%s", n, command, matrix)
			continue
		}
		if err := os.WriteFile(args[1], []byte(matrix), 0o600); err != nil {
			t.Fatal(err)
		}
		if args[0] == "sweep" {
			args = append(args, "--dry-run")
		} else { // a prediction takes seconds
			args = []string{"sweep", args[1], "--dry-run"}
		}
		var stdout, stderr bytes.Buffer
		if code := bench(t.Context(), strings.NewReader(""), &stdout, &stderr, args); code != codeDone {
			t.Errorf("bench %s: exit code %d\n%s%s", command, code, &stdout, &stderr)
		}
	}
}
