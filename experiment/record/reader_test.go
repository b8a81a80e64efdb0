package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment/scan"
)

// FuzzDecodeRecord: the decoder of known lines finds what encoding/json finds.
func FuzzDecodeRecord(f *testing.F) {
	whole := `{"i":3,"phase":"window","at_us":5,"gaps_us":[10012,9988,0,123456789],"prompt_asked":8,"outcome":"ok","error":"a \\"gaps_us\\":[7]"}`
	for _, s := range []string{
		whole, strings.Replace(whole, "9988", "-9988", 1), strings.Replace(whole, "9988", " 9988", 1), strings.Replace(whole, "9988", "09988", 1),
		strings.Replace(whole, "9988", "9988.5", 1), strings.Replace(whole, "9988", "99999999999999999999", 1),
		strings.Replace(whole, "10012,9988,0,123456789", "", 1), whole[:60], whole[:len(whole)-1],
		`{"i":1,"x":{"gaps_us":[1,2]}}`, `{"gaps_us":[1],"gaps_us":[2]}`, `{"gaps_us":[1],"GAPS_US":[2]}`, `{"GAPS_US":[2],"gaps_us":[1]}`, `{"gaps_us":[1],"Gaps_us":null}`, `["gaps_us":[1]]`,
		`{"gaps_us":[1]`, `{"gaps_us":[1`, `{"gaps_us":[`, "{\"i\":\x00\"phase\":\"window\"}", `{}`, `{"i":1,}`, `{"i":-0,"phase":null}`, `{"status":01}`,
		`{"i":1,"impossible_usage":{},"outcome":"ok"}`, `{"i":1,"impossible_usage":{"output_tokens":1},"server_us":{"queue":2,"decode":3}}`,
		`{"i":1234567890123456789,"estimated":true,"finish":"\u0041"}`, `{"phase":"\xff"}`, `{"i":1,"i":2}`, `{"outcome":"ok","i":2}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var want, got Record
		wantErr := json.Unmarshal([]byte(line), &want)
		gotErr := newLines().decode([]byte(line), &got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", line, gotErr, wantErr)
		}
		if wantErr != nil {
			return
		}
		if diff := cmp.Diff(want, got, insideRecords); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	})
}

// A field that is missing in knownLine would make every line of a file several times slower to read.
func TestKnownLineHasEveryField(t *testing.T) {
	want, got := fullRecord(), Record{}
	line := knownLine{JSON: scan.JSON{Text: want.AppendJSON(nil)}, before: '{', stored: newLines()}
	if !line.record(&got) {
		t.Fatalf("left to encoding/json: %s", want.AppendJSON(nil))
	}
	if diff := cmp.Diff(want, got, insideRecords); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyRecord().Draw(t, "record").AppendJSON(nil)
		var want, got Record
		if err := errors.Join(json.Unmarshal(text, &want), newLines().decode(text, &got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, insideRecords); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
	})
}

// Records without lists, also of lines that encoding/json reads.
func TestReadWithoutLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(anyRecord(), 1, 5).Draw(t, "records")
		var file bytes.Buffer
		w, err := NewRecordWriter(&file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range want {
			err = errors.Join(err, w.Write(r))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		var whole []*Record
		if err := ReadRecords(bytes.NewReader(file.Bytes()), func(r *Record) error { whole = append(whole, r); return nil }); err != nil {
			t.Fatal(err)
		}
		i := 0
		err = readRecords(&file, math.MaxInt64, false, func(r *Record) error {
			whole[i].Gaps, whole[i].TokensPerEvent = Packed{}, Packed{}
			if diff := cmp.Diff(whole[i], r, insideRecords); diff != "" {
				t.Fatal(diff)
			}
			i++
			return nil
		})
		if err != nil || i != len(want) {
			t.Fatalf("%d of %d records, %v", i, len(want), err)
		}
	})
}

var insideRecords = cmp.AllowUnexported(Record{}, Packed{}, Micros{})

func TestDecodeLineThatWasCut(t *testing.T) {
	const whole = `{"i":3,"phase":"window","gaps_us":[10012,9988],"outcome":"ok"}`
	for n := 1; n < len(whole); n++ {
		if err := newLines().decode([]byte(whole[:n]), new(Record)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", whole[:n], err)
		}
	}
	if err := newLines().decode([]byte(`{"i":3,,}`), new(Record)); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("garbage is taken for a cut: %v", err)
	}
}

// Texts that records have in common are one text in memory.
func TestReadRecordsShare(t *testing.T) {
	var file bytes.Buffer
	w, err := NewRecordWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for i, class := range []string{"chat", "rag", "chat"} {
		if err := w.Write(&Record{I: i, Class: class, Phase: PhaseWindow, Outcome: "ok", Finish: "length"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var read []*Record
	if err := ReadRecords(&file, func(r *Record) error { read = append(read, r); return nil }); err != nil {
		t.Fatal(err)
	}
	a, b, c := read[0], read[1], read[2]
	for _, same := range [][2]string{{a.Class, c.Class}, {a.Phase, b.Phase}, {a.Outcome, b.Outcome}, {a.Finish, c.Finish}} {
		if same[0] != same[1] || unsafe.StringData(same[0]) != unsafe.StringData(same[1]) {
			t.Errorf("%q and %q are two texts", same[0], same[1])
		}
	}
	if b.Class != "rag" {
		t.Errorf("class %q", b.Class)
	}
}

// A list that is cut or damaged is no list, whether it is read or passed over.
func TestDamagedLists(t *testing.T) {
	for _, line := range []string{`{"i":1,"phase":"window","gaps_us":[}`, `{"i":1,"phase":"window","at_us":1,"gaps_us":[,"prompt_asked":1}`,
		`{"i":1,"phase":"window","gaps_us":[]`} {
		for _, lists := range []bool{true, false} {
			stored := newLines()
			stored.lists = lists
			if err := stored.decode([]byte(line), &Record{}); err == nil {
				t.Errorf("%s, lists %v: no error", line, lists)
			}
		}
	}
}
