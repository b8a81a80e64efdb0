package strict

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// matrix is a small likeness of what the package is for.
type matrix struct {
	Name     string             `toml:"name"`
	Notes    []string           `toml:"notes"`
	Seed     *uint32            `toml:"seed"`
	Target   target             `toml:"target"`
	SLO      map[string]float64 `toml:"slo"`
	Rows     []row              `toml:"row"`
	Hidden   string             `toml:"-"`
	Untagged string
}

type target struct {
	Endpoint string            `toml:"endpoint"`
	Timeout  time.Duration     `toml:"timeout"`
	GPUs     int8              `toml:"gpus"`
	Body     map[string]any    `toml:"extra_body"`
	Facts    map[string]string `toml:"facts"`
}

type row struct {
	common
	Name   string  `toml:"name"`
	Prefix *prefix `toml:"prefix"`
	Mix    []class `toml:"mix"`
	Stream *bool   `toml:"stream"`
	Rate   float64 `toml:"rate"`
	Burst  float64 `toml:"burst,inf"`
	Own    own     `toml:"own"`
	Any    any     `toml:"any"`
}

type common struct {
	Requests    int           `toml:"requests"`
	Duration    time.Duration `toml:"duration"`
	Concurrency []int         `toml:"concurrency"`
	Name        string        `toml:"name"` // hidden by the row's
}

type prefix struct {
	Tokens int    `toml:"tokens"`
	Groups uint8  `toml:"groups"`
	State  string `toml:"state"`
}

type class struct {
	Name   string  `toml:"name"`
	Weight float64 `toml:"weight"`
}

// own takes a number or a table with the same keys as prefix.
type own struct{ prefix }

func (o *own) DecodeTOML(v any, bad func(key, problem, hint string)) {
	switch v := v.(type) {
	case int64:
		o.Tokens = int(v)
	case map[string]any:
		Decode(v, &o.prefix, bad)
	default:
		bad("", "own must be a number or a table", "write own = 4")
	}
}

// check parses and decodes a text and renders what is wrong with it.
func check(file, text string) string {
	d, err := Parse(file, []byte(text))
	if err != nil {
		return err.Error()
	}
	var problems Problems
	Decode(d.Root, new(matrix), func(path, text, hint string) { problems = append(problems, d.Problem(path, text, hint)) })
	return problems.Error()
}

// TestGolden renders the problems of testdata/*.toml, which are written as a person would write them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files in testdata", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".toml")+".golden", check(filepath.Base(file), string(text))+"\n")
		})
	}
}

// TestGoldenBytes renders the problems of texts that would not survive an editor.
func TestGoldenBytes(t *testing.T) {
	cases := []struct{ name, text string }{
		{"tabs", "[target]\n\tendpoint\t= \"mock\"\t\n\t\tgpu\t= 1\n[[row]]\nprefix = {\ttokens = 1,\ttokn = 2 }\n"},
		{"wide", "[target]\nfacts = { \"驱动程序\" = \"五百八十\", \"ドライバ\" = 5, \"🚀\" = 1, \"e\u0301\" = 2, \"ключ\" = 3 }\n"},
		{"controls", "[[row]]\nname = \"a\u202eb\u2028\\u001b[31m\"\nrate = \"\u009b31m\"\n'k\u200by' = 1\n\"\\u001b]0;x\\u0007\" = 2\n"},
		{"crlf and mark", "\ufeffname = 1\r\n[target]\r\ntimeout = 10 # ten\r\n"},
		{"escape byte", "name = \"\x1b[31mred\"\n"},
		{"not utf-8", "name = \"a\"\nnotes = [\"\xff\xfe\"]\n"},
		{"utf-16", "\xff\xfen\x00a\x00"},
		{"lone return", "name = 1\rnotes = 2\n"},
		{"long line", "notes = [" + strings.Repeat(`"note", `, 60) + "7, " + strings.Repeat(`"note", `, 60) + "]\nnotess = 1\n"},
		{"long text", "name = 1\nseed = \"" + strings.Repeat("long ", 1000) + "\"\n" + strings.Repeat("k", 500) + " = 1\n"},
		{"deep list", "name = " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "\n"},
		{"deep key", strings.Repeat("a.", 70) + "a = 1\n"},
		{"too large", "name = \"x\"\n" + strings.Repeat("#\n", maxSize/2)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := check("bytes.toml", c.text)
			for _, r := range out {
				if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2028' || r == '\u200b') {
					t.Errorf("%U reached the terminal", r)
				}
			}
			golden(t, "testdata/bytes-"+strings.ReplaceAll(c.name, " ", "-")+".golden", out+"\n")
		})
	}
}

// TestGoldenSyntax renders the commonest slips of TOML itself, all of them in one golden file.
func TestGoldenSyntax(t *testing.T) {
	texts := []string{
		"name = chat\n", "name = \"chat\nseed = 1\n", "name\n", "name = \"chat\" seed = 1\n", "name = \"C:\\data\"\n",
		"rate = .5\n", "rate = 05\n", "rate = [1 2]\n", "name = 1\n\n name = 2\n", "[target]\na = 1\n[target]\nb = 2\n",
		"target.a.b = 1\ntarget.a.b = 2\n", "row = [{ a = 1, a = 2 }]\n", "row = 1\n[[row]]\n", "[target\n", "= 1\n", "name =\n",
		"seed = 99999999999999999999\n", "seed = 2026-13-01\n", "notes = [\"a\",\n", "row = { a = 1\n", "ключ = 1\n", "name = \"\"\"open\n",
		"seed = -0x1\n", "é",
	}
	var out strings.Builder
	for _, text := range texts {
		_, err := Parse("syntax.toml", []byte(text))
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 {
			t.Fatalf("%q: %v, want one problem", text, err)
		}
		fmt.Fprintf(&out, "%v\n\n", err)
	}
	golden(t, "testdata/syntax.golden", out.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestProblemPlaces(t *testing.T) {
	d, err := Parse("m.toml", []byte("name = \"m\"\n[[row]]\nname = \"F\"\n[[row.mix]]\nname = \"chat\"\nweight = 2\n[[row]]\nrate = [1, 20]\n"))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ path, text, want string }{
		{"", "no rows", "m.toml: no rows"},
		{"row[0].mix[0].weight", "weight is above 1", `m.toml:6:1: row "F" mix "chat": weight is above 1`},
		{"row[0].mix[0].weight", "must be below 1", `m.toml:6:1: row "F" mix "chat": weight: must be below 1`},
		{"row[0].mix[0].input", "input is missing", `m.toml:4:7: row "F" mix "chat": input is missing`},
		{"row[0].prefix.tokens", "must be positive", `m.toml:2:3: row "F": prefix.tokens: must be positive`},
		{"row[1].rate[1]", "must be smaller", `m.toml:8:12: row[1]: rate[1]: must be smaller`},
		{"row[1]", "needs a name", `m.toml:7:3: row[1]: needs a name`},
		{"row[7].rate", "rate is odd", `m.toml:2:3: rate is odd`},
		{"target.endpoint", "endpoint is missing", "m.toml: endpoint is missing"},
		{"name.", "name is odd", "m.toml:1:1: name is odd"},
		{"row[x", "odd path", "m.toml:2:3: row[x: odd path"},
	}
	for _, c := range cases {
		p := d.Problem(c.path, c.text, "")
		got, _, _ := strings.Cut(p.String(), "\n")
		if got != "error: "+c.want {
			t.Errorf("%s:\n got %s\nwant error: %s", c.path, got, c.want)
		}
		if p.Key != c.path {
			t.Errorf("key %q, want %q", p.Key, c.path)
		}
	}
}

func TestProblemsOrder(t *testing.T) {
	a := Problem{File: "b.toml", Line: 2, Col: 1, Len: 1, Text: "later", Source: "x"}
	b := Problem{File: "b.toml", Line: 1, Col: 4, Len: 1, Text: "second", Source: "xxxx"}
	c := Problem{File: "b.toml", Line: 1, Col: 1, Len: 2, Text: "first", Source: "xxxx", Hint: "one\ntwo"}
	given := Problems{a, b, c, a, {Text: "no file"}}
	want := "error: no file\n\nerror: b.toml:1:1: first\n    1 | xxxx\n      | ^^\nhint: one\n      two\n\n" +
		"error: b.toml:1:4: second\n    1 | xxxx\n      |    ^\n\nerror: b.toml:2:1: later\n    2 | x\n      | ^"
	if got := given.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if given[0] != a {
		t.Error("Error changed the order of the caller's problems")
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ base, rel, want string }{
		{"", "", ""}, {"", "rate", "rate"}, {"row[2]", "", "row[2]"}, {"row[2]", "prefix.tokens", "row[2].prefix.tokens"}, {"rate", "[3]", "rate[3]"},
	} {
		if got := Join(c.base, c.rel); got != c.want {
			t.Errorf("Join(%q, %q) = %q, want %q", c.base, c.rel, got, c.want)
		}
	}
	for key, want := range map[string]string{"a-b_1": "a-b_1", "": `""`, "a.b": `"a.b"`, `"`: `"\""`, "é": `"é"`, "a b": `"a b"`} {
		if got := quote(key); got != want {
			t.Errorf("quote(%q) = %s, want %s", key, got, want)
		}
		s, rest, ok := cutStep(quote(key) + "[1]")
		if !ok || s.key != key || rest != "[1]" {
			t.Errorf("cutStep(%s) = %q, %q, %v", quote(key), s.key, rest, ok)
		}
	}
}
