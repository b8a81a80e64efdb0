package matrix

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/mock"
	"bench/sweep/strict"
)

var update = flag.Bool("update", false, "write the goldens")

// parse reads a matrix as the command does, with the table of the simulated server.
func parse(file, text string) (*Matrix, error) {
	return ParseSet(file, []byte(text), nil, Extension{Table: "mock", Into: &mock.Config{}})
}

func mustParse(t *testing.T, text string) *Matrix {
	t.Helper()
	m, err := parse("test.toml", text)
	if err != nil {
		t.Fatalf("parsing:\n%v", err)
	}
	return m
}

// TestProblems holds every message about a mistake: all at once, each at its place, none with a secret.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/problems/*.toml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = parse(filepath.Base(file), string(text))
			var problems strict.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("want problems, got %v", err)
			}
			got := problems.Error() + "\n"
			for _, secret := range []string{"verysecret", "hunt", "er22"} {
				if strings.Contains(got, secret) {
					t.Errorf("%q is shown", secret)
				}
			}
			for _, p := range problems {
				if p.Hint == "" && !strings.Contains(p.Key, "headers") {
					t.Errorf("no hint: %s", p.Text)
				}
			}
			golden := strings.TrimSuffix(file, ".toml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
