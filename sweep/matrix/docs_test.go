package matrix

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWorkloadExamples: each alternative that docs/matrix.md shows makes a row of its own, but for those that name a file.
func TestWorkloadExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(arrival|input|pairs|prefix)\s*=`)
	seen := 0
	for _, block := range strings.Split(string(text), "```toml alternatives\n")[1:] {
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
			if _, err := parse("matrix.md", matrix); err != nil {
				t.Errorf("%s\n%v", example, err)
			}
		}
	}
	if seen < 16 {
		t.Errorf("only %d examples were found", seen)
	}
	t.Log(seen)
}

// TestMatrixFences: every TOML block of README and the manual is read without a problem: as a matrix, or with what it
// leaves out: a name, a row, or the keys that every row needs.
func TestMatrixFences(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../../README.md") {
		if filepath.Base(page) == "recipes.md" { // cmd/bench runs them
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```toml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			block = strings.Replace(block, "prompts.jsonl", "../../experiment/prompts/testdata/prompts.jsonl", 1)
			block = strings.Replace(block, "conversation_trace.jsonl", "../../experiment/trace/testdata/mooncake.jsonl", 1)
			block = strings.Replace(block, `"weka.jsonl"`, `"../../experiment/trace/testdata/weka.jsonl"`, 1)
			seen++
			matrix := completed(block)
			if _, err := parse("fence.toml", matrix); err != nil {
				t.Errorf("%s, block %d:\n%s\nread as\n%s\n%v", page, i+1, block, matrix, err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d blocks were found", seen)
	}
}

// completed is a block of TOML with what a matrix needs besides. Keys before the first table of a block without [[row]]
// are of a row.
func completed(block string) string {
	has := func(text, pattern string) bool { return regexp.MustCompile(`(?m)^(` + pattern + `)`).MatchString(text) }
	head, tables := block, ""
	if at := regexp.MustCompile(`(?m)^\[`).FindStringIndex(block); at != nil {
		head, tables = block[:at[0]], block[at[0]:]
	}
	if has(block, `\[\[row\]\]`) {
		if !has(head, `name *=`) {
			head = "name = \"fence\"\n" + head
		}
		return head + tables
	}
	row := "[[row]]\nname = \"example\"\n" + head
	for _, k := range []struct{ given, line string }{ // rows of prompts or classes have no lengths of their own
		{`input *=|pairs *=|\[row\.prompts\]|\[\[row\.mix`, "input = 4096"}, {`output *=|pairs *=|\[\[row\.mix`, "output = 4"},
		{`rate *=|concurrency *=|arrival *=`, "rate = 4"}, {`requests *=|duration *=`, "requests = 100"},
	} {
		if !has(block, k.given) {
			row += k.line + "\n"
		}
	}
	if has(tables, `\[{1,2}row\.`) {
		return "name = \"fence\"\n" + row + tables
	}
	return "name = \"fence\"\n" + tables + "\n" + row
}
