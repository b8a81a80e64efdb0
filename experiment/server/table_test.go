package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func knobs() Knobs {
	return Knobs{Values: map[string][]string{"seqs": {"32", "64", "128"}, "dtype": {"bf16", "fp8"}, "model": {"m"}}}
}

func TestVariants(t *testing.T) {
	names := []string{"seqs", "dtype", "model"}
	for _, c := range []struct {
		product bool
		want    []string
	}{
		{false, []string{"seqs=32 dtype=bf16 model=m", "seqs=64 dtype=bf16 model=m", "seqs=128 dtype=bf16 model=m", "seqs=32 dtype=fp8 model=m"}},
		{true, []string{"seqs=32 dtype=bf16 model=m", "seqs=32 dtype=fp8 model=m", "seqs=64 dtype=bf16 model=m", "seqs=64 dtype=fp8 model=m",
			"seqs=128 dtype=bf16 model=m", "seqs=128 dtype=fp8 model=m"}},
	} {
		table := &Table{Knobs: knobs()}
		variants, ok := table.Variants(names, c.product)
		var got []string
		for i, v := range variants {
			got = append(got, v.String())
			if d := v.Differ(variants[0]); (d > 1) && !c.product || (d == 0) != (i == 0) {
				t.Errorf("%s differs from the baseline in %d knobs", v, d)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || !ok {
			t.Errorf("product %t: %s", c.product, diff)
		}
	}
	if variants, ok := (&Table{}).Variants(nil, false); !ok || len(variants) != 1 || variants[0] == nil || variants[0].String() != "" {
		t.Errorf("without a knob: %v", variants)
	}
	many := &Table{Knobs: Knobs{Values: map[string][]string{}}}
	for _, name := range names {
		for i := range 11 {
			many.Knobs.Values[name] = append(many.Knobs.Values[name], strings.Repeat("x", i))
		}
	}
	if _, ok := many.Variants(names, true); ok {
		t.Error("1331 starts are no error")
	}
}

func TestTableConfig(t *testing.T) {
	table := &Table{
		Command: []string{"vllm", "--seqs={seqs}", "{seqs}{dtype}", `{"seqs": 1}`, "{unknown}"}, Env: map[string]string{"B": "{dtype}", "A": "1"},
		Before: []string{"set", "{seqs}"}, After: []string{"reset"}, Proxied: true, Ready: "/x",
	}
	got := table.Config(Variant{{"seqs", "32"}, {"dtype", "fp8"}})
	want := Config{
		Command: []string{"vllm", "--seqs=32", "32fp8", `{"seqs": 1}`, "{unknown}"}, Env: []string{"A=1", "B=fp8"},
		Before: []string{"set", "32"}, After: []string{"reset"}, Health: "/x", Start: tableStartTimeout, Grace: tableStopTimeout,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (&Table{Command: []string{"x"}}).Config(nil); !got.Own || got.Health != "/models" {
		t.Errorf("%+v", got)
	}
}

func TestAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://h:8000/v1": "h:8000", "http://h/v1": "h:80", "https://u:p@h": "h:443", "http://[::1]:9/": "[::1]:9", "": "", "x": "",
	} {
		if got := (Config{URL: url}).address(); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}
