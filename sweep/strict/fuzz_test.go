package strict

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// seeds are texts to begin with: what the other tests read, and odd but valid TOML.
func seeds(f *testing.F) {
	for _, text := range []string{
		places, "\ufeffa = 1\r\n", "a.'b'.\"c\" = 1", "[a.b]\n[a]\nb.c.d = 1", "a = [[1, [2]], { b = [{ c = 1 }] }]", "\"\" = 1\n'' . x = 2",
		"a = \"\"\"\\\"\"\"\"\"\"\nb = ''''''\nc = 1", "a = { b.c = 1, b.d = { }, # x }\n }", "[[a]]\n[[a.b]]\n[a.b.c]\n[[a.b]]\nc = 1\n[[a]]\n",
		"a = 1979-05-27 07:32:00 # x\nb = [07:32:00,inf,-nan,0xff, 1_0.5e-3]", "a = \"\\u00e9\\U0001F600\\x41\\e\"\n\"\\u00e9\" = 1", "[a]\nb=1\n[a.c]\n[[a.d]]\n[a.d.e]\n",
		"row = 1\n[[row]]", "a = \"\x1b\"", "a = '\xff'", "\xff\xfe", "a = [", "[[a]]\nb = [\n#]\n]\n", "\ufeff\ufeff", strings.Repeat("[", 100),
	} {
		f.Add([]byte(text))
	}
	files, _ := filepath.Glob("testdata/*.toml")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
}

// FuzzParse holds the locator to the parser: what the parser accepts has a place for every key and every
// element, where the text has that very key; what it does not accept is one problem with a place.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse("f.toml", text)
		if err != nil {
			checkRefusal(t, text, err)
			return
		}
		var root map[string]any
		if _, err := toml.Decode(string(text), &root); err != nil {
			t.Fatalf("the parser does not accept it: %v", err)
		}
		checkTable(t, d, "", d.Root)
	})
}

func checkRefusal(t *testing.T, text []byte, err error) {
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 1 {
		t.Fatalf("%v is not one problem", err)
	}
	checkRendering(t, problems[0])
	if strings.Contains(problems[0].Text, "not UTF-8") || strings.Contains(problems[0].Text, "nested deeper") || strings.Contains(problems[0].Text, "gave up") {
		return
	}
	var root map[string]any
	if _, err := toml.Decode(string(text), &root); err == nil {
		t.Fatalf("the parser accepts it, but: %v", problems)
	}
}

func checkRendering(t *testing.T, p Problem) {
	if p.Len < 1 || p.Line < 0 || p.Line > 0 && (p.Col < 1 || p.Col > utf8.RuneCountInString(p.Source)+2) || p.Text == "" || p.Hint == "" {
		t.Fatalf("odd problem %+v", p)
	}
	out := p.String()
	if lines := strings.Count(out, "\n"); lines > 3 {
		t.Fatalf("%d lines: %s", lines, out)
	}
	for _, r := range out {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Fatalf("%U reached the terminal: %q", r, out)
		}
	}
}

func checkTable(t *testing.T, d *Document, path string, table map[string]any) {
	if got, want := slices.Sorted(slices.Values(d.Keys(path))), slices.Sorted(maps.Keys(table)); !slices.Equal(got, want) {
		t.Fatalf("keys of %q are %q, want %q", path, got, want)
	}
	for key, v := range table {
		at := Join(path, quote(key))
		if got := written(t, d, at); got != key {
			t.Fatalf("at the place of %s is %q", at, got)
		}
		checkValue(t, d, at, v)
	}
}

func checkValue(t *testing.T, d *Document, path string, v any) {
	if table, ok := v.(map[string]any); ok {
		checkTable(t, d, path, table)
	}
	elements, _ := list(v)
	for i, element := range elements {
		if _, _, _, ok := d.Place(indexed(path, i)); !ok {
			t.Fatalf("no place for %s", indexed(path, i))
		}
		checkValue(t, d, indexed(path, i), element)
	}
}

// written reads the key at a place with the parser, to be independent of the locator's own reading of quotes
// and escapes.
func written(t *testing.T, d *Document, path string) string {
	line, col, length, ok := d.Place(path)
	if !ok {
		t.Fatalf("no place for %s", path)
	}
	text := string([]rune(d.pieces[0].from.line(line))[col-1 : col-1+length])
	if strings.IndexByte(`"'`, text[0]) < 0 {
		return text
	}
	var one struct{ K string }
	if _, err := toml.Decode("K = "+text, &one); err != nil {
		t.Fatalf("%s: %q is no key: %v", path, text, err)
	}
	return one.K
}

// everything has a field of each kind that both this package and the parser's own decoding know alike.
type everything struct {
	inlined
	S     string               `toml:"s"`
	B     bool                 `toml:"b"`
	I     int                  `toml:"i"`
	I8    int8                 `toml:"i8"`
	U     uint                 `toml:"u"`
	U16   uint16               `toml:"u16"`
	F     float64              `toml:"f"`
	Inf   float64              `toml:"e,inf"`
	D     time.Duration        `toml:"d"`
	P     *everything          `toml:"p"`
	PF    *float64             `toml:"pf"`
	L     []float64            `toml:"l"`
	LL    [][]string           `toml:"ll"`
	T     []everything         `toml:"t"`
	M     map[string]string    `toml:"m"`
	MF    map[string]float64   `toml:"mf"`
	MT    map[string]inlined   `toml:"mt"`
	Plain map[string]plainOnly `toml:"x"`
}

type inlined struct {
	A string `toml:"a"`
	C []int  `toml:"c"`
}

type plainOnly struct {
	Any any            `toml:"any"`
	Map map[string]any `toml:"map"`
	Own own            `toml:"own"`
}

// FuzzDecode holds Decode to the parser's own decoding wherever it reports nothing, and its reports to having
// a text, a hint and a place that renders.
func FuzzDecode(f *testing.F) {
	seeds(f)
	for _, text := range []string{
		"s='x'\nb=true\ni=1\ni8=-128\nu=1\nu16=65535\nf=1\ne=inf\nd='1m0.5s'\npf=2\nl=[1,2.5]\nll=[['a'],[]]\na='q'\nc=[1]",
		"m={a='b'}\nmf={a=1,b=2.5}\nmt.z.a='1'\n[p]\ns='x'\n[p.p]\n[[t]]\n[[t.t]]\ni=3", "x.a.any=[1,{b=2}]\nx.a.map.q=1\nx.a.own=3\nx.b.own.tokens=1",
		"x.a.any=2026-01-02\nx.a.map.q=nan\nx.a.own=''", "d='-0s'", "f=9007199254740993", "d=' 1 s'\ni=1.0\nu=-9223372036854775808\nl=1\nt={}\np=[]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse("f.toml", text)
		if err != nil {
			return
		}
		var got, want everything
		clean := true
		Decode(d.Root, &got, func(path, text, hint string) {
			clean = false
			checkRendering(t, d.Problem(path, text, hint))
		})
		if !clean {
			return
		}
		got.Plain = nil
		if _, err := toml.Decode(string(text), &struct {
			*everything
			Plain any `toml:"x"`
		}{everything: &want}); err != nil {
			t.Fatalf("the parser decodes it otherwise: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}
