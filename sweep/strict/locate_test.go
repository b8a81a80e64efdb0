package strict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const places = `# a comment [not.a.table]
name = "x = 1"  # another
"quoted key" = 1
'lit"eral' = 2
"esc\u0061pe\"d" = 3
a.b."c.d" = 4
a.e = 5
[server.knobs] # knobs
size = [ 1, 2.5,
  "three", # [4]
  [5, { six = 6 }], 1979-05-27 07:32:00, ]
[[row]]
name = """
name = "no key"
[nor this]
""two quotes at the end"""""
text = '''
[[row]]
it''s'''''
prefix = { tokens = 1, deep.er = true }
[row.slo]
e2e = "1s"
[[row.mix]]
w = 1
[[row.mix]]
w = 2
[[row]]
multi = {
  one = 1, # comment }
  two = [{ x = 1 }, { x = 2 }],
}
[[row.mix]]
w = 3
[server]
after = 1
[a.late]
`

func TestPlaces(t *testing.T) {
	for _, text := range []string{places, strings.ReplaceAll(places, "\n", "\r\n"), "\ufeff" + places} {
		d, err := Parse("p.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"name": "2:1+4", `"quoted key"`: "3:1+12", `"lit\"eral"`: "4:1+10", `"escape\"d"`: "5:1+16",
			"a": "6:1+1", "a.b": "6:3+1", `a.b."c.d"`: "6:5+5", "a.e": "7:3+1", "a.late": "36:4+4",
			"server": "34:2+6", "server.knobs": "8:9+5", "server.after": "35:1+5",
			"server.knobs.size": "9:1+4", "server.knobs.size[0]": "9:10+1", "server.knobs.size[1]": "9:13+3",
			"server.knobs.size[2]": "10:3+7", "server.knobs.size[3]": "11:3+16", "server.knobs.size[3][1].six": "11:9+3",
			"server.knobs.size[4]": "11:21+19",
			"row":                  "12:3+3", "row[0]": "12:3+3", "row[0].name": "13:1+4", "row[0].text": "17:1+4",
			"row[0].prefix.tokens": "20:12+6", "row[0].prefix.deep": "20:24+4", "row[0].prefix.deep.er": "20:29+2",
			"row[0].slo": "21:6+3", "row[0].slo.e2e": "22:1+3",
			"row[0].mix[0].w": "24:1+1", "row[0].mix[1]": "25:7+3", "row[0].mix[1].w": "26:1+1",
			"row[1]": "27:3+3", "row[1].multi.one": "29:3+3", "row[1].multi.two[1]": "30:21+9", "row[1].multi.two[1].x": "30:23+1",
			"row[1].mix[0].w": "33:1+1",
			"":                "", "nor": "", "row[2]": "", "name[0]": "", "row[0].mix[2]": "", "a..b": "",
		} {
			line, col, length, ok := d.Place(path)
			got := fmt.Sprintf("%d:%d+%d", line, col, length)
			if !ok {
				got = ""
			}
			if got != want {
				t.Errorf("%s is at %q, want %q", path, got, want)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	d, err := Parse("k.toml", []byte("z = 1\ny.b = 1\nx = { c = 1, a.q = 1, b = 1, a.p = 2 }\ny.a = 2\n[[row]]\nr2 = 1\nr1 = 2\n[w]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"": {"z", "y", "x", "row", "w"}, "x": {"c", "a", "b"}, "x.a": {"q", "p"}, "y": {"b", "a"}, "row[0]": {"r2", "r1"}, "w": nil, "none": nil, "z": nil,
	} {
		if diff := cmp.Diff(want, d.Keys(path)); diff != "" {
			t.Errorf("keys of %q: %s", path, diff)
		}
	}
}

// rows is a matrix of many rows.
func rows(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[[row]]\nname = \"row %d\"\nrequests = %d\nconcurrency = [1, 2, 4, 8]\nprefix = { tokens = 2048, groups = 4, state = \"warm\" }\n[[row.mix]]\nname = \"chat\"\nweight = 0.5\n\n", i, i)
	}
	return []byte(b.String())
}

// TestManyRows takes a fifth of a second. The bound of a minute only guards against time that grows with the
// square of the rows.
func TestManyRows(t *testing.T) {
	text := append(rows(10_000), []byte("rate = 1\n")...)
	began := time.Now()
	d, err := Parse("many.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	var m matrix
	var problems Problems
	Decode(d.Root, &m, func(path, text, hint string) { problems = append(problems, d.Problem(path, text, hint)) })
	if len(m.Rows) != 10_000 || len(problems) != 1 || problems[0].Key != "row[9999].mix[0].rate" {
		t.Errorf("%d rows, problems: %v", len(m.Rows), problems)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("10,000 rows took %v", took)
	}
}

func BenchmarkRows(b *testing.B) {
	text := rows(10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d, err := Parse("many.toml", text)
		if err != nil {
			b.Fatal(err)
		}
		Decode(d.Root, new(matrix), func(path, text, _ string) { b.Fatal(path, text) })
	}
}
