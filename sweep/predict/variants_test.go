package predict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bench/experiment/mock"
	"bench/experiment/roofline"
	"bench/sweep"
)

func TestLeftOut(t *testing.T) {
	const row = "[[row]]\nname = \"%s\"\ninput = 100\noutput = 10\nconcurrency = 2\nrequests = 4\n"
	m, p, err := planned(t, head+fmt.Sprintf(row, "whole")+`
[[row]]
name = "cold"
kind = "cold_start"
input = 100
output = 10
requests = 2
[[row]]
name = "huge"
input = 300000
output = 10
concurrency = 1
requests = 2
`)
	if err != nil || len(m.Points) != 1 || len(p.Prediction.LeftOut) != 2 {
		t.Errorf("%v, %d points, left out %+v", err, len(m.Points), p.Prediction.LeftOut)
	}
	_, _, err = planned(t, strings.Replace(head, "[target]", "[target]\nendpoints = [\"a:1\", \"b:2\"]", 1)+fmt.Sprintf(row, "x"))
	if err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("endpoints: %v", err)
	}
}

// Knobs that the simulated engine has are its own; a variant with another one is left out.
func TestKnobs(t *testing.T) {
	m, p, err := planned(t, strings.Replace(head, "[target]", "[target]\nendpoint = \"127.0.0.1:9\"", 1)+`
[server]
command = ["vllm", "serve", "x", "--max-num-seqs", "{seqs}", "--block-size=32", "--no-enable-prefix-caching", "--seed", "{seed}"]
[server.knobs]
seqs = [8, 16]
seed = [1, 2]
[[row]]
name = "a"
input = 100
output = 10
concurrency = 32
requests = 64
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Points) != 2 || len(p.Prediction.LeftOut) != 1 || !strings.Contains(p.Prediction.LeftOut[0].Why, "seed") {
		t.Errorf("%d points, left out %+v", len(m.Points), p.Prediction.LeftOut)
	}
	for _, point := range m.Points {
		c := p.servers[point.Variant].config
		if want := map[bool]int{true: 8, false: 16}[strings.Contains(point.Variant, "seqs=8")]; c.MaxNumSeqs != want || c.BlockSize != 32 || !c.NoPrefixCaching {
			t.Errorf("%s: %+v", point.Variant, c)
		}
	}
	o := sweep.Options{Out: t.TempDir()}
	p.Apply(&o)
	result, err := sweep.Run(t.Context(), m, o)
	if err != nil || len(result.Manifest.Servers) != 2 || result.Manifest.Servers[0].Log != "" {
		t.Errorf("%v, servers %+v", err, result.Manifest.Servers)
	}
}

const vllm = `name = "m"
[target]
endpoint = "127.0.0.1:9"
model = "llama-3.1-8b"
hardware = "h100-sxm"
gpus = 1
precision = "bf16"
[server]
command = ["vllm", "serve", "x", %s]
%s
[[row]]
name = "a"
input = 16000
output = 300
concurrency = 10
requests = 20
`

// The engine, its roofline, its figures per GPU and the manifest have the GPUs of the command.
func TestGPUsOfCommand(t *testing.T) {
	dir, rows := predicted(t, fmt.Sprintf(vllm, `"--tensor-parallel-size", "4"`, ""))
	m, row := manifest(t, dir), rows["a"]
	if m.Predicted.GPUs != 4 || m.Target.GPUs != 4 || m.Servers[0].Target.GPUs != 4 {
		t.Errorf("predicted %+v, target %+v", m.Predicted, m.Target)
	}
	if total := row.Summary.Throughput; !row.Valid() || row.Roofline.GPUs != 4 || *total.OutputTokensPerSPerGPU != total.OutputTokensPerS/4 {
		t.Errorf("roofline %+v, %+v", row.Roofline, row.Findings)
	}

	dir, rows = predicted(t, fmt.Sprintf(vllm, `"--tensor-parallel-size", "{tp}"`, "[server.knobs]\ntp = [1, 4]"))
	if m := manifest(t, dir); m.Predicted.GPUs != 0 || m.Target.GPUs != 0 || m.Servers[1].Target.GPUs != 4 {
		t.Errorf("predicted %+v, target %+v", m.Predicted, m.Target)
	}
	for name, gpus := range map[string]int{"a tp=1": 1, "a tp=4": 4} {
		row := rows[name]
		if total := row.Summary.Throughput; !row.Valid() || row.Roofline.GPUs != gpus || *total.OutputTokensPerSPerGPU != total.OutputTokensPerS/float64(gpus) {
			t.Errorf("%s: roofline %+v, %+v", name, row.Roofline, row.Findings)
		}
	}
}

// The roofline of a row has the KV precision and the front end of its engine.
func TestRooflineOfEngine(t *testing.T) {
	_, rows := predicted(t, fmt.Sprintf(vllm, `"--kv-cache-dtype", "fp8"`, ""))
	_, other := predicted(t, fmt.Sprintf(vllm, `"--block-size", "16"`, ""))
	if a, b := rows["a"], other["a"]; !a.Valid() || a.Roofline.KV != "fp8" || b.Roofline.KV != "" || a.Roofline.TPOT.FloorMs >= b.Roofline.TPOT.FloorMs {
		t.Errorf("floors %g ms in fp8, %g ms in bf16: %+v", a.Roofline.TPOT.FloorMs, b.Roofline.TPOT.FloorMs, a.Findings)
	}
	sparse, err := tables(t).Models.Find("qwen3-30b-a3b-instruct-2507") // its front end depends on the engine
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"", "vllm", "sglang"} {
		m := read(t, strings.Replace(head, "llama-3.1-8b", sparse.ID, 1)+"[[row]]\nname = \"a\"\ninput = 100\noutput = 10\nconcurrency = 1\nrequests = 20\n")
		base := tables(t)
		base.Engine = engine
		p, err := New(m, base)
		if err != nil {
			t.Fatal(err)
		}
		_, rows := carriedOut(t, m, p)
		s := roofline.Setup{Model: sparse, Device: device(t), GPUs: 1, Engine: engine}
		if got, want := rows["a"].Roofline.TTFT.ExpectedMs, s.Prefill(100, 0).ExpectedMs; got != want {
			t.Errorf("engine %q: TTFT %g ms by the roofline of the row, want %g", engine, got, want)
		}
	}
}

// What is stated beside commands precedes them; it cannot make the variants of a knob equal.
func TestStatedPrecedes(t *testing.T) {
	for _, c := range []struct{ words, knobs, refused string }{
		{`"--tp", "4", "--kv-cache-dtype", "auto"`, "", ""},
		{`"--tp", "{tp}"`, "[server.knobs]\ntp = [1, 4]", "--gpus: "},
		{`"--kv-cache-dtype", "{kv}"`, "[server.knobs]\nkv = [\"auto\", \"fp8\"]", "mock.kv_precision: "},
	} {
		base := tables(t)
		base.GPUs, base.KVPrecision = 2, "fp8"
		p, err := New(read(t, fmt.Sprintf(vllm, c.words, c.knobs)), base)
		if c.refused != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.refused) {
				t.Errorf("%s: %v", c.words, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := p.servers[p.variants()[0]]; s.config.GPUs != 2 || s.config.KVPrecision != "fp8" {
			t.Errorf("%+v", s.config)
		}
	}
}

// Each server of the manifest has the limits of its own variant, and the prediction those of the first.
func TestServersOfVariants(t *testing.T) {
	dir, _ := predicted(t, fmt.Sprintf(vllm, `"--max-num-seqs", "{seqs}"`, "[server.knobs]\nseqs = [4, 8, 16]"))
	m := manifest(t, dir)
	seen := map[string]bool{}
	for i, seqs := range []string{"4", "8", "16"} {
		s := m.Servers[i].Target
		if !strings.Contains(s.Simulator, "; "+seqs+" sequences") || seen[s.Identity] {
			t.Errorf("%s: %s, identity %s", m.Servers[i].Variant, s.Simulator, s.Identity)
		}
		seen[s.Identity] = true
	}
	if first := m.Servers[0].Target; m.Predicted.Simulator != first.Simulator || m.Target.Simulator != first.Simulator {
		t.Errorf("prediction: %s", m.Predicted.Simulator)
	}
}

// Each setting changes the engine, so that a knob of it tells variants apart.
func TestSettings(t *testing.T) {
	names := []string{"kv_cache_dtype", "enable_prefix_caching", "no_enable_prefix_caching", "disable_radix_cache"}
	for numbered := range numbers {
		names = append(names, strings.Fields(numbered)...)
	}
	for _, name := range names {
		value, c := "7", mock.Config{NoPrefixCaching: name == "enable_prefix_caching"}
		was := c
		switch name {
		case "kv_cache_dtype":
			value = "fp8"
		case "enable_prefix_caching", "no_enable_prefix_caching", "disable_radix_cache":
			value = ""
		}
		if set(&c, name, value); reflect.DeepEqual(c, was) {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// A prediction names the flags that it ignores, without their values, once; the others are not among them.
func TestIgnoredFlags(t *testing.T) {
	words := `"--quantization", "fp8", "--max-num-seqs", "{seqs}", "-pp=2", "--enforce-eager", "--port", "8000", "--speculative-config", "{}", "--epsilon", "1"`
	p, err := New(read(t, fmt.Sprintf(vllm, words, "[server.knobs]\nseqs = [4, 8]")), tables(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--quantization", "--pp", "--enforce-eager", "--speculative-config"}
	if got := p.Prediction.Ignored; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := p.Prediction.Lacks(); len(got) != 1 || !strings.Contains(got[0], "ignores --quantization, --pp, ") {
		t.Errorf("%v", got)
	}
}

// The hardware's step times replace all others, and limits of the engine stay.
func TestOnHardware(t *testing.T) {
	m := read(t, head+"[[row]]\nname = \"a\"\ninput = 1\noutput = 1\nconcurrency = 1\nrequests = 1\n")
	c := onHardware(mock.Config{Model: "x", Root: "y", TTFT: 1, ITL: 1, StepBase: 1, Drift: "5%/h", Faults: []string{"hang"}, MaxNumSeqs: 3}, m.Target)
	want := mock.Config{Model: "llama-3.1-8b", Hardware: "h100-sxm", GPUs: 1, MaxNumSeqs: 3}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
}
