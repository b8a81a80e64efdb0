package schema

import (
	"math"
	"strings"
	"testing"

	root "bench"
	"bench/experiment/roofline"
	"bench/experiment/trace"
)

func setupOf(t *testing.T, model, device string, gpus int) roofline.Setup {
	t.Helper()
	models, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.Find(model)
	if err != nil {
		t.Fatal(err)
	}
	d, err := roofline.BuiltinHardware().Find(device)
	if err != nil {
		t.Fatal(err)
	}
	return roofline.Setup{Model: m, Device: d, GPUs: gpus}
}

// TestSchemaOfPredict: what bench predict --format json writes is a document of the schema: of a dense model
// and of experts.
func TestSchemaOfPredict(t *testing.T) {
	dense, experts := setupOf(t, "llama-3.1-8b", "h100-sxm", 1), setupOf(t, "deepseek-r1", "h200-sxm", 8)
	work := roofline.Workload{Input: 2048, Output: 256, Batches: []int{1, 32}}
	compiled := compile(t)
	var text []byte
	for _, x := range []struct {
		p    roofline.Prediction
		want string
	}{
		{dense.Predict(work), `"rule_of_thumb":`},
		{experts.Predict(work), `"active_params":`},
	} {
		text = marshalled(t, x.p)
		if !strings.Contains(string(text), x.want) {
			t.Errorf("no %s in %s", x.want, text)
		}
		validate(t, compiled, x.want, documents{"predict": {text}})
	}
	spoiled(t, "predict", text, map[string]func(d map[string]any){
		"later version": func(d map[string]any) { d["schema"] = "bench/predict/v3" },
		"no terms":      func(d map[string]any) { d["ttft"].(map[string]any)["terms"] = nil },
		"batch as text": func(d map[string]any) { d["decode"].([]any)[0].(map[string]any)["batch"] = "1" },
		"no peak":       func(d map[string]any) { delete(d, "peak") },
		"unknown field": func(d map[string]any) { d["tpot"] = 3 },
	})
}

// TestSchemaOfTrace: the same for what bench trace --format json writes, of a trace that tells all and of
// one that tells lengths alone.
func TestSchemaOfTrace(t *testing.T) {
	inspected := func(lines string) []byte {
		o := trace.Options{File: "x"}
		r, err := trace.New(strings.NewReader(lines), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		report, err := trace.Inspect(r, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		return marshalled(t, report)
	}
	full := inspected(`{"schema":"bench/trace/v1","time_unit":"ms","block_tokens":16}
{"timestamp":0,"input_length":32,"output_length":4,"hash_ids":[1,2],"class":"chat"}
{"timestamp":1000,"input_length":32,"output_length":4,"hash_ids":[1,3],"class":"rag"}
`)
	bare := inspected(`{"schema":"bench/trace/v1"}` + "\n" + `{"input_length":1,"output_length":1}` + "\n")
	validate(t, compile(t), "a trace", documents{"trace-report": {full, bare}})
	for _, want := range []string{`"classes":{`, `"lru_hit_rate":`, `"dispersion_1s":`} {
		if !strings.Contains(string(full), want) {
			t.Errorf("no %s in %s", want, full)
		}
	}
	spoiled(t, "trace-report", full, map[string]func(d map[string]any){
		"the schema of a trace": func(d map[string]any) { d["schema"] = "bench/trace/v1" },
		"no requests":           func(d map[string]any) { delete(d, "requests") },
		"lengths as a number":   func(d map[string]any) { d["input_tokens"] = 32 },
		"arrivals left out":     func(d map[string]any) { delete(d, "arrivals") },
		"no sizes":              func(d map[string]any) { d["cache"].(map[string]any)["sizes"] = nil },
	})
}
