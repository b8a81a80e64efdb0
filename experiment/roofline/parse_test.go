package roofline

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// table is the shipped model table. It lies at the root of the repository,
// where a user edits it.
func table(t testing.TB) Models {
	t.Helper()
	m, err := ParseModels(tableBytes(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tableBytes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../" + ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func model(t testing.TB, name string) Model {
	t.Helper()
	m, err := table(t).Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func device(t testing.TB, name string) Device {
	t.Helper()
	d, err := BuiltinHardware().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const tiny = `"id": "a", "layers": 2, "hidden": 8, "heads": 4, "kv_heads": 2, "head_dim": 2, "intermediate": 16, "vocab": 10, "source": "s"`

func entryOf(more string) string {
	if more != "" {
		more = ", " + more
	}
	return `{"models": [{` + tiny + more + `}]}`
}

func TestParseModelsSaysEntryAndField(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"unknown key":     {entryOf(`"laers": 3`), `entry 1 (a): json: unknown field "laers"`},
		"unknown at top":  {`{"modles": []}`, `unknown field "modles"`},
		"trailing":        {entryOf("") + "x", "model table: invalid character"},
		"empty":           {`{"models": []}`, "models is empty"},
		"null entry":      {`{"models": [null]}`, "entry 1 (no id): layers is 0"},
		"type":            {entryOf(`"max_context": "8k"`), "max_context"},
		"negative":        {entryOf(`"max_context": -1`), "max_context is -1"},
		"heads":           {strings.Replace(entryOf(""), `"kv_heads": 2`, `"kv_heads": 3`, 1), "kv_heads is 3, not a divisor of heads (4)"},
		"no dense width":  {strings.Replace(entryOf(""), `"intermediate": 16, `, "", 1), "intermediate is missing: 2 layers"},
		"groups":          {entryOf(`"kv_groups": [{"kind": "full", "layers": 1}]`), "1 layers in total, but layers is 2"},
		"window":          {entryOf(`"kv_groups": [{"kind": "window", "layers": 2}]`), "kv_groups[0].window is 0"},
		"window of full":  {entryOf(`"kv_groups": [{"kind": "full", "layers": 2, "window": 9}]`), "kv_groups[0].window is 9"},
		"kind":            {entryOf(`"kv_groups": [{"kind": "ful", "layers": 2}]`), `kind is "ful"`},
		"weights":         {entryOf(`"weights": "fp9"`), `weights is "fp9", not one of bf16`},
		"expert weights":  {entryOf(`"expert_weights": "x"`), `expert_weights is "x"`},
		"experts":         {entryOf(`"moe": {"layers": 3, "experts": 4, "top_k": 5, "expert_intermediate": 1}`), "moe.top_k is 5, not within 1 to 4"},
		"mla alone":       {entryOf(`"mla": {"kv_lora_rank": 1, "qk_nope_dim": 1, "value_dim": 1}`), "mla cannot be combined with kv_heads, head_dim, kv_groups or linear"},
		"index":           {entryOf(`"mla": {"kv_lora_rank": 1, "qk_nope_dim": 1, "value_dim": 1, "index_dim": 1}`), "must be set together"},
		"linear":          {entryOf(`"linear": {"layers": 1}`), "linear.key_heads is 0"},
		"mlp":             {entryOf(`"mlp_matrices": 4`), "mlp_matrices is 4"},
		"params":          {entryOf(`"params": 1000000`), "params is 1e+06, but the shape gives 1312"},
		"negative params": {entryOf(`"params": -5`), "params is -5"},
		"active":          {entryOf(`"active_params": 9999`), "active_params is 9999"},
		"same name":       {`{"models": [{` + tiny + `}, {` + tiny + `}]}`, `entry 2 (a): name "a" belongs to a already`},
		"empty alias":     {entryOf(`"aliases": [""]`), "id or alias is empty"},
		"two mistakes":    {entryOf(`"mlp_matrices": 4, "max_context": -1`), "max_context is -1, not within 0 to 9223372036854775807\nmlp_matrices is 4"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ParseModels([]byte(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
			if m != nil {
				t.Error("a mistake came with a table")
			}
		})
	}
}

func TestTinyEntry(t *testing.T) {
	m, err := ParseModels([]byte(entryOf("")))
	if err != nil {
		t.Fatal(err)
	}
	// By hand: 2 tables of 10·8; in each of 2 layers q and o of 8·8, k and v of
	// 8·4, and 3 matrices of 8·16.
	if got, want := m[0].Params(), int64(2*80+2*(2*64+2*32+3*128)); got != want {
		t.Errorf("Params = %d, want %d", got, want)
	}
}

func TestParseHardwareSaysEntryAndField(t *testing.T) {
	const eff = `"efficiency": {"memory": 0.8, "experts": 0.5, "attention": 0.5, "compute": {"bf16": 0.5, "fp8": 0.5, "fp4": 0.5, "int8": 0.5}, "link": 0.8}`
	for name, c := range map[string]struct{ data, want string }{
		"no bandwidth": {`{` + eff + `, "devices": [{"id": "x"}]}`, "entry 1 (x): bandwidth_gb_s is missing"},
		"negative":     {`{` + eff + `, "devices": [{"id": "x", "bandwidth_gb_s": 1, "memory_gb": -2}]}`, "memory_gb is -2"},
		"tiny rate":    {`{` + eff + `, "devices": [{"id": "x", "bandwidth_gb_s": 1, "dense_tflops": {"bf16": 1e-300}}]}`, "dense_tflops.bf16 is 1e-300"},
		"unknown key":  {`{` + eff + `, "devices": [{"id": "x", "bandwith": 1}]}`, `unknown field "bandwith"`},
		"no devices":   {`{` + eff + `}`, "devices is empty"},
		"same name":    {`{` + eff + `, "devices": [{"id": "x", "bandwidth_gb_s": 1}, {"id": "y", "aliases": ["X"], "bandwidth_gb_s": 1}]}`, `entry 2 (y): name "X" belongs to x already`},
		"share":        {`{` + strings.Replace(eff, `"link": 0.8`, `"link": 80`, 1) + `, "devices": []}`, "efficiency: link is 80"},
		"no share":     {`{"efficiency": {}, "devices": []}`, "memory is missing\ncompute.bf16 is missing"},
		"low end":      {`{` + strings.Replace(eff, `"link": 0.8`, `"link": 0.8, "ttft_range": {"dense": {"low": 1.5, "high": 2}}`, 1) + `, "devices": []}`, "ttft_range.dense is 1.5 to 2"},
		"high end":     {`{` + strings.Replace(eff, `"link": 0.8`, `"link": 0.8, "tpot_range": {"sparse": {"low": 0.5, "high": 0.9}}`, 1) + `, "devices": []}`, "tpot_range.sparse is 0.5 to 0.9"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseHardware([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

// A user who copies an entry needs its source.
func TestTablesNameTheirSources(t *testing.T) {
	for _, m := range table(t) {
		if m.Source == "" || m.MaxContext == 0 || m.PublishedParams == 0 {
			t.Errorf("%s lacks source, max_context or params", m.ID)
		}
		if len(m.Match) > 0 {
			t.Errorf("%s has match, which would also find copies with other weights", m.ID)
		}
	}
	for _, d := range BuiltinHardware().Devices {
		if d.Source == "" || d.Vendor == "" {
			t.Errorf("%s lacks source or vendor", d.ID)
		}
	}
	if n := len(BuiltinHardware().Devices); n < 51 {
		t.Errorf("%d devices, want 51", n)
	}
}

func FuzzParseModels(f *testing.F) {
	f.Add(tableBytes(f))
	f.Add([]byte(entryOf("")))
	f.Add([]byte(entryOf(`"kv_groups": [{"kind": "window", "layers": 2, "window": 3, "value_dim": 9}], "match": ["b"]`)))
	f.Add([]byte(entryOf(`"moe": {"layers": 2, "experts": 4, "top_k": 2, "expert_intermediate": 5}, "expert_weights": "mxfp4"`)))
	f.Add([]byte(entryOf(`"linear": {"layers": 1, "key_heads": 1, "key_dim": 2, "value_heads": 3, "value_dim": 4, "conv": 4}`)))
	d := device(f, "h100-sxm")
	f.Fuzz(func(t *testing.T, data []byte) {
		models, err := ParseModels(data)
		if err != nil {
			return
		}
		for _, m := range models {
			if err := (Setup{Model: m, Device: d}).Check(); err != nil {
				t.Fatalf("parsed, but not valid: %v", err)
			}
			if m.Params() <= 0 || m.ActiveParams() <= 0 || m.ActiveParams() > m.Params() {
				t.Fatalf("%s: %d parameters, %d active", m.ID, m.Params(), m.ActiveParams())
			}
			for _, b := range []Bound{(Setup{Model: m, Device: d, GPUs: 8}).Decode(1e6, 1e9), (Setup{Model: m, Device: d}).Prefill(1e9, 0)} {
				if !(b.FloorMs > 0 && b.ExpectedMs >= b.FloorMs) || math.IsInf(b.ExpectedMs, 0) {
					t.Fatalf("%s: floor %g ms, expected %g ms", m.ID, b.FloorMs, b.ExpectedMs)
				}
				if _, err := json.Marshal(b); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := models.Find(m.ID); err != nil {
				t.Fatalf("can't find %q: %v", m.ID, err)
			}
		}
	})
}
