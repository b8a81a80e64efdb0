package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines of vLLM 0.32.0 on a CPU, shortened, and two of others: 0.19 has the scheduler's, CUDA the backend's.
const startOfVLLM = `(APIServer pid=1) INFO 11-29 16:14:39 [api_utils.py:286] non-default args: {'model_tag': '/m/tiny', 'enforce_eager': True, 'api_key': ['sk-1'], 'served_model_name': ['tiny'], 'max_num_seqs': 16, 'dtype': 'bfloat16'}
(APIServer pid=1) INFO 11-29 16:14:40 [scheduler.py:238] Chunked prefill is enabled with max_num_batched_tokens=2048.
(EngineCore pid=2) INFO 11-29 16:17:04 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='/m/tiny', speculative_config=None, dtype=torch.bfloat16, observability_config=ObservabilityConfig(kv_cache_metrics=False, kv_cache_metrics_sample=0.01), enable_prefix_caching=True, compilation_config={'mode': <CompilationMode.NONE: 0>, 'backend': 'inductor', 'custom_ops': ['all', 'x, y'], 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'inductor_passes': {}, 'pass_config': {'fuse_norm_quant': True}}, kernel_config=KernelConfig(ir_op_priority=IrOpPriorityConfig(rms_norm=['native']), moe_backend='auto'), backend='auto'
(EngineCore pid=2) INFO 11-29 16:17:05 [cuda.py:482] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER'].
(APIServer pid=1) INFO 11-29 16:19:01 [launcher.py:186] Available routes are:
`

func TestReported(t *testing.T) {
	want := map[string]any{
		"model_tag": "/m/tiny", "enforce_eager": "True", "api_key": "['sk-1']", "served_model_name": "['tiny']", "max_num_seqs": "16",
		"max_num_batched_tokens": "2048", "model": "/m/tiny", "speculative_config": "None", "dtype": "torch.bfloat16",
		"observability_config": "ObservabilityConfig", "kv_cache_metrics": "False", "kv_cache_metrics_sample": "0.01",
		"enable_prefix_caching": "True", "mode": "<CompilationMode.NONE: 0>", "backend": "inductor, auto", "custom_ops": "['all', 'x, y']",
		"cudagraph_mode": "<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>", "fuse_norm_quant": "True", "kernel_config": "KernelConfig",
		"ir_op_priority": "IrOpPriorityConfig", "rms_norm": "['native']", "moe_backend": "auto", "attention_backend": "FLASH_ATTN",
	}
	file := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(file, []byte(startOfVLLM), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff(want, Running{log: &logFile{f: f}}.Reported()); diff != "" {
		t.Error(diff)
	}
	if got := (Running{}).Reported(); got != nil {
		t.Errorf("without a log: %v", got)
	}
}

func FuzzReported(f *testing.F) {
	f.Add(startOfVLLM)
	f.Add("non-default args: {'a': {'b': (, 'c'=]]}\n")
	f.Fuzz(func(_ *testing.T, log string) { reported(log) })
}
