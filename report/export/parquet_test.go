package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	parquet "github.com/parquet-go/parquet-go"

	"bench/experiment/record"
	"bench/experiment/workload"
)

// wholeRecord has a value in every field that a record can have.
const wholeRecord = `{"i": 7, "server_id": "cmpl-1", "class": "chat", "model": "lora-1", "endpoint": 22, "worker": 29, "category": "coding", "prompt_hash": "00ff", "turns": 23, "agent": 24,
 "session": 3, "turn": 1, "phase": "window",
 "at_us": 1, "ready_us": 2, "sent_us": 3, "first_event_us": 4, "first_us": 5, "first_answer_us": 8, "last_us": 9, "end_us": 10, "connect_us": 6,
 "gaps_us": [1, 3], "tokens_per_event": [1, 2, 1], "prompt_asked": 11, "prompt_tokens": 12, "cached_tokens": 13,
 "output_asked": 14, "output_tokens": 15, "estimated": true,
 "reasoning_tokens": 25, "reasoning_estimated": true, "think_tag": true, "drafts": 26, "draft_tokens": 27, "accepted_tokens": 28,
 "valid": true, "correct": true, "invalid_reason": "schema",
 "impossible_usage": {"prompt_tokens": 16, "cached_tokens": 17, "output_tokens": 18},
 "outcome": "status", "error": "overloaded", "status": 503, "finish": "length",
 "server_us": {"queue": 19, "prefill": 20, "decode": 21}, "turns_lost": 2}`

// leaves are the JSON paths of a struct's fields.
func leaves(t reflect.Type, under string) (paths []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "" || name == "schema":
		case inner.Kind() == reflect.Struct && inner.PkgPath() != "" && inner != reflect.TypeFor[record.Micros]() && inner != reflect.TypeFor[record.Packed]():
			paths = append(paths, leaves(inner, under+name+".")...)
		default:
			paths = append(paths, under+name)
		}
	}
	return paths
}

// TestParquetHasEveryField: no field of a record is missing, and a record with all of them fills every column.
func TestParquetHasEveryField(t *testing.T) {
	columns := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Request]()) {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if path := f.Tag.Get("record"); path != "" {
			name = path
		}
		columns[name] = f
	}
	var r record.Record
	if err := json.Unmarshal([]byte(wholeRecord), &r); err != nil {
		t.Fatal(err)
	}
	var q Request
	q.fill(&r)
	for _, path := range leaves(reflect.TypeFor[record.Record](), "") {
		f, ok := columns[path]
		if !ok {
			t.Errorf("Parquet has no column for %s of a record", path)
			continue
		}
		v := reflect.ValueOf(q).FieldByIndex(f.Index)
		if v.IsZero() {
			t.Errorf("%s is not written, or missing in the record of this test", path)
			continue
		}
		got, want := fmt.Sprint(reflect.Indirect(v).Interface()), fmt.Sprint(valueAt(t, path))
		if strings.NewReplacer("[", "", "]", "").Replace(got) != strings.NewReplacer("[", "", "]", "").Replace(want) {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// valueAt is a value of wholeRecord.
func valueAt(t *testing.T, path string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(wholeRecord))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Split(path, ".") {
		v = v.(map[string]any)[key]
	}
	return v
}

// The file names its schema; the columns of the row are filled.
func TestParquetOfARow(t *testing.T) {
	s, _ := ours()
	row := &s.Rows[0]
	row.Spec.Rate, row.Spec.Concurrency, row.Epoch = 4, 8, time.Date(2026, 11, 1, 2, 0, 0, 123_000, time.UTC)
	var b bytes.Buffer
	if err := Parquet(&b, s); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if schema, _ := file.Lookup("schema"); schema != SchemaParquet {
		t.Errorf("the schema is %q", schema)
	}
	lines, err := parquet.Read[Request](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	q := lines[0]
	if *q.Rate != 4 || *q.Workers != 8 || !q.Epoch.Equal(row.Epoch) || q.Name != "A" || q.Point != "A rate=4" || q.Matrix != "m" || q.Model == "" {
		t.Errorf("%+v", q)
	}
	if q.Invalid != "" || !strings.Contains(q.TooFew, "ttft_p99 ") || strings.Contains(q.TooFew, "ttft_p50") {
		t.Errorf("invalid %q, n too small: %q", q.Invalid, q.TooFew)
	}
	row.Spec.Rate, row.Spec.Concurrency = 0, 0
	if q = rowColumns(s, row); q.Rate != nil || q.Workers != nil {
		t.Errorf("%+v", q)
	}
	row.Spec.Rate = workload.Rate(math.Inf(1))
	if q = rowColumns(s, row); !math.IsInf(*q.Rate, 1) {
		t.Errorf("%+v", q)
	}
}
