package yaml

import (
	"encoding/json"
	"reflect"
	"testing"
)

// What PyYAML writes of texts, with its folds, is read as it was.
func TestJSONReadsPyYAML(t *testing.T) {
	got, err := JSON([]byte(`description: a long plain text that PyYAML folds behind
  its eightieth column
quoted: 'it''s # no comment: here'
double: "a \"b\" # c: \
  \ d\n"
'--key: x': 1
a:b: 2
list:
- 1.5
- -2
- - x: null
    y: ''
  - 0x1f
- {a: .inf, b: [true, ~, 'x, y']}
empty: {}
small: 1.0e-07
hash: 12e9999
version: '0.2'
`))
	want := `{"--key: x":1,"a:b":2,"description":"a long plain text that PyYAML folds behind its eightieth column",` +
		`"double":"a \"b\" # c:  d\n","empty":{},"hash":"12e9999",` +
		`"list":[1.5,-2,[{"x":null,"y":""},31],{"a":"inf","b":[true,null,"x, y"]}],` +
		`"quoted":"it's # no comment: here","small":1e-7,"version":"0.2"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]any{"a": []any{1, map[string]any{"b": "x", "on": nil}, []any{}, []int{2}},
		"k: y": 1e-7, "z": map[string]any{}})
	want := `a:
  - 1
  - b: "x"
    "on": null
  - []
  - - 2
'k: y': 1.0e-7
z: {}
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// FuzzMarshal: any JSON object is written so that it is read as it was.
func FuzzMarshal(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":"d # e: \"'\\"},[[],{}],"true","1","","~",".inf","- x","a: b"]},"":2,"- ":null,"'":1e30}`)
	f.Fuzz(func(t *testing.T, text string) {
		var was, is map[string]any
		if json.Unmarshal([]byte(text), &was) != nil || len(was) == 0 {
			return
		}
		written, err := Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		back, err := JSON(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if err := json.Unmarshal(back, &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("%s\nis read as\n%s", written, back)
		}
	})
}
