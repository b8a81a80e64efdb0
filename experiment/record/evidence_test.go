package record

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func packedLines(t testing.TB, lines string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(lines), nil)
}

func stated(file []byte, lines int) *Row {
	return &Row{Evidence: &Evidence{Requests: Stored{Sum(file), lines}, Telemetry: Stored{Sum(file), lines}}}
}

// TestReadRequests: a file is read only if it is the one that the row states.
func TestReadRequests(t *testing.T) {
	const two = `{"i":0,"phase":"window","outcome":"ok"}` + "\n" + `{"i":7,"phase":"window","outcome":"ok"}` + "\n"
	file := packedLines(t, two)
	bomb := packedLines(t, strings.Repeat(`{"i":1,"phase":"window","gaps_us":[`+strings.Repeat("1,", 500)+`1]}`+"\n", 300_000))
	for name, c := range map[string]struct {
		row   *Row
		file  []byte
		want  string // of the error; empty: none
		lines int    // that are read, at most
	}{
		"as stated":       {stated(file, 2), file, "", 2},
		"nothing stated":  {&Row{}, file, "", 2},
		"other file":      {stated(file[1:], 2), file, errAltered.Error(), 2},
		"fewer lines":     {stated(file, 3), file, "it has 2 lines, and the row states 3", 2},
		"more lines":      {stated(file, 1), file, "more than the 1 lines", 1},
		"index twice":     {&Row{}, packedLines(t, two+two), "index 0 of a request is impossible, or there twice", 2},
		"index too large": {&Row{}, packedLines(t, `{"i":9000000000000000}`), "is impossible", 0},
		"negative index":  {&Row{}, packedLines(t, `{"i":-1}`), "is impossible", 0},
		"bomb":            {stated(bomb, 40), bomb, "there twice", 1},
		"rest":            {stated(file, 2), append(bytes.Clone(file), "garbage"...), "", 2},
	} {
		n := 0
		err := c.row.ReadRequests(bytes.NewReader(c.file), true, func(*Record) error { n++; return nil })
		if name == "rest" {
			if err == nil {
				t.Error("a rest after the stream is not seen")
			}
			continue
		}
		if n > c.lines || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d lines, %v", name, n, err)
		}
	}
}

// TestReadBombs: what decompresses to thousands of times its size is refused before it fills the memory.
func TestReadBombs(t *testing.T) {
	blanks := packedLines(t, strings.Repeat("\n", 80<<20))
	err := ReadRecords(bytes.NewReader(blanks), func(*Record) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "times its size") {
		t.Errorf("%d bytes: %v", len(blanks), err)
	}
}

// TestManifestAltered: any change of run.json is seen.
func TestManifestAltered(t *testing.T) {
	m := Manifest{Schema: SchemaRun, Run: "r", Notes: []string{`a "sha256": "x"`}, Plan: []Planned{{ID: "a", SHA256: "00"}}}
	text, err := m.Encode()
	if err != nil || m.Altered(text) {
		t.Fatal(err, string(text))
	}
	again, err := m.Encode()
	if err != nil || !bytes.Equal(again, text) {
		t.Error("a second encoding differs")
	}
	if (&Manifest{}).Altered([]byte("{}")) {
		t.Error("a manifest that states no SHA-256 is altered")
	}
	rapid.Check(t, func(t *rapid.T) {
		changed := bytes.Clone(text)
		i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		if !m.Altered(changed) {
			t.Fatalf("byte %d of %s", i, text)
		}
	})
}

func TestStoredCheck(t *testing.T) {
	s := Stored{SHA256: Sum([]byte("words"))}
	for text, want := range map[string]error{"words": nil, "word": errAltered} {
		sum := sha256.Sum256([]byte(text))
		if err := s.matches(sum[:]); err != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
