package strict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeFills(t *testing.T) {
	d, err := Parse("d.toml", []byte(`
seed = 7
target = { timeout = "1m30s", facts = { "a b" = "c" }, extra_body = { stop = ["x"], n = 1, deep = { f = 0.5 } } }
slo = { a = 1, b = 2.5 }
[[row]]
name = "one"
requests = 3
stream = false
rate = 2
prefix = { groups = 4 }
concurrency = []
any = [{ a = 1 }]
[[row.mix]]
weight = 1
`))
	if err != nil {
		t.Fatal(err)
	}
	got := matrix{Name: "kept", Untagged: "kept", Target: target{Endpoint: "kept", Facts: map[string]string{"gone": ""}}}
	Decode(d.Root, &got, func(path, text, _ string) { t.Errorf("%s: %s", path, text) })
	seed, stream := uint32(7), false
	want := matrix{
		Name: "kept", Untagged: "kept", Seed: &seed, SLO: map[string]float64{"a": 1, "b": 2.5},
		Target: target{
			Endpoint: "kept", Timeout: 90 * time.Second, Facts: map[string]string{"a b": "c"},
			Body: map[string]any{"stop": []any{"x"}, "n": int64(1), "deep": map[string]any{"f": 0.5}},
		},
		Rows: []row{{
			common: common{Requests: 3, Concurrency: []int{}}, Name: "one", Stream: &stream, Rate: 2, Prefix: &prefix{Groups: 4},
			Any: []any{map[string]any{"a": int64(1)}}, Mix: []class{{Weight: 1}},
		}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{}, own{})); diff != "" {
		t.Error(diff)
	}
	got.Target.Body["deep"].(map[string]any)["f"] = 1.0
	if d.Root["target"].(map[string]any)["extra_body"].(map[string]any)["deep"].(map[string]any)["f"] != 0.5 {
		t.Error("what was decoded shares memory with the document")
	}
}

// TestDecodeReports covers trees that are put together by hand and paths that the golden files do not show.
func TestDecodeReports(t *testing.T) {
	cases := []struct {
		name string
		tree map[string]any
		into any
		want []string // path, text, hint
	}{
		{"a table without keys", map[string]any{"a": int64(1)}, new(struct{}), []string{"a", `unknown key "a"`, "remove it; this table has no keys"}},
		{"nothing", map[string]any{"name": nil}, new(class), []string{"name", "name must be a string, not a Go <nil>", `write for example name = "text"`}},
		{"a foreign type", map[string]any{"weight": 1}, new(class), []string{"weight", "weight must be a number, not a Go int", "write for example weight = 0.5"}},
		{"a map", map[string]any{"facts": int64(1)}, new(target), []string{"facts", "facts must be a table, not the number 1", `write facts = { key = "text" }`}},
		{"no map", map[string]any{"facts": []map[string]any{{}}}, new(target), []string{"facts", "facts must be a table, not a list of tables", "write [facts], not [[facts]]"}},
		{"odd keys", map[string]any{"facts": map[string]any{"a.b": int64(1)}}, new(target), []string{`facts."a.b"`, `"a.b" must be a string, not the number 1`, `write "a.b" = "1"`}},
		{"a self-made type within", map[string]any{"own": map[string]any{"tokens": "1"}}, new(row), []string{"own.tokens", `tokens must be an integer, not the string "1"`, "write tokens = 1"}},
		{"a self-made type as the whole", map[string]any{"tokens": "1"}, new(own), []string{"tokens", `tokens must be an integer, not the string "1"`, "write tokens = 1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			Decode(c.tree, c.into, func(path, text, hint string) { got = append(got, path, text, hint) })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodePanics(t *testing.T) {
	tree := map[string]any{"a": map[string]any{}}
	for name, into := range map[string]any{
		"not a pointer": class{}, "nil": (*class)(nil), "not a struct": new(int),
		"a channel": new(struct {
			A chan int `toml:"a"`
		}),
		"keys of numbers": new(struct {
			A map[int]int `toml:"a"`
		}),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic for a mistake of the program")
				}
			}()
			Decode(tree, into, func(string, string, string) {})
		})
	}
}
