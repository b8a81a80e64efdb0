package record

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"bench/experiment/telemetry"
)

// target is a server by its answers.
func target(t *testing.T, models, props string, info ...string) *TargetInfo {
	t.Helper()
	out := &TargetInfo{Model: "tiny", API: "completions", PromptForm: "token_ids", PromptAPI: "completions", BuildInfo: info, Headers: map[string]string{}}
	if err := json.Unmarshal([]byte(models), &out.Models); err != nil {
		t.Fatal(err)
	}
	if props != "" {
		if err := json.Unmarshal([]byte(props), &out.Props); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

const (
	vllmModels = `[{"id":"tiny","object":"model","created":1795384422,"owned_by":"vllm","root":"/models/a","parent":null,"max_model_len":4096,
		"permission":[{"id":"modelperm-979170faec11c3f2","created":1795384422}]}]`
	vllmCache = `vllm:cache_config_info{block_size="128",cache_dtype="auto",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.92",` +
		`kv_cache_max_concurrency="128.0",kv_cache_size_tokens="524288",num_cpu_blocks="None",num_gpu_blocks="4096",sliding_window="None"} 1.0`
	llamaModels = `[{"id":"tiny","aliases":["tiny"],"object":"model","created":1795384422,"owned_by":"llamacpp",
		"meta":{"vocab_type":2,"n_vocab":32000,"n_ctx":8192,"n_ctx_train":8192,"n_embd":256,"n_params":19532032,"size":39068672,"ftype":"F16"}}]`
	llamaProps = `{"total_slots":4,"model_path":"/models/tiny32.gguf"}`
)

// TestChanges: a restart of the same server is the same server; another model under the same name, another cache or
// another form of prompts is not.
func TestChanges(t *testing.T) {
	vllm := func(t *testing.T) *TargetInfo {
		return target(t, vllmModels, "", "python_info{version=\"3.12\"} 1.0", vllmCache)
	}
	llama := func(t *testing.T) *TargetInfo { return target(t, llamaModels, llamaProps) }
	for _, tt := range []struct {
		name     string
		of       func(*testing.T) *TargetInfo
		old, new string // in its answers
		want     string
	}{
		{"the same", vllm, "", "", ""},
		{"a restart: other times and ids", vllm, "1795384422", "1795390000", ""},
		{"a restart: some blocks less", vllm, `num_gpu_blocks="4096"`, `num_gpu_blocks="4040"`, ""},
		{"half of the cache", vllm, `num_gpu_blocks="4096"`, `num_gpu_blocks="2048"`, "cache.num_gpu_blocks: 4096 → 2048"},
		{"cache not allocated yet", vllm, `num_gpu_blocks="4096"`, `num_gpu_blocks="None"`, ""},
		{"another block size", vllm, `block_size="128"`, `block_size="16"`, "cache.block_size: 128 → 16"},
		{"another dtype", vllm, `cache_dtype="auto"`, `cache_dtype="fp8"`, "cache.cache_dtype: auto → fp8"},
		{"another share of the memory", vllm, `"0.92"`, `"0.80"`, "cache.gpu_memory_utilization: 0.92 → 0.80"},
		{"another model", vllm, "/models/a", "/models/b", "root: /models/a → /models/b"},
		{"another context length", vllm, "4096,", "8192,", "max_model_len: 4096 → 8192"},
		{"text", vllm, "token_ids", "text", "prompt_form.completions: token_ids → text"},
		{"another API first", vllm, `"prompt_api":"completions"`, `"prompt_api":"chat"`, ""},
		{"another Python", vllm, "3.12", "3.13", ""},
		{"another model of llama.cpp", llama, "32000", "8000", "meta.n_vocab: 32000 → 8000"},
		{"another quantization of llama.cpp", llama, "F16", "Q4_0", "meta.ftype: F16 → Q4_0"},
		{"another file of llama.cpp", llama, "tiny32.gguf", "tiny.gguf", "props.model_path: /models/tiny32.gguf → /models/tiny.gguf"},
		{"other slots of llama.cpp", llama, `"total_slots":4`, `"total_slots":1`, "props.total_slots: 4 → 1"},
		{"no props before", llama, `"props_answer"`, `"x"`, ""},
		{"another engine", llama, `"llamacpp"`, `"vllm"`, "owned_by: llamacpp → vllm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			was := tt.of(t)
			b, err := json.Marshal(was)
			if err != nil {
				t.Fatal(err)
			}
			quoted := func(s string) string { // labels of a metric are inside a JSON string
				if strings.Contains(s, `="`) {
					s = strings.ReplaceAll(s, `"`, `\"`)
				} else if s == `"0.92"` || s == `"0.80"` {
					s = `=\` + strings.TrimSuffix(s, `"`) + `\"`
				}
				return s
			}
			text := string(b)
			if tt.old != "" {
				text = strings.ReplaceAll(text, quoted(tt.old), quoted(tt.new))
				if text == string(b) {
					t.Fatalf("%s is not in %s", quoted(tt.old), b)
				}
			}
			var is TargetInfo
			if err := json.Unmarshal([]byte(text), &is); err != nil {
				t.Fatal(err)
			}
			changes := is.Changes(was)
			var got string
			if len(changes) > 0 {
				got = changes[0].String()
			}
			if got != tt.want || len(changes) > 1 {
				t.Errorf("got %q, want %q", changes, tt.want)
			}
			if back := was.Changes(&is); len(back) != len(changes) {
				t.Errorf("the other way: %q", back)
			}
			measured := slices.ContainsFunc(changes, func(c Change) bool { return isMeasured(c.Fact) })
			if props := strings.Contains(tt.name, "no props") || strings.Contains(tt.name, "API"); !props && !measured && (is.Hash() != was.Hash()) != (tt.want != "") {
				t.Errorf("hashes %s and %s", was.Hash(), is.Hash())
			}
		})
	}
}

// TestEngines: each engine of data parallelism has its own cache.
func TestEngines(t *testing.T) {
	second := strings.Replace(vllmCache, `engine="0"`, `engine="1"`, 1)
	is := target(t, vllmModels, "", vllmCache, strings.Replace(second, `"128"`, `"64"`, 1))
	changes := is.Changes(target(t, vllmModels, "", vllmCache, second))
	if len(changes) != 1 || changes[0].String() != "cache.1.block_size: 128 → 64" {
		t.Errorf("%q", changes)
	}
}

// TestUnlistedModel: a server that takes any name is known by what it lists.
func TestUnlistedModel(t *testing.T) {
	was, is := target(t, llamaModels, ""), target(t, strings.Replace(llamaModels, "32000", "8000", 1), "")
	was.Model, is.Model = "any", "any"
	if changes := is.Changes(was); len(changes) != 1 || changes[0].Fact != "tiny.meta.n_vocab" {
		t.Errorf("%q", changes)
	}
}

// FuzzCacheConfig: no line of a metrics page makes it panic.
func FuzzCacheConfig(f *testing.F) {
	f.Add(vllmCache)
	f.Add(`sglang:cache_config_info{page_size="1",num_pages="`)
	f.Fuzz(func(t *testing.T, line string) { addCacheConfig(map[string]string{}, line) })
}

// A planned row's id is its point's name in another form.
func TestPlannedLabel(t *testing.T) {
	for id, want := range map[string]string{
		"A-r1":                                "A",
		"E,prefix.state=warm-r12":             "E prefix.state=warm",
		"a-r2,endpoint=127.0.0.1%3A8000-r3":   "a-r2 endpoint=127.0.0.1:8000",
		"%2Dx%2Cy%20z,model=org%2Fname%25-r1": "-x,y z model=org/name%",
		"":                                    "",
	} {
		if got := (&Planned{ID: id}).Label(); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// The kinds of engines lack versions and order.
func TestEngineKinds(t *testing.T) {
	row := func(engine, gateway, version string) Row {
		return Row{Server: ServerState{Metrics: &telemetry.ServerUsage{Engine: engine},
			Gateway: &Gateway{Name: gateway, Version: version}}}
	}
	was := EngineKinds([]Row{row("vllm", "LiteLLM", "1"), row("sglang", "LiteLLM", "2"), {}})
	if is := EngineKinds([]Row{row("sglang", "LiteLLM", "3"), row("vllm", "LiteLLM", "3")}); was != is ||
		was != "behind LiteLLM, sglang, vllm" {
		t.Errorf("%q, %q", was, is)
	}
}

// A variant's server is as it last reported itself.
func TestTargetOf(t *testing.T) {
	m := Manifest{Target: TargetInfo{Model: "first"},
		Servers: []ServerStart{{Variant: "a", Target: &TargetInfo{Model: "a1"}}, {Variant: "b"},
			{Variant: "a", Target: &TargetInfo{Model: "a2"}}, {Variant: "a"}}}
	for variant, want := range map[string]string{"a": "a2", "b": "first", "": "first"} {
		if got := m.TargetOf(variant).Model; got != want {
			t.Errorf("%s: %s, want %s", variant, got, want)
		}
	}
}

// The answers of vLLM, TensorRT-LLM and bench mock, of a server with a bare text, of one with more fields, of none.
func TestServerVersion(t *testing.T) {
	for answer, want := range map[string]string{
		`{"version":"0.11.0"}`: "0.11.0", `"0.11.0"`: "0.11.0", `null`: "", `{}`: "",
		`{"commit":"a1","version":"1"}`: `{"commit":"a1","version":"1"}`,
	} {
		var info TargetInfo
		if err := json.Unmarshal([]byte(`{"version_answer":`+answer+`}`), &info); err != nil {
			t.Fatal(err)
		}
		if got := info.ServerVersion(); got != want {
			t.Errorf("%s: %q", answer, got)
		}
	}
}

func TestSurroundingChanges(t *testing.T) {
	was := TargetInfo{Surroundings: map[string]string{"OMP_NUM_THREADS": "64", "NUMA nodes": "0", "CPU governor": "powersave"}}
	is := TargetInfo{Surroundings: map[string]string{"NUMA nodes": "0", "NCCL_ALGO": "Ring"}}
	want := []Change{{"NCCL_ALGO", "unset", "Ring"}, {"OMP_NUM_THREADS", "64", "unset"}}
	if got := is.SurroundingChanges(&was); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := is.SurroundingChanges(&TargetInfo{}); got != nil {
		t.Errorf("beside a server whose surroundings are not known: %v", got)
	}
	is.Flags = map[string]string{"max_num_seqs": "16"}
	if was.Hash() != is.Hash() {
		t.Error("surroundings or flags are a part of the identity")
	}
}

// Flags are compared if both sides report them; the size of the cache has no change of a few blocks.
func TestFlags(t *testing.T) {
	flags := func(answer string) (info TargetInfo) {
		var reported map[string]any
		if err := json.Unmarshal([]byte(answer), &reported); err != nil {
			t.Fatal(err)
		}
		info.AddFlags(reported)
		return info
	}
	was := flags(`{"max_prefill_tokens":16384,"hf_token":"hf_1","api_key":"sk-1","port":30000,"random_seed":7,"disaggregation_ib_device":null,
		"model_loader_extra_config":"{\"secret\":1}","otlp":"http://a:b@c","bs":[1,2],"internal_states":[{"last_gen_throughput":2.5}],"chat_template":"",
		"scheduler":{"policy":"lpm"},"nccl_port":1,"schedule_policy":"lpm","ssl_keyfile_password":"sk-1","max_total_num_tokens":100000}`)
	want := map[string]string{"max_prefill_tokens": "16384", "disaggregation_ib_device": "null", "bs": "[1,2]", "schedule_policy": "lpm",
		"max_total_num_tokens": "100000"}
	if !maps.Equal(was.Flags, want) {
		t.Errorf("%v", was.Flags)
	}
	is := flags(`{"max_prefill_tokens":8192,"schedule_policy":"fcfs","max_total_num_tokens":100100,"new":1}`)
	changes := []Change{{"max_prefill_tokens", "16384", "8192"}, {"schedule_policy", "lpm", "fcfs"}}
	if got := is.SurroundingChanges(&was); !slices.Equal(got, changes) {
		t.Errorf("%v", got)
	}
	if got := is.SurroundingChanges(&TargetInfo{}); got != nil {
		t.Errorf("beside a server that reports none: %v", got)
	}
}
