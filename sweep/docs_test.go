package sweep

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestWorkloadExamples holds that what docs/workloads.md shows is read without a problem: each line of its
// examples that is a whole value of a row makes a row of its own, but for those that name a file.
func TestWorkloadExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(arrival|input|pairs|prefix)\s*=`)
	seen := 0
	for _, block := range strings.Split(string(text), "```toml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, example := range strings.Split(block, "\n") {
			key := strings.TrimSpace(strings.TrimSuffix(line.FindString(example), "="))
			if key == "" || strings.Contains(example, "file =") {
				continue
			}
			seen++
			row := map[string]string{"input": "input = { dist = \"uniform\", min = 3000, max = 4000 }", "output": "output = 4", "rate": "rate = 4"}
			row[key] = example
			if key == "pairs" {
				delete(row, "input")
				delete(row, "output")
			}
			if regexp.MustCompile(`"ramp"|"step"|every =`).MatchString(example) {
				delete(row, "rate")
			}
			matrix := head + "[[row]]\nname = \"a\"\n"
			for _, r := range row {
				matrix += r + "\n"
			}
			if _, err := parse("workloads.md", matrix); err != nil {
				t.Errorf("%s\n%v", example, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d examples were found", seen)
	}
	t.Log(seen)
}

// TestSearchExample holds that the matrix of docs/search.md is one.
func TestSearchExample(t *testing.T) {
	text, err := os.ReadFile("../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```toml\n")
	matrix, _, found := strings.Cut(rest, "```")
	m, err := parse("search.md", matrix)
	if err != nil || !found || len(m.Points) != 2 || m.Points[0].Search == nil || m.Points[1].Search.Goal != "knee" {
		t.Errorf("%v: %v", found, err)
	}
}
