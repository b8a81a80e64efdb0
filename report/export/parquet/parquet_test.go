package parquet

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	library "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// line has a column of every kind.
type line struct {
	Text   string     `parquet:"text"`
	Word   string     `parquet:"word,dict"`
	Small  int32      `parquet:"small"`
	Large  int64      `parquet:"large"`
	Maybe  *int64     `parquet:"maybe,optional"`
	Share  *float64   `parquet:"share,optional"`
	Flag   bool       `parquet:"flag"`
	At     *time.Time `parquet:"at,optional,timestamp(microsecond)"`
	Gaps   []int64    `parquet:"gaps,list"`
	Tokens []int64    `parquet:"tokens,list"`
}

func anyLine() *rapid.Generator[line] {
	return rapid.Custom(func(t *rapid.T) line {
		at := rapid.Custom(func(t *rapid.T) time.Time { return time.UnixMicro(rapid.Int64Range(-1e15, 9e15).Draw(t, "µs")).UTC() })
		return line{
			Text: rapid.String().Draw(t, "text"), Word: rapid.OneOf(rapid.SampledFrom([]string{"", "chat", "rag"}), rapid.String()).Draw(t, "word"),
			Small: rapid.Int32().Draw(t, "small"), Large: rapid.Int64().Draw(t, "large"), Maybe: rapid.Ptr(rapid.Int64(), true).Draw(t, "maybe"),
			Share: rapid.Ptr(rapid.Float64(), true).Draw(t, "share"), Flag: rapid.Bool().Draw(t, "flag"), At: rapid.Ptr(at, true).Draw(t, "at"),
			Gaps: rapid.SliceOf(rapid.Int64()).Draw(t, "gaps"), Tokens: rapid.SliceOfN(rapid.Int64(), 0, 2).Draw(t, "tokens"),
		}
	})
}

func written(t rapid.TB, groups ...[]line) []byte {
	var file bytes.Buffer
	w, err := NewWriter[line](&file, [2]string{"schema", "of this test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := w.Write(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func readBack(t rapid.TB, file []byte) []line {
	lines, err := library.Read[line](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// A library for the whole format reads what was written.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(rapid.SliceOfN(anyLine(), 0, 20), 0, 3).Draw(t, "groups")
		var want []line
		for _, g := range groups {
			want = append(want, g...)
		}
		if diff := cmp.Diff(want, readBack(t, written(t, groups...)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSchema(t *testing.T) {
	file := written(t, []line{{}})
	f, err := library.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(library.SchemaOf(line{}).String(), f.Schema().String()); diff != "" {
		t.Error(diff)
	}
	if value, _ := f.Lookup("schema"); value != "of this test" {
		t.Errorf("the metadata is %q", value)
	}
}

// A row group of many pages, with a dictionary of more than 256 texts.
func TestManyPages(t *testing.T) {
	var want []line
	for i := range mostValues + 7 {
		want = append(want, line{Word: string(rune(0x4e00 + i%700)), Large: int64(i), Flag: i%3 == 0, Gaps: []int64{int64(i), int64(-i)}})
		if i%5 == 0 {
			want[i].Gaps, want[i].Maybe = nil, new(int64(i))
		}
	}
	got := readBack(t, written(t, want))
	for i, x := range want { // cmp would take seconds
		y := got[i]
		if x.Word != y.Word || x.Large != y.Large || x.Flag != y.Flag || !slices.Equal(x.Gaps, y.Gaps) || (x.Maybe == nil) != (y.Maybe == nil) {
			t.Fatalf("line %d is %+v, want %+v", i, y, x)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}

func TestNewWriterRefusesAType(t *testing.T) {
	type bad struct {
		X []byte `parquet:"x"`
	}
	if _, err := NewWriter[bad](new(bytes.Buffer)); err == nil {
		t.Error("a slice of bytes is no column")
	}
	type flat struct {
		X int64 `parquet:"x,optional"`
	}
	if _, err := NewWriter[flat](new(bytes.Buffer)); err == nil {
		t.Error("an optional column needs a pointer")
	}
}

func TestWriterReportsAFullDisk(t *testing.T) {
	for room := 0; room < 600; room += 23 {
		w, err := NewWriter[line](&disk{room: room})
		if err == nil {
			err = w.Write([]line{{Word: "a", Gaps: []int64{1}}})
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("%d bytes fit: %v", room, err)
		}
	}
}

var errFull = errors.New("no space left on device")

// disk has room for so many bytes.
type disk struct{ room int }

func (d *disk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}
