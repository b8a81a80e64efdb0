package strict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const settable = `# a matrix
name = "chat" # its name

[target]
endpoint = "mock"
facts.driver = "570"

[server.knobs]
max = [1, 2]

[[row]]
name = "chat"
rate = 4 # per second
prefix = { tokens = 1024, state = "warm" }
own = {}
mix = [{ name = "short", weight = 1 }, { name = "long", weight = 3 }]

[[row]] # the second
name = "A.b c"
concurrency = [
  1, # one
  2,
]
[row.prefix]
tokens = 7
[[row.mix]]
name = "x"
`

func TestParseSet(t *testing.T) {
	cases := []struct{ name, argument, old, new string }{
		{"a value", "row.chat.rate=10", "rate = 4 #", "rate = 10 #"},
		{"a list", "row.chat.rate=[1,2,4]", "rate = 4 #", "rate = [1,2,4] #"},
		{"spaces", " row . chat . rate = 10 ", "rate = 4 #", "rate = 10 #"},
		{"a text", "target.endpoint=http://h:1/v1?a=b", `endpoint = "mock"`, `endpoint = "http://h:1/v1?a=b"`},
		{"a text with a comment", "name=a # b", `"chat" #`, `"a # b" #`},
		{"a text with a second key", "name=1\nx = 2", `"chat" #`, `"1\u000Ax = 2" #`},
		{"quotes in a text", `name=a"b\c`, `"chat" #`, `"a\"b\\c" #`},
		{"over several lines", `row."A.b c".concurrency=3`, "concurrency = [\n  1, # one\n  2,\n]", "concurrency = 3"},
		{"a new key", "row.chat.duration=10s", "weight = 3 }]\n", "weight = 3 }]\nduration = \"10s\"\n"},
		{"a new key at the top", "seed=7", "# its name\n", "# its name\nseed = 7\n"},
		{"a new table", "slo.ttft_p95=300ms", "# its name\n", "# its name\nslo.ttft_p95 = \"300ms\"\n"},
		{"a new key of dotted keys", `target.facts."a b"=x`, "\"570\"\n", "\"570\"\nfacts.\"a b\" = \"x\"\n"},
		{"a table without lines", "server.image=x", "# its name\n", "# its name\nserver.image = \"x\"\n"},
		{"a key in braces", "row.chat.prefix.tokens=2048", "tokens = 1024,", "tokens = 2048,"},
		{"a new key in braces", "row.chat.prefix.groups=4", `state = "warm" }`, `state = "warm", groups = 4 }`},
		{"a new key in empty braces", "row.chat.own.tokens=4", "own = {}", "own = { tokens = 4 }"},
		{"braces", "row.chat.prefix={ tokens = 1, groups = 2 }", `{ tokens = 1024, state = "warm" }`, "{ tokens = 1, groups = 2 }"},
		{"a list of tables in braces", "row.chat.mix.long.weight=2", "weight = 3", "weight = 2"},
		{"a list of tables", `row."A.b c".mix.x.weight=2`, "name = \"x\"\n", "name = \"x\"\nweight = 2\n"},
		{"a table of a row", `row."A.b c".prefix.tokens=8`, "tokens = 7", "tokens = 8"},
		{"a key of all rows", "row.*.seed=8", "weight = 3 }]\n", "weight = 3 }]\nseed = 8\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, err := ParseSet("chat.toml", []byte(settable), []string{c.argument})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(settable, c.old, c.new, 1)
			if c.name == "a key of all rows" {
				want = strings.Replace(want, "  2,\n]\n", "  2,\n]\nseed = 8\n", 1)
			}
			if d.Text != want || want == settable {
				t.Errorf("got\n%s\nwant\n%s", d.Text, want)
			}
		})
	}
}

func TestParseSetSeveral(t *testing.T) {
	d, err := ParseSet("c.toml", []byte("\ufeffa = 1\r\n[b]"),
		[]string{"b.c=1", "b.d.e=x", "b.d.f=[1]", "a=2", "b.d.e=y z", "b.c=3"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "a = 2\r\n[b]\r\nc = 3\r\nd.e = \"y z\"\r\nd.f = [1]"; d.Text != want {
		t.Errorf("got %q, want %q", d.Text, want)
	}
	for path, set := range map[string]bool{"a": true, "b": false, "b.c": true, "b.d.e": true, "b.x": false} {
		if d.IsSet(path) != set {
			t.Errorf("IsSet(%s) = %v", path, d.IsSet(path))
		}
	}
}

// TestSetGolden renders mistakes in arguments: at their place there, or in the file if the argument is right.
func TestSetGolden(t *testing.T) {
	var out strings.Builder
	for _, arguments := range [][]string{
		{"row.cht.rate=1"}, {"row.A.b c.rate=1"}, {"row.A.b.rate=1"}, {"row.chat"}, {"row.chat=1"}, {"row.chat.rate="}, {"=1"}, {"row..rate=1"},
		{"row=[]"}, {`row."A.b c".prefix={ tokens = 1 }`}, {"row.chat.rate.search=1"}, {"target.facts={}"}, {"server.knobs.max.x=1"},
		{"row.chat.prefix={ tokens = 1, groups 2 }"}, {"row.chat.rate=[1"}, {`name="a`}, {"name=[1]\nx = 2"},
		{"row.chat.ratee=1"}, {"row.chat.rate=ten"}, {"row.chat.prefix={ tokns = 1 }"}, {"row.chat.prefix.groups=x"}, {"row.chat.own.tokns=1"},
		{"slo.x=high"}, {"target.timeout=10"}, {"row.*.ratee=1"}, {"name=\xff"}, {"target.timeout=5s", "target.gpus=[1, 2]", "target.gpus=0.5"},
		{"row.chat.concurrency=[1,\n \"2\"]"}, {"row.chat.burst=-"},
	} {
		fmt.Fprintf(&out, "--set %q\n", arguments)
		d, err := ParseSet("chat.toml", []byte(settable), arguments)
		if err != nil {
			fmt.Fprintf(&out, "%s\n\n", err)
			continue
		}
		var problems Problems
		delete(d.Root, "server")
		Decode(d.Root, new(matrix), func(path, text, hint string) { problems = append(problems, d.Problem(path, text, hint)) })
		fmt.Fprintf(&out, "%s\n\n", problems)
	}
	golden(t, "testdata/set.golden", out.String())
}

// TestLinesAfterSet holds mistakes of the file to the lines that the user sees there.
func TestLinesAfterSet(t *testing.T) {
	d, err := ParseSet("c.toml", []byte("a = [\n1,\n]\n[t]\nb = 2\nc = 3\n"), []string{"new=1", "a=2", "t.d=4"})
	if err != nil {
		t.Fatal(err)
	}
	if line, col, _, _ := d.Place("t.c"); line != 6 || col != 1 {
		t.Errorf("c is at %d:%d", line, col)
	}
	if got := d.Problem("t.b", "b", "").Source; got != "b = 2" {
		t.Errorf("its line is %q", got)
	}
}

// FuzzSet holds an edit to what it promises: the tree is the one before with the one value changed, every key has its
// place, and what is refused has a place in the argument.
func FuzzSet(f *testing.F) {
	for _, argument := range []string{
		"a=1", "a.b=x", "row.chat.rate=[1,2]", `row."A.b c".mix.x={ a = 1 }`, "row.*.prefix.tokens=5", "a = 'x'", "a.'b'.\"c\"=\"\"\"x\"\"\"",
		"a=[[1],{b=2}]", "a=1979-05-27 07:32:00", "a.b.c.d.e=-inf", "a=\\", "row.chat=1", "t.a.b=2", "a=# c", "a= {\n}",
	} {
		for _, text := range []string{
			settable, "", "\ufeffa = 1\r\n", "a.'b'.\"c\" = 1", "[a.b]\n[a]\nb.c.d = 1", "a = [[1, [2]], { b = [{ c = 1 }] }]", "a = { b.c = 1, b.d = { }, # x\n }",
			"[[a]]\n[[a.b]]\n[a.b.c]\n[[a.b]]\nc = 1\n[[a]]\n", "[t.a.c]\nx = 1\n[t]\ny = 2", "[a] # x", "[t] #\r\na = 1 #\r\n[u]",
		} {
			f.Add(text, argument)
		}
	}
	f.Fuzz(func(t *testing.T, text, argument string) {
		before, err := Parse("f.toml", []byte(text))
		if err != nil || strings.Contains(fmt.Sprint(before.Root), "NaN") {
			return
		}
		d, err := ParseSet("f.toml", []byte(text), []string{argument})
		if err != nil {
			checkRefused(t, err)
			return
		}
		again, err := Parse("f.toml", []byte(d.Text))
		if err != nil {
			t.Fatalf("%q: %v", d.Text, err)
		}
		if !reflect.DeepEqual(again.Root, d.Root) {
			t.Fatalf("another tree: %v, want %v", again.Root, d.Root)
		}
		a, _ := parseArgument(argument)
		if !slices.ContainsFunc(a.path, func(p part) bool { return p.key == every }) {
			without(before.Root, d.Root, a.path)
			if !reflect.DeepEqual(before.Root, d.Root) {
				t.Fatalf("more than one value differs: %v, %v", before.Root, d.Root)
			}
		}
		checkPlaces(t, d, "", again.Root)
	})
}

func checkRefused(t *testing.T, err error) {
	for _, p := range err.(Problems) {
		checkRendering(t, p)
		if p.File == "--set" && p.Line != 0 {
			t.Fatalf("a line of an argument: %+v", p)
		}
	}
}

// without removes the value at a path from both trees, and the tables that only one of them has there.
func without(a, b any, path []part) {
	if lists, ok := list(a); ok {
		others, _ := list(b)
		for i := range lists {
			if table, _ := lists[i].(map[string]any); table["name"] == path[0].key {
				without(lists[i], others[i], path[1:])
			}
		}
		return
	}
	own, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	if own == nil || other == nil || len(path) == 0 {
		return
	}
	if _, there := own[path[0].key]; len(path) == 1 || !there {
		delete(own, path[0].key)
		delete(other, path[0].key)
		return
	}
	without(own[path[0].key], other[path[0].key], path[1:])
}

// checkPlaces checks that every key of an edited document has a place that renders.
func checkPlaces(t *testing.T, d *Document, path string, table map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		at := Join(path, quote(key))
		if _, _, _, ok := d.Place(at); !ok {
			t.Fatalf("no place for %s", at)
		}
		checkRendering(t, d.Problem(at, "text", "hint"))
		if inner, ok := table[key].(map[string]any); ok {
			checkPlaces(t, d, at, inner)
		}
	}
}
