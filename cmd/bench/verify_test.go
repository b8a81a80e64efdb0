package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
)

const provable = `
name = "provable"
[mock]
ttft = "2ms"
itl = "1ms"
[target]
endpoint = "mock"
[slo]
ttft_p95 = "1s"
[defaults]
warmup = 2
requests = 30
[[row]]
name = "open"
rate = 200
input = 64
output = 8
[[row]]
name = "mixed"
concurrency = 4
[[row.mix]]
name = "chat"
weight = 0.5
input = 32
output = 8
[[row.mix]]
name = "batch"
weight = 0.5
input = 64
output = 16
`

func verified(t *testing.T, dir string) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	code = bench(t.Context(), nil, &out, &out, []string{"verify", dir})
	return code, out.String()
}

// trials are more with BENCH_LONG=1: some minutes.
func trials(few, many int) int {
	if os.Getenv("BENCH_LONG") != "" {
		return many
	}
	return few
}

// TestVerifyFindsChangedFiles: whatever changes a file of the run is found.
func TestVerifyFindsChangedFiles(t *testing.T) {
	dir := measured(t, provable).Dir
	if code, text := verified(t, dir); code != 0 {
		t.Fatal(text)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"report.html", "summary.md", ".lock"}, filepath.Base(name))
	})
	r := rand.New(rand.NewPCG(1, 2))
	for range trials(200, 9000) {
		name := names[r.IntN(len(names))]
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if changed := mutated(r, text); changed == nil {
			err = os.Remove(name)
		} else {
			err = os.WriteFile(name, changed, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if code, said := verified(t, dir); code == 0 {
			t.Fatalf("a change of %s is not found: %s", name, said)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mutated is another text; nil: none.
func mutated(r *rand.Rand, text []byte) []byte {
	out := slices.Clone(text)
	i := r.IntN(len(out))
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		return out[:i]
	case 2:
		return slices.Insert(out, i, byte(r.UintN(256)))
	case 3:
		return slices.Delete(out, i, i+1)
	case 4: // a digit, as one who wants another figure
		if at := bytes.IndexAny(out[i:], "0123456789"); at >= 0 {
			out[i+at] = '0' + (out[i+at]-'0'+1+byte(r.UintN(9)))%10
			return out
		}
	}
	out[i] ^= byte(1 + r.UintN(255))
	return out
}

// TestVerifyRecomputes: a figure that is changed is found, also when every SHA-256 is made to fit.
func TestVerifyRecomputes(t *testing.T) {
	dir := measured(t, provable).Dir
	manifest, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m record.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	derived := []string{"summary", "classes", "slo", "findings", "checks", "lengths", "steadiness", "arrivals", "little", "window"}
	r := rand.New(rand.NewPCG(3, 4))
	for range trials(40, 1000) {
		p := &m.Plan[r.IntN(len(m.Plan))]
		name := filepath.Join(dir, p.ID+".json")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		changed, what := changedNumber(t, r, text, derived)
		p.SHA256 = record.Sum(changed)
		forged, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, string(changed))
		write(t, filepath.Join(dir, "run.json"), string(forged))
		if code, said := verified(t, dir); code != codeFailed || strings.Contains(said, "changed after the run") {
			t.Fatalf("%s: %s is changed: exit code %d, %s", p.ID, what, code, said)
		}
		write(t, name, string(text))
		p.SHA256 = record.Sum(text)
	}
}

// changedNumber is a row with another number below one of the keys.
func changedNumber(t *testing.T, r *rand.Rand, text []byte, keys []string) (changed []byte, what string) {
	t.Helper()
	var row map[string]any
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatal(err)
	}
	count, n := 0, -1
	var walk func(v any, path string) any
	walk = func(v any, path string) any {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				v[k] = walk(v[k], path+"."+k)
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], path)
			}
		case float64:
			if count++; count-1 == n {
				what = path
				return 2*v + 1
			}
		}
		return v
	}
	for _, n = range []int{-1, 0} { // counts, then changes
		if n == 0 {
			n, count = r.IntN(count), 0
		}
		for _, key := range keys {
			row[key] = walk(row[key], key)
		}
	}
	changed, err := record.EncodeFile(row)
	if err != nil {
		t.Fatal(err)
	}
	return changed, what
}
