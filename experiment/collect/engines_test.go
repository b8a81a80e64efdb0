package collect

import (
	"bench/experiment/telemetry"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pages are what engines say, in their own words, with what else stands on such a page around it.
var pages = map[string]struct {
	text string
	want telemetry.ServerReading
}{
	"vllm": {`# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1.0
vllm:num_requests_waiting{engine="1",model_name="m"} 0.0
vllm:num_requests_waiting_by_reason{reason="capacity"} 9.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000",cache_dtype="auto"} 1.0
vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="500",cache_dtype="auto"} 1.0
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1.0e+06
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7e+09
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 250000.0
vllm:num_preemptions_total{engine="0",model_name="m"} 2.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 5000.0
vllm:generation_tokens_total{engine="0",model_name="m"} 600.0
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 100.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 300.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 150.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 90.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{le="1.0"} 3.0
process_resident_memory_bytes 1.0
`, telemetry.ServerReading{Engine: "vllm", Running: new(7.0), Waiting: new(1.0), KVUsage: new(0.5), KVCapacity: new(24000.0), CacheBlock: new(16.0), Preemptions: new(2.0),
		PrefixQueries: new(1e6), PrefixHits: new(250000.0), PrefixUnit: "tokens", Prompt: new(5000.0), Generated: new(600.0),
		Drafts: new(100.0), Drafted: new(300.0), Accepted: new(150.0), AcceptedAt: []float64{90}}},
	"vllm with a KV connector": {`vllm:prefix_cache_queries_total{engine="0"} 1000
vllm:prefix_cache_hits_total{engine="0"} 100
vllm:external_prefix_cache_queries_total{engine="0"} 900
vllm:external_prefix_cache_hits_total{engine="0"} 600
`, telemetry.ServerReading{Engine: "vllm", PrefixQueries: new(1000.0), PrefixHits: new(100.0), PrefixUnit: "tokens",
		Tiers: telemetry.TierHits{GPU: new(100.0), External: new(600.0)}}},
	"vllm of 2026, with its tiers": {`vllm:prefix_cache_queries_total{engine="0"} 1000
vllm:prefix_cache_hits_total{engine="0"} 100
vllm:external_prefix_cache_queries_total{engine="0"} 900
vllm:external_prefix_cache_hits_total{engine="0"} 600
vllm:prompt_tokens_cached_total{engine="0"} 700
vllm:prompt_tokens_cached_by_source_total{engine="0",source="device"} 100
vllm:prompt_tokens_cached_by_source_total{engine="0",source="host"} 400
vllm:prompt_tokens_cached_by_source_total{engine="0",source="p2p"} 150
vllm:prompt_tokens_cached_by_source_total{engine="0",source="disk"} 50
vllm:prompt_tokens_cached_by_source_total{engine="0",source="external_unspecified"} 0
vllm:request_success_total{engine="0",finished_reason="stop"} 3
vllm:request_success_total{engine="0",finished_reason="length"} 4
`, telemetry.ServerReading{Engine: "vllm", PrefixQueries: new(1000.0), PrefixHits: new(100.0), PrefixUnit: "tokens", Requests: new(7.0),
		Tiers: telemetry.TierHits{GPU: new(100.0), Host: new(400.0), P2P: new(150.0), Disk: new(50.0), External: new(0.0)}}},
	"vllm, an old one that counts blocks": {`# HELP vllm:gpu_prefix_cache_queries_total GPU prefix cache queries, in terms of number of queried blocks.
# TYPE vllm:gpu_prefix_cache_queries_total counter
vllm:gpu_prefix_cache_queries_total{model_name="m"} 10.0
vllm:gpu_prefix_cache_hits_total{model_name="m"} 4.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.125
vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1.0
`, telemetry.ServerReading{Engine: "vllm", KVUsage: new(0.125), CacheBlock: new(16.0), PrefixQueries: new(10.0), PrefixHits: new(4.0), PrefixUnit: "blocks"}},
	"vllm V0": {"vllm:gpu_prefix_cache_hit_rate{model_name=\"m\"} 0.75\nvllm:num_requests_running{model_name=\"m\"} 2\n",
		telemetry.ServerReading{Engine: "vllm", Running: new(2.0), HitRate: new(0.75)}},
	"vllm under Ray": {"ray_vllm:num_requests_running{model_name=\"m\"} 2\nray_vllm_num_requests_waiting{model_name=\"m\"} 1\n",
		telemetry.ServerReading{Engine: "vllm", Running: new(2.0), Waiting: new(1.0)}},
	"sglang": {`sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="0"} 5
sglang:num_running_reqs{model_name="m",tp_rank="1",pp_rank="0"} 5
sglang:num_queue_reqs{model_name="m"} 2
sglang:token_usage{model_name="m"} 0.28
sglang:max_total_num_tokens{model_name="m"} 400000
sglang:cache_hit_rate{model_name="m"} 0.0075
sglang:prompt_tokens_total{model_name="m"} 8000
sglang:generation_tokens_total{model_name="m"} 700
sglang:cached_tokens_total{model_name="m",cache_source="device"} 100
sglang:cached_tokens_total{model_name="m",cache_source="host"} 60
sglang:cached_tokens_total{model_name="m",cache_source="storage_HiCacheFile"} 9
sglang:cached_tokens_total{model_name="m",cache_source="storage_mooncake"} 3
sglang:num_retracted_reqs{model_name="m"} 1
sglang:num_retracted_reqs_total{model_name="m"} 3
sglang:spec_accept_length{model_name="m"} 2.5
`, telemetry.ServerReading{Engine: "sglang", Running: new(5.0), Waiting: new(2.0), KVUsage: new(0.28), KVCapacity: new(400000.0), Preemptions: new(3.0),
		PrefixQueries: new(8000.0), PrefixHits: new(172.0), PrefixUnit: "tokens", HitRate: new(0.0075), Prompt: new(8000.0), Generated: new(700.0), AcceptLength: new(2.5),
		Tiers: telemetry.TierHits{GPU: new(100.0), Host: new(60.0), Disk: new(12.0)}}},
	"tgi": {`tgi_batch_current_size 6
tgi_queue_size 1
tgi_request_input_length_bucket{le="1"} 0
tgi_request_input_length_sum 1200
tgi_request_input_length_count 10
tgi_request_generated_tokens_sum 90
`, telemetry.ServerReading{Engine: "tgi", Running: new(6.0), Waiting: new(1.0), Prompt: new(1200.0), Generated: new(90.0)}},
	"trtllm-serve": {"trtllm_kv_cache_utilization{engine_type=\"trtllm\"} 0.4\ntrtllm_kv_cache_hit_rate 0.1\ntrtllm_num_requests_running 3\ntrtllm_num_requests_waiting 4\n",
		telemetry.ServerReading{Engine: "trtllm", Running: new(3.0), Waiting: new(4.0), KVUsage: new(0.4), HitRate: new(0.1)}},
	"triton": {`nv_trt_llm_request_metrics{model="t",request_type="active",version="1"} 3
nv_trt_llm_request_metrics{model="t",request_type="waiting",version="1"} 2
nv_trt_llm_request_metrics{model="t",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="t"} 0.3
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="t"} 6000
`, telemetry.ServerReading{Engine: "triton", Running: new(3.0), Waiting: new(2.0), KVUsage: new(0.3)}},
	"llama.cpp": {"llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\nllamacpp:prompt_tokens_total 30\nllamacpp:tokens_predicted_total 40\n",
		telemetry.ServerReading{Engine: "llamacpp", Running: new(1.0), Waiting: new(2.0), Prompt: new(30.0), Generated: new(40.0)}},
	"llama.cpp of 2026": {`# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached tokens
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 30
llamacpp:prompt_tokens_cached_total 10
llamacpp:spec_decode_num_draft_tokens_total 8
llamacpp:spec_decode_num_accepted_tokens_total 6
llamacpp:spec_decode_num_drafts_total 2
llamacpp:n_busy_slots_per_decode 1.9
llamacpp:requests_processing 1
`, telemetry.ServerReading{Engine: "llamacpp", Running: new(1.0), Prompt: new(40.0), PrefixQueries: new(40.0), PrefixHits: new(10.0), PrefixUnit: "tokens",
		Drafts: new(2.0), Drafted: new(8.0), Accepted: new(6.0)}},
	"what is no number is not told": {"vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\nvllm:kv_cache_usage_perc 1\n",
		telemetry.ServerReading{Engine: "vllm", KVUsage: new(1.0)}},
	"lines that nobody asked for may be garbage": {"<html>\nvllm:num_requests_running 1\n}}} {{{ 3\n# TYPE vllm:num_requests_running gauge\n# HELP vllm:num_requests_running a\n# HELP vllm:num_requests_running b\n",
		telemetry.ServerReading{Engine: "vllm", Running: new(1.0)}},
	"a last line without its end may be cut": {"vllm:num_requests_running 1\nvllm:num_requests_waiting 12", telemetry.ServerReading{Engine: "vllm", Running: new(1.0)}},
	"an endless line is left out":            {"vllm:x{a=\"" + strings.Repeat("y", 3*maxLineBytes) + "\"} 1\nvllm:num_requests_running 1\n", telemetry.ServerReading{Engine: "vllm", Running: new(1.0)}},
}

func readText(text string, wanted map[string]bool) (metricsPage, error) {
	kept, err := filter(strings.NewReader(text), wanted)
	if err != nil {
		return metricsPage{}, err
	}
	return parsePage(kept)
}

func TestReadServer(t *testing.T) {
	for name, c := range pages {
		p, err := readText(c.text, serverNames)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := readServer(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, text := range []string{"", "process_cpu_seconds_total 3\n", "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"3\"} 1\n", "{\"error\": \"no\"}\n"} {
		p, err := readText(text, serverNames)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if r, err := readServer(p); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestFilterBounds(t *testing.T) {
	wanted := strings.Repeat("vllm:num_requests_running 1\n", maxKeptBytes/28+10)
	if _, err := readText(wanted, serverNames); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%d bytes of what is looked for: %v", len(wanted), err)
	}
	other := strings.NewReader(strings.Repeat("x 1\n", maxPageBytes/4+10))
	if _, err := filter(other, serverNames); err == nil || other.Len() > maxLineBytes {
		t.Errorf("a page of %d bytes: %v, %d not read", other.Size(), err, other.Len())
	}
}

const dcgm = `# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-b",device="nvidia1",modelName="NVIDIA H100",Hostname="h"} 1980
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA H100",Hostname="h"} 1755
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 97
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 0.81
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 0.2
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 640.5
DCGM_FI_DEV_POWER_MGMT_LIMIT{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 700
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 5000
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 70000
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 11000
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 61
DCGM_FI_DEV_MEM_CLOCK{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 9.22337203685478e+18
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0",UUID="GPU-a",modelName="NVIDIA H100"} 68
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="1",UUID="GPU-b",modelName="NVIDIA H100"} 1
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-b",GPU_I_ID="3",modelName="NVIDIA H100"} 10
`

func TestReadGPUs(t *testing.T) {
	p, err := readText(dcgm, gpuNames)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readGPUs(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []telemetry.GPUReading{
		{GPU: "0", UUID: "GPU-a", Name: "NVIDIA H100", Busy: new(0.97), TensorActive: new(0.2), DRAMActive: new(0.81), PowerW: new(640.5), PowerLimitW: new(700.0), EnergyJ: new(5.0),
			SMClock: new(1755.0), UsedMiB: new(70000.0), TotalMiB: new(81000.0), Temperature: new(61.0), Throttled: []string{"sw_power_cap", "hw_thermal"}},
		{GPU: "1", UUID: "GPU-b", Name: "NVIDIA H100", SMClock: new(1980.0), Unthrottled: true},
		{GPU: "1:3", UUID: "GPU-b", Name: "NVIDIA H100", UsedMiB: new(10.0)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := readGPUs(metricsPage{}); err == nil {
		t.Errorf("of nothing: %+v", got)
	}
}

func FuzzPage(f *testing.F) {
	for _, c := range pages {
		f.Add([]byte(c.text[:min(len(c.text), 4000)]))
	}
	f.Add([]byte(dcgm))
	f.Add([]byte("vllm:num_requests_running{a=\"b\\\"\"} 1 1700000000\n# HELP vllm:num_requests_running\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, wanted := range []map[string]bool{serverNames, gpuNames} {
			p, err := readText(string(text), wanted)
			if err != nil {
				continue
			}
			for _, s := range p.series {
				if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
					t.Errorf("%+v", s)
				}
			}
			if r, err := readServer(p); err == nil && r.Engine == "" {
				t.Errorf("%+v", r)
			}
			if gpus, err := readGPUs(p); err == nil && len(gpus) == 0 {
				t.Error("no GPU, and no error")
			}
		}
	})
}

// bigPage is what a vLLM with four engines says: some 150 kB, of which five histograms and the counters are read.
func bigPage() string {
	var b strings.Builder
	for engine := range 4 {
		for h := range 20 {
			name := fmt.Sprintf("vllm:histogram_%d", h)
			if h < len(engineHistograms) {
				name = strings.Replace(engineHistograms[h][0], "_", ":", 1)
			}
			for le := range 22 {
				fmt.Fprintf(&b, "%s_bucket{engine=\"%d\",le=\"%d\",model_name=\"a/model\"} 3\n", name, engine, le)
			}
			fmt.Fprintf(&b, "%s_sum{engine=\"%d\",model_name=\"a/model\"} 3\n%s_count{engine=\"%d\",model_name=\"a/model\"} 3\n", name, engine, name, engine)
		}
		b.WriteString(strings.ReplaceAll(withoutComments(pages["vllm"].text), `engine="0"`, fmt.Sprintf(`engine="%d"`, engine)))
	}
	return b.String()
}

func withoutComments(text string) (out string) {
	for line := range strings.Lines(text) {
		if line[0] != '#' {
			out += line
		}
	}
	return out
}

// BenchmarkPage is the client's part of a sample: what comes after the bytes.
func BenchmarkPage(b *testing.B) {
	text := bigPage()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := readText(text, serverNames)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := readServer(p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPageUnfiltered is the same without the scan: what the parser alone would cost.
func BenchmarkPageUnfiltered(b *testing.B) {
	text := []byte(bigPage())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parsePage(text); err != nil {
			b.Fatal(err)
		}
	}
}
