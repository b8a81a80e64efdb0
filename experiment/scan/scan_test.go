package scan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// FuzzSkip: the grammar takes a text if and only if encoding/json does, and a single string, name or number alike.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{
		``, `null`, `nul`, `nulll`, `true`, `false`, `tru`, `0`, `-0`, `01`, `1.`, `.5`, `+1`, `-`, `1e`, `1e+`, `-1.5e+07`, `1E-2`, `"`, `""`, `"a\"\\\/\b\f\n\r\t"`,
		`"\u00e9é"`, `"\u12g4"`, `"\x"`, `"\`, "\"\n\"", "\"\xff\x7f\"", `[]`, `[ 1 , "a" ]`, `[1,]`, `[1 2]`, `[,]`, `{}`, `{"a":{"b":[null]}}`, `{"a"}`, `{"a":}`, `{"a":1,}`,
		`{a:1}`, `{"a":1 "b":2}`, `{}{}`, ` {} `, strings.Repeat("[", 40) + strings.Repeat("]", 40), strings.Repeat(`{"a":`, 20),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := json.Valid(text)
		if got := whole(text, func(j *JSON) bool { return j.Skip(len(text)) }); got != valid {
			t.Errorf("%q: Skip %v, encoding/json %v", text, got, valid)
		}
		var value any
		if valid {
			d := json.NewDecoder(strings.NewReader(string(text)))
			d.UseNumber()
			if err := d.Decode(&value); err != nil { // nested too deeply for it
				return
			}
		}
		s, isString := value.(string)
		number, isNumber := value.(json.Number)
		if got := whole(text, (*JSON).Quoted); got != isString {
			t.Errorf("%q: Quoted %v", text, got)
		}
		var plain []byte
		if whole(text, func(j *JSON) bool { return j.Plain(&plain) }) && (!isString || string(plain) != s) {
			t.Errorf("%q: Plain %q, encoding/json %q", text, plain, s)
		}
		if got := whole(text, (*JSON).Number); got != isNumber {
			t.Errorf("%q: Number %v", text, got)
		}
		var n uint64
		if whole(text, func(j *JSON) (ok bool) { n, ok = j.Natural(); return ok }) {
			if x, err := number.Int64(); err != nil || uint64(x) != n {
				t.Errorf("%q: Natural %d, encoding/json %v", text, n, number)
			}
		}
	})
}

// whole reports whether the text is what read reads, with space around it.
func whole(text []byte, read func(*JSON) bool) bool {
	j := JSON{Text: text}
	j.Space()
	ok := read(&j)
	j.Space()
	return ok && j.At == len(text)
}

func TestSkipCountsLevels(t *testing.T) {
	for levels, want := range []bool{false, false, true, true} {
		j := JSON{Text: []byte(`[{"a":1}]`)}
		if got := j.Skip(levels); got != want {
			t.Errorf("%d levels: %v", levels, got)
		}
	}
}

func TestNatural(t *testing.T) {
	for _, c := range []struct {
		text   string
		n      uint64
		digits int
	}{{"", 0, 0}, {"x", 0, 0}, {"-1", 0, 0}, {"0", 0, 1}, {"0.5", 0, 1}, {"00", 0, 0}, {"17,", 17, 2}, {"999999999999999999]", 999999999999999999, 18}, {"1000000000000000000", 0, 0}} {
		if n, digits := Natural([]byte(c.text)); n != c.n || digits != c.digits {
			t.Errorf("%s: %d of %d digits", c.text, n, digits)
		}
	}
}

// FuzzObject: an object is written as encoding/json writes it.
func FuzzObject(f *testing.F) {
	for _, s := range []string{"", "a", "</script>&\"\\", "\u2028\u2029", "\xff", "\x00\x1f\x7f\b\f\n\r\t", "é"} {
		f.Add(s, int64(0), true)
	}
	f.Add("a", int64(math.MinInt64), false)
	f.Fuzz(func(t *testing.T, text string, n int64, b bool) {
		want, err := json.Marshal(struct {
			A string
			B int64
			C bool
			D struct{}
		}{A: text, B: n, C: b})
		if err != nil {
			t.Fatal(err)
		}
		o := Begin([]byte("before"))
		o.Text("A", text)
		o.Int("B", n)
		o.Bool("C", b)
		o.Key("D")
		inner := Begin(o.JSON)
		o.JSON = inner.End()
		if got := string(o.End()); got != "before"+string(want) {
			t.Errorf("%s, want before%s", got, want)
		}
	})
}
