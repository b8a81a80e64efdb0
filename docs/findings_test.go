package docs

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
)

const mostCodes = 40

var update = flag.Bool("update", false, "write the codes into findings.md")

// inSource are the places of a code: a check's, and a finding's.
var inSource = regexp.MustCompile(`(?m)^\t\{"(\w+)", (?:perWorker|check)|record\.Finding\{Code: "(\w+)"|\.as\("(\w+)"\)`)

// TestCodesOfFindings: the codes that the sources make are those that bench help explains, and findings.md lists them.
func TestCodesOfFindings(t *testing.T) {
	var want []string
	table := "---|---\n"
	for _, c := range record.FindingCodes {
		want = append(want, c.Name)
		table += "`" + c.Name + "` | " + c.Meaning + "\n"
		if c.Meaning == "" || c.Effect == "" || c.Remedy == "" {
			t.Errorf("%s lacks an explanation", c.Name)
		}
	}
	if len(want) > mostCodes {
		t.Errorf("%d codes, at most %d: give a finding the code of one that asks for the same", len(want), mostCodes)
	}
	if got := codesInSource(t); !slices.Equal(got, want) {
		t.Errorf("the sources have\n%q, record.FindingCodes\n%q", got, want)
	}
	page, err := os.ReadFile("findings.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "code | what happened\n", "<!-- end -->\n"
	before, rest, _ := strings.Cut(string(page), begin)
	old, behind, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("findings.md has no place for the codes")
	}
	if *update {
		if err := os.WriteFile("findings.md", []byte(before+begin+table+end+behind), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("findings.md lists other codes, or other meanings; go test ./docs -update writes\n%s", table)
	}
}

func codesInSource(t *testing.T) []string {
	made := map[string]bool{}
	for _, dir := range []string{"../experiment", "../report"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/fixture/") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range inSource.FindAllStringSubmatch(string(text), -1) {
				made[m[1]+m[2]+m[3]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(made))
}
