package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule is a word that no text for people uses, and what to say instead.
type rule struct {
	word string // regexp, case-insensitive
	say  string
	but  string // regexp of text around the word in which it is right; empty = nowhere
}

// rules are the words that a reader of the field does not know, or that mean something else to them.
var rules = []rule{
	// The old name of [slo] stays in the two mistakes that name the new one.
	{`\bcontracts?\b`, "SLO", `^contract$|unknown search "contract"`},
	{`\b(geometric|contract) knee`, "saturation, or max load within SLO", ""},
	{`\baccepted (point|by)\b|\bpoint to quote\b|\bto quote, not accepted\b`, "operating point", ""},
	{`\bagrees?\b.{0,20}\b(slo|limit)`, "meets the SLO", ""},
	// llama.cpp calls its own places in a batch slots: results/example.
	{`\bslots?\b`, "worker, or request in flight", `four slots|4 slots, 1 thread`},
	{`\bvoices\b`, "concurrency", ""},
	{`\bdoubt(s|ed|ful)?\b`, "finding: invalid, caution or note", ""},
	{`\bhinted\b`, "note", ""},
	// The simulated server reports its own timing error as lateness.
	{`\blateness\b|\bthe client itself\b`, "client lag", `^lateness$`},
	{`\b(last|remaining) answers are awaited\b`, "draining", ""},
	{`\bno end\b|\bno (upper )?bound\b`, "n too small, unbounded, or no roofline", `(had|has) no end of (its|their) own`},
	{`\bcan't tell\b`, "inconclusive", ""},
	{`\bdetectable\b`, "smallest detectable change", `(?i)smallest\s+(detectable\s+)?change`},
	{`\bjudge(s|d)?\b`, "decide, evaluate, or limit", ""},
	{`\bbegan anew\b|\bcounters? fell\b`, "restarted, counter reset", ""},
	{`tok(ens)?/s of (one|a) user`, "tok/s/user", ""},
	{`\bno number of\b`, "not a valid number", ""},
	{`\bhardware's floor\b|\bband of good engines\b|\bwhat the hardware would allow\b`, "roofline, typical range", ""},
	{`\bsymptoms?\b|\bregimes?\b|\bwhat decides the latency\b|bytes (don't|do not) explain`, "bottleneck", ""},
	{`\bother virtual machines\b|\bcores' time\b`, "CPU steal", ""},
	{`\bused longest ago\b`, "LRU", ""},
	// forced is the value of the key stop.
	{`\bforced\b`, "ignore_eos", "[\"`]forced[\"`]|^forced$"},
	{`\b(when|until) (it|he) is told\b`, "until interrupted", ""},
	{`\bdo it again\b`, "reproduce", ""},
	{`\bbelie(ved|ves|ve)\b`, "calibrated", ""},
	{`\bnot stated\b|\bunstated\b`, "not specified", ""},
	{`\b(was|were|is|are) asked for\b`, "requested", ""},

	{`\b(no|some|any|every)body\b|\bwhoever\b`, "a verb with its subject", ""},
	{`\bhas no say\b`, "cannot be combined with", ""},
	{`\bwhere there (is|are|was|were)\b`, "with, or if", ""},
	{`\bas far as\b`, "if, or up to", ""},
	{`\bso many\b`, "N", ""},
	{`\b(does not|doesn't|do not|don't|did not) (tell|say)\b`, "does not report", ""},
	{`\b(is|are|was|were|be|been) told\b`, "report, or give", ""},
	{`\bserver('s)? (tells?|says?|said|told)\b`, "the server reports", ""},
	{`\bsays? (so|of itself|nothing)\b`, "report", ""},
	{`\b(that|those) of\b|\bof which\b`, "the noun", ""},
}

// TestWords holds every text that people read to the words of the field: string literals of the program,
// which include its help, the manual, the matrices and the page.
func TestWords(t *testing.T) {
	type compiled struct {
		rule
		word, but *regexp.Regexp
	}
	var all []compiled
	for _, r := range rules {
		c := compiled{rule: r, word: regexp.MustCompile(`(?i)` + strings.ReplaceAll(r.word, " ", `\s+`))}
		if r.but != "" {
			c.but = regexp.MustCompile(r.but)
		}
		all = append(all, c)
	}
	texts, err := readTexts(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 3000 {
		t.Fatalf("only %d texts were read", len(texts))
	}
	var found []string
	for _, x := range texts {
		for _, c := range all {
			for _, at := range c.word.FindAllStringIndex(x.text, -1) {
				around := x.text[max(0, at[0]-40):min(len(x.text), at[1]+40)]
				if c.but != nil && c.but.MatchString(around) {
					continue
				}
				line := x.line
				if x.lines {
					line += strings.Count(x.text[:at[0]], "\n")
				}
				found = append(found, fmt.Sprintf("%s:%d: %q: say %s", x.file, line, x.text[at[0]:at[1]], c.say))
			}
		}
	}
	slices.Sort(found)
	for _, f := range slices.Compact(found) {
		t.Error(f)
	}
}

// passage is a text for people, and where it stands. lines: a line feed in it is one in the file.
type passage struct {
	file  string
	line  int
	lines bool
	text  string
}

func readTexts(root fs.FS) ([]passage, error) {
	var out []passage
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch {
			case path != "." && strings.HasPrefix(d.Name(), "."), d.Name() == "testdata", d.Name() == "assets",
				path == "docs/schema", path == "results", path == "benchmarks":
				return fs.SkipDir
			}
			return nil
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		switch ext := filepath.Ext(path); {
		case ext == ".go" && !strings.HasSuffix(path, "_test.go"):
			found, err := goStrings(path, content)
			out = append(out, found...)
			return err
		case ext == ".js":
			out = append(out, scriptStrings(path, string(content))...)
		case ext == ".md" && folder == "docs", path == "README.md", ext == ".toml" && folder == "matrices", ext == ".html" && folder != "docs":
			out = append(out, passage{path, 1, true, string(content)})
		}
		return nil
	})
	return out, err
}

// goStrings are the string literals of a Go file, those joined by + as one, without import paths and struct
// tags.
func goStrings(path string, content []byte) ([]passage, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, content, 0)
	if err != nil {
		return nil, err
	}
	var out []passage
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				n.Tag = nil
			}
		case *ast.BinaryExpr:
			if joined, ok := join(n); ok {
				out = append(out, passage{path, set.Position(n.Pos()).Line, false, joined})
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				s, _ := strconv.Unquote(n.Value)
				out = append(out, passage{path, set.Position(n.Pos()).Line, strings.HasPrefix(n.Value, "`"), s})
			}
		}
		return true
	})
	return out, nil
}

// join is the text of string literals that are added.
func join(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		x, okX := join(e.X)
		y, okY := join(e.Y)
		return x + y, e.Op == token.ADD && okX && okY
	}
	return "", false
}

var quotedText = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`")

// scriptStrings are the string literals of a JavaScript file.
func scriptStrings(path, content string) []passage {
	var out []passage
	for _, at := range quotedText.FindAllStringIndex(content, -1) {
		out = append(out, passage{path, 1 + strings.Count(content[:at[0]], "\n"), true, content[at[0]:at[1]]})
	}
	return out
}
