package workload

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// written is a file of a test's own folder, as a matrix names it.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHistogramLengths(t *testing.T) {
	l, got, err := decodeLength(`v = { dist = "histogram", buckets = [{ min = 1, max = 10, weight = 3 }, { min = 7, max = 9, weight = 0 }, { min = 100, max = 100, weight = 1 }] }`)
	if err != nil || len(got) > 0 {
		t.Fatal(got, err)
	}
	x := draws(l, 40_000)
	above, _ := slices.BinarySearch(x, 11)
	if x[0] != 1 || x[len(x)-1] != 100 || math.Abs(float64(above)/40_000-0.75) > 0.01 || x[above-1] != 10 || x[above] != 100 {
		t.Errorf("from %v to %v, %d of 40000 in the first bucket", x[0], x[len(x)-1], above)
	}
	if l.Least() != 1 || l.most() != 100 || l.Typical() != (3*5.5+100)/4 || l.String() != "histogram 1–100" {
		t.Errorf("from %d to %d, mean %v, %s", l.Least(), l.most(), l.Typical(), l)
	}
}

func TestEmpiricalLengths(t *testing.T) {
	lines := written(t, "lengths.txt", "# tokens\n300\n\n 20 \r\n7\n300\n")
	table := written(t, "log.csv", "\ufefftime,ContextTokens,\"Generated\"\n1,300,5\n2,20,6\n3,7,6\n4,300,7\n")
	for _, text := range []string{
		`{ dist = "empirical", values = [300, 20, 7, 300] }`, `{ dist = "empirical", file = '` + lines + `' }`,
		`{ dist = "empirical", file = '` + table + `', column = "ContextTokens" }`,
	} {
		l, got, err := decodeLength("v = " + text)
		if err != nil || len(got) > 0 {
			t.Fatal(text, got, err)
		}
		x := draws(l, 40_000)
		half, _ := slices.BinarySearch(x, 300)
		if x[0] != 7 || x[len(x)-1] != 300 || math.Abs(float64(half)/40_000-0.5) > 0.012 {
			t.Errorf("%s: from %v to %v, %d of 40000 below 300", text, x[0], x[len(x)-1], half)
		}
		if l.Least() != 7 || l.most() != 300 || l.Typical() != 627.0/4 {
			t.Errorf("%s: from %d to %d, mean %v", text, l.Least(), l.most(), l.Typical())
		}
		if f := l.File; f != nil && (f.Count != 4 || len(f.SHA256) != 64) {
			t.Errorf("%s: %+v", text, f)
		}
	}
	stored := Length{Dist: "empirical", File: &File{Name: "x/lengths.txt", Count: 4}}
	if stored.Least() != 1 || stored.Typical() != 0 || stored.most() != 1 || stored.String() != "lengths.txt" {
		t.Errorf("a stored length: %d, %v, %d, %s", stored.Least(), stored.Typical(), stored.most(), stored)
	}
}

func TestLengthDataMistakes(t *testing.T) {
	file := func(text string) string { return "file = '" + written(t, "f", text) + "'" }
	for text, want := range map[string][]string{
		`{ dist = "histogram" }`:                                               {": histogram needs buckets"},
		`{ dist = "histogram", buckets = 4 }`:                                  {"buckets: buckets must be a list of 1 to 1000"},
		`{ dist = "histogram", buckets = [] }`:                                 {"buckets: buckets must be a list"},
		`{ dist = "histogram", buckets = [{ min = 1, max = 2, weight = 0 }] }`: {"buckets: all bucket weights are 0"},
		`{ dist = "histogram", buckets = [{ min = 3, max = 2, weight = 1 }, { min = 0, max = 2, weight = 1 }, { max = 2.5, weight = -1, p = 1 }] }`: {
			"buckets[0].max: a bucket from 3 to 2", "buckets[1].max: a bucket from 0 to 2", "buckets[2].max: max must be an integer, not 2.5", "buckets[2].weight: weight must be a number",
			`buckets[2].p: a bucket has no key "p"`, "buckets[2]: a bucket needs min"},
		`{ dist = "empirical" }`:                                              {": empirical needs either values or file"},
		`{ dist = "empirical", values = [1], file = "x" }`:                    {": empirical needs either"},
		`{ dist = "empirical", values = [] }`:                                 {"values: values must be a list of token counts"},
		`{ dist = "empirical", values = [1, 0] }`:                             {"values[1]: 0 is not a token count"},
		`{ dist = "empirical", values = [1], column = "a" }`:                  {"column: column requires file"},
		`{ dist = "empirical", file = 4 }`:                                    {"file: 4 is not the name"},
		`{ dist = "empirical", file = "no/such" }`:                            {"input.file: reading the lengths: no/such: no such file"},
		`{ dist = "empirical", file = "." }`:                                  {"input.file: reading the lengths: . is not a file"},
		`{ dist = "empirical", ` + file("") + ` }`:                            {"the file contains no lengths"},
		`{ dist = "empirical", ` + file("1\n2\nabc") + ` }`:                   {`line 3: "abc" is not a token count`},
		`{ dist = "empirical", ` + file("1\n-2") + ` }`:                       {`line 2: "-2" is not`},
		`{ dist = "empirical", ` + file("a,b\n1,2\n1") + `, column = "b" }`:   {"line 3: wrong number of fields"},
		`{ dist = "empirical", ` + file("a,b\n1,2\n1,x") + `, column = "b" }`: {`line 3: "x" is not`},
		`{ dist = "empirical", ` + file("a,b\n1,2") + `, column = "c" }`:      {`no column is named "c"; the columns are a, b`},
		`{ dist = "empirical", ` + file("a,b\n") + `, column = "b" }`:         {"the file contains no lengths"},
		`{ dist = "empirical", ` + file("a\n1") + `, column = 1 }`:            {"column: 1 is not the name of a column"},
		`{ dist = "empirical", ` + file(strings.Repeat("9", 100)) + `}`:       {`line 1: "9999999999999999999999999999999999999999" is not`},
	} {
		_, got, err := decodeLength("v = " + text)
		if err != nil {
			t.Fatal(text, err)
		}
		got.want(t, want...)
	}
}

func decodePairs(text string) (Pairs, reported, error) {
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		return Pairs{}, nil, err
	}
	var p Pairs
	var got reported
	p.DecodeTOML(doc["v"], got.bad)
	(&Workload{Pairs: &p}).Look(new(Files), got.bad)
	return p, got, nil
}

func TestPairsBelongTogether(t *testing.T) {
	table := written(t, "log.csv", "GeneratedTokens,ContextTokens\n50,300\n400,2000\n10,20\n")
	want := map[[2]int]bool{{300, 50}: true, {2000, 400}: true, {20, 10}: true}
	for _, text := range []string{
		`[[300, 50], [2000, 400], [20, 10]]`, `{ file = '` + table + `', input = "ContextTokens", output = "GeneratedTokens" }`,
	} {
		p, got, err := decodePairs("v = " + text)
		if err != nil || len(got) > 0 {
			t.Fatal(text, got, err)
		}
		w := Workload{Pairs: &p, Rate: 1}
		if w.Check(got.bad); len(got) > 0 {
			t.Fatal(got)
		}
		seen := map[[2]int]int{}
		for _, r := range take(w, 1, "", 3000) {
			seen[[2]int{r.Input, r.Output}]++
			if n := len(r.Blocks); n != (r.Input+15)/16 {
				t.Fatalf("%d blocks of %d tokens", n, r.Input)
			}
		}
		for pair, n := range seen {
			if !want[pair] || n < 880 || n > 1120 {
				t.Errorf("%s: %v came %d times of 3000", text, pair, n)
			}
		}
		c := w.Classes()[0]
		if len(seen) != 3 || w.Longest() != 2400 || c.Input.Least() != 20 || c.Output.most() != 400 {
			t.Errorf("%s: %v, longest %d", text, seen, w.Longest())
		}
	}
}

func TestPairsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`4`: ": pairs must be a list", `[]`: ": pairs must be a list", `[[1, 2], [1]]`: "[1]: [1] is not a pair", `[[1, 0]]`: "[0]: [1, 0] is not a pair", `[[1, 2.5]]`: "[0]: [1, 2.5]",
		`{ file = "x", input = "a" }`: ": pairs needs output", `{ file = "x", input = "a", output = 2 }`: "output: 2 is not the name of a column",
		`{ file = "x", input = "a", output = "b", sep = 1 }`: `sep: pairs has no key "sep"`,
	} {
		_, got, err := decodePairs("v = " + text)
		if err != nil {
			t.Fatal(text, err)
		}
		got.want(t, want)
	}
	var got reported
	w := Workload{Pairs: &Pairs{List: [][2]int{{10, 1}}}, Input: Fixed(4), Prefix: &Prefix{Tokens: 12}}
	w.Check(got.bad)
	got.want(t, "pairs: pairs replaces", "prefix.tokens: the prefix of 12 tokens is not shorter than the shortest input of 10")
}

// Whatever a file of lengths holds, it is read or refused.
func FuzzLengthFile(f *testing.F) {
	for _, s := range []string{"1\n2\n", "a,b\n1,2\n", "\"", "#", "1e3", "\x00", "a,a\n1,2", "b\n\"1\n\"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lines, err := lengthsOf([]byte(s), nil)
		columns, wrong := lengthsOf([]byte(s), []string{"b"})
		for _, read := range [][][]int{lines, columns} {
			for _, values := range read {
				if len(values) == 0 || slices.Min(values) < 1 || slices.Max(values) > maxTokens {
					t.Fatalf("%q reads as %v", s, values)
				}
			}
		}
		if (err == nil) != (lines != nil) || (wrong == nil) != (columns != nil) {
			t.Fatalf("%q: %v %v, %v %v", s, lines, err, columns, wrong)
		}
	})
}
