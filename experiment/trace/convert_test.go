package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// convert writes a file of testdata anew.
func convert(t *testing.T, o Options, anonymize bool) (string, *Conversion) {
	t.Helper()
	var b bytes.Buffer
	c, err := Convert(&b, open(t, o), anonymize)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), c
}

// reread reads what Convert wrote.
func reread(t *testing.T, text string) (Info, []Entry) {
	t.Helper()
	r, err := New(strings.NewReader(text), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.Info, all(t, r)
}

// TestConvert: what is written reads as what was read.
func TestConvert(t *testing.T) {
	for _, file := range []string{"mooncake.jsonl", "azure2023.csv", "azure2024.csv", "burstgpt.csv", "sharegpt.json", "log.jsonl", "native.jsonl"} {
		t.Run(file, func(t *testing.T) {
			r := open(t, Options{File: file})
			want := all(t, r)
			text, done := convert(t, Options{File: file}, false)
			info, got := reread(t, text)
			for i := range got {
				got[i].Line, want[i].Line = 0, 0
			}
			if d := cmp.Diff(want, got); d != "" || done.Requests != len(got) {
				t.Errorf("(-want +got)\n%s", d)
			}
			if r.Info.Format = formatNative; info != r.Info {
				t.Errorf("%+v, want %+v", info, r.Info)
			}
		})
	}
}

func TestAnonymize(t *testing.T) {
	text, done := convert(t, Options{File: "log.jsonl", BlockTokens: 16}, true)
	for _, word := range []string{"guide", "museum", "secret", "alice", "bob", "192.0.2", "m-large", "m-small", "17600", "user", "ip"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is still there", word)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var keys map[string]any
		if err := json.Unmarshal([]byte(line), &keys); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			switch key {
			case "timestamp", "input_length", "output_length", "hash_ids", "session", "turn":
			default:
				if i > 0 {
					t.Errorf("line %d has the key %q", i+1, key)
				}
			}
		}
	}
	_, got := reread(t, text)
	if got[0].At != 0 || got[1].At != 1250*time.Millisecond || got[2].Session != 2 || got[2].Turn != 2 {
		t.Errorf("%+v", got[:3])
	}
	lost := strings.Join(done.Lost, "\n")
	for _, want := range []string{"the text", "ip, user", "date", "class names and models", "ids of sessions", "tokens"} {
		if !strings.Contains(lost, want) {
			t.Errorf("%q is not said in:\n%s", want, lost)
		}
	}
}

// TestAnonymizeWithoutText renumbers what has no text: the hits stay as they were.
func TestAnonymizeWithoutText(t *testing.T) {
	for _, file := range []string{"mooncake.jsonl", "native.jsonl"} {
		before, err := Inspect(open(t, Options{File: file, Start: time.Millisecond}), math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		text, done := convert(t, Options{File: file, Start: time.Millisecond}, true)
		r, err := New(strings.NewReader(text), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Inspect(r, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before.Cache, after.Cache); d != "" || before.Input != after.Input || before.Output != after.Output {
			t.Errorf("%s: it is another load:\n%s", file, d)
		}
		_, entries := reread(t, text)
		if entries[0].At != 0 || entries[0].Class != "" || entries[0].Blocks[0] != 0 || done.Filtered == 0 {
			t.Errorf("%s: first %+v", file, entries[0])
		}
	}
}

// TestKeys: equal texts get equal numbers whatever the key, which is another in each reader.
func TestKeys(t *testing.T) {
	a, _ := convert(t, Options{File: "log.jsonl"}, true)
	b, _ := convert(t, Options{File: "log.jsonl"}, true)
	if a != b {
		t.Error("the outcome depends on the key")
	}
	f, g := newFingerprints(Options{}), newFingerprints(Options{})
	_, one := f.number([32]byte{}, []byte("x"))
	_, two := g.number([32]byte{}, []byte("x"))
	if one == two {
		t.Error("two readers hash alike")
	}
}

// TestPrompt: blocks are equal exactly where whole blocks of text are, however the text was assembled.
func TestPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{BytesPerToken: rapid.Float64Range(minTextBytes, 9).Draw(t, "bytes"), BlockTokens: rapid.IntRange(1, 9).Draw(t, "tokens")}
		f := newFingerprints(o)
		pieces := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,12}`), 0, 12)
		make := func(label string) (string, Entry) {
			p := prompt{f: f}
			text := ""
			for _, piece := range pieces.Draw(t, label) {
				p.add(piece)
				text += piece
			}
			var e Entry
			p.fill(&e)
			return text, e
		}
		a, x := make("one")
		b, y := make("two")
		for _, e := range []Entry{x, y} {
			if err := checkBlocks(&e, o.BlockTokens); err != nil {
				t.Fatal(err)
			}
		}
		common := 0
		for common < min(len(a), len(b)) && a[common] == b[common] {
			common++
		}
		ends := func(text string, n int) int { // where block n of a text ends
			return min(int(o.BytesPerToken*float64(o.BlockTokens)*float64(n+1)), len(text))
		}
		for i := range min(len(x.Blocks), len(y.Blocks)) {
			equal := ends(a, i) == ends(b, i) && ends(a, i) <= common
			if got := x.Blocks[i] == y.Blocks[i]; got != equal {
				t.Fatalf("block %d of %q and %q: equal %v, want %v", i, a, b, got, equal)
			}
		}
	})
}
