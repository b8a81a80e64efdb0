package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/telemetry"
)

// engineMetric is one figure with its metric names, the preferred first. A name can require a label:
// name{label=value}, or name{label=prefix*}.
type engineMetric struct {
	figure string // its name in a telemetry.ServerReading
	names  []string
}

// engineMetrics are the names of vLLM (V0, V1, and under Ray), SGLang, TGI, TensorRT-LLM (trtllm-serve, and
// under Triton) and llama.cpp, with underscores for colons. SGLang looks up every prompt token, so its prompt
// tokens are its queries.
var engineMetrics = []engineMetric{
	{"running", []string{"vllm_num_requests_running", "sglang_num_running_reqs", "tgi_batch_current_size",
		"trtllm_num_requests_running", "nv_trt_llm_request_metrics{request_type=active}",
		"llamacpp_requests_processing"}},
	{"waiting", []string{"vllm_num_requests_waiting", "sglang_num_queue_reqs", "tgi_queue_size",
		"trtllm_num_requests_waiting", "nv_trt_llm_request_metrics{request_type=waiting}",
		"llamacpp_requests_deferred"}},
	{"kv_usage", []string{"vllm_kv_cache_usage_perc", "vllm_gpu_cache_usage_perc", "sglang_token_usage",
		"trtllm_kv_cache_utilization", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}",
		"llamacpp_kv_cache_usage_ratio"}},
	{"kv_capacity_tokens", []string{"sglang_max_total_num_tokens"}},
	{"preemptions", []string{"vllm_num_preemptions_total", "sglang_num_retracted_requests_total",
		"sglang_num_retracted_reqs_total"}},
	{"prefix_queries", []string{"vllm_prefix_cache_queries_total", "vllm_gpu_prefix_cache_queries_total",
		"sglang_prompt_tokens_total"}},
	{"prefix_hits", []string{"vllm_prefix_cache_hits_total", "vllm_gpu_prefix_cache_hits_total",
		"sglang_cached_tokens_total", "llamacpp_prompt_tokens_cached_total"}},
	{"prefix_hits_by_tier.gpu", []string{"vllm_prompt_tokens_cached_by_source_total{source=device}",
		"sglang_cached_tokens_total{cache_source=device}"}},
	{"prefix_hits_by_tier.host", []string{"vllm_prompt_tokens_cached_by_source_total{source=host}",
		"sglang_cached_tokens_total{cache_source=host}"}},
	{"prefix_hits_by_tier.p2p", []string{"vllm_prompt_tokens_cached_by_source_total{source=p2p}"}},
	{"prefix_hits_by_tier.disk", []string{"vllm_prompt_tokens_cached_by_source_total{source=disk}",
		"sglang_cached_tokens_total{cache_source=storage_*}"}},
	{"prefix_hits_by_tier.external", []string{
		"vllm_prompt_tokens_cached_by_source_total{source=external_unspecified}",
		"vllm_external_prefix_cache_hits_total"}},
	{"prefix_hit_rate", []string{"vllm_gpu_prefix_cache_hit_rate", "sglang_cache_hit_rate",
		"trtllm_kv_cache_hit_rate"}},
	{"prompt_tokens", []string{"vllm_prompt_tokens_total", "sglang_prompt_tokens_total",
		"tgi_request_input_length_sum", "llamacpp_prompt_tokens_total"}},
	{"generation_tokens", []string{"vllm_generation_tokens_total", "sglang_generation_tokens_total",
		"tgi_request_generated_tokens_sum", "llamacpp_tokens_predicted_total"}},
	{"requests", []string{"vllm_request_success_total", "sglang_num_requests_total", "tgi_request_success",
		"trtllm_request_success_total"}},
	{"aborted", []string{"vllm_request_success_total{finished_reason=abort}", "sglang_num_aborted_requests_total"}},
	{"drafts", []string{"vllm_spec_decode_num_drafts_total", "llamacpp_spec_decode_num_drafts_total"}},
	{"draft_tokens", []string{"vllm_spec_decode_num_draft_tokens_total",
		"llamacpp_spec_decode_num_draft_tokens_total"}},
	{"accepted_tokens", []string{"vllm_spec_decode_num_accepted_tokens_total",
		"llamacpp_spec_decode_num_accepted_tokens_total"}},
	{"acceptance_length", []string{"sglang_spec_accept_length", "trtllm_spec_decode_acceptance_length"}},
	{"acceptance_rate", []string{"sglang_spec_accept_rate", "vllm_spec_decode_draft_acceptance_rate"}},
}

const acceptedAt = "vllm_spec_decode_num_accepted_tokens_per_pos_total"

const cacheConfig = "vllm_cache_config_info"

var serverNames = func() map[string]bool {
	out := map[string]bool{cacheConfig: true, sglangConfig: true, acceptedAt: true}
	for _, f := range append(engineMetrics, blockGauges) {
		for _, n := range f.names {
			name, _, _ := strings.Cut(n, "{")
			out[name] = true
		}
	}
	for name := range histogramSeries {
		out[name] = true
	}
	return out
}()

var engines = []struct{ prefix, name string }{
	{"vllm_", "vllm"}, {"sglang_", "sglang"}, {"tgi_", "tgi"}, {"trtllm_", "trtllm"}, {"nv_trt_llm_", "triton"},
	{"llamacpp_", "llamacpp"},
}

func readServer(p metricsPage) (*telemetry.ServerReading, error) {
	r := &telemetry.ServerReading{}
	for _, f := range engineMetrics {
		for _, n := range f.names {
			v, ok := f.find(p, n)
			if !ok {
				continue
			}
			*r.Figure(f.figure) = &v
			r.Engine = cmp.Or(r.Engine, engineOf(n))
			break
		}
	}
	if r.Engine == "" {
		return nil, errors.New("no metric of a known engine")
	}
	if r.KVCapacity == nil {
		r.KVCapacity = cacheCapacity(p)
	}
	r.CacheBlock = cacheBlock(p)
	r.AcceptedAt = acceptedByPosition(p)
	addCachedPrompts(r)
	r.Times = readTimes(p, r.Engine)
	if r.Tiers.External != nil && r.Tiers.GPU == nil { // older vLLM: its own prefix cache is then the tier above
		r.Tiers.GPU = r.PrefixHits
	}
	r.PrefixUnit = prefixUnit(r, p)
	return r, nil
}

// addCachedPrompts adds the cached tokens to llama.cpp's prompt tokens, which count computed tokens only.
// vLLM and SGLang count both. Every prompt token is looked up.
func addCachedPrompts(r *telemetry.ServerReading) {
	if r.Engine == "llamacpp" && r.Prompt != nil && r.PrefixHits != nil {
		all := *r.Prompt + *r.PrefixHits
		r.Prompt, r.PrefixQueries = &all, new(all)
	}
}

func engineOf(metric string) string {
	for _, e := range engines {
		if strings.HasPrefix(metric, e.prefix) {
			return e.name
		}
	}
	return ""
}

// prefixUnit: early versions of vLLM V1 counted blocks, according to their help text.
func prefixUnit(r *telemetry.ServerReading, p metricsPage) string {
	_, current := (engineMetric{}).find(p, "vllm_prefix_cache_queries_total")
	switch {
	case r.PrefixQueries == nil:
		return ""
	case !current && strings.Contains(p.help["vllm_gpu_prefix_cache_queries_total"], "block"):
		return "blocks"
	}
	return "tokens"
}

func (f engineMetric) find(p metricsPage, name string) (v float64, ok bool) {
	name, label, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	key, want, _ := strings.Cut(label, "=")
	for _, s := range p.series {
		switch {
		case s.name != name || !matches(s.labels[key], want) || !firstRank(s):
		case !ok:
			v, ok = s.value, true
		case slices.Contains(telemetry.Largest, f.figure):
			v = max(v, s.value)
		default:
			v += s.value
		}
	}
	return v, ok
}

// matches reports whether a label has the wanted value; "prefix*" wants its beginning.
func matches(label, want string) bool {
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(label, prefix)
	}
	return label == want
}

// firstRank excludes the other ranks of an engine, which report the same requests.
func firstRank(s series) bool {
	for _, label := range []string{"tp_rank", "pp_rank"} {
		if rank, there := s.labels[label]; there && rank != "0" {
			return false
		}
	}
	return true
}

const mostPositions = 64

func acceptedByPosition(p metricsPage) (out []float64) {
	for i := range mostPositions {
		n, ok := (engineMetric{}).find(p, fmt.Sprintf("%s{position=%d}", acceptedAt, i))
		if !ok {
			break
		}
		out = append(out, n)
	}
	return out
}

func cacheCapacity(p metricsPage) *float64 {
	var sum float64
	for _, s := range p.series {
		if s.name != cacheConfig {
			continue
		}
		size, err1 := strconv.ParseFloat(s.labels["block_size"], 64)
		blocks, err2 := strconv.ParseFloat(s.labels["num_gpu_blocks"], 64)
		if err1 != nil || err2 != nil || !(size*blocks > 0) {
			return nil // "None" until the cache is allocated
		}
		sum += size * blocks
	}
	if sum == 0 || sum > 1e15 {
		return nil
	}
	return &sum
}

// sglangConfig has the page size of SGLang's KV cache in its labels; later versions have a gauge.
const sglangConfig = "sglang_cache_config_info"

var blockGauges = engineMetric{"prefix_cache_block_tokens", []string{"sglang_page_size",
	"trtllm_kv_cache_tokens_per_block", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=tokens_per}"}}

// blockLabels are the labels of info metrics with that size. vLLM's blocks are larger than block_size with a
// decode context parallel size; hybrid models find hits in other steps.
var blockLabels = map[string][]string{
	cacheConfig:  {"block_size", "effective_attention_block_size"},
	sglangConfig: {"page_size"},
}

// hitAlignment is the label of vLLM's cache_config_info that has precedence if it is a number.
const hitAlignment = "cache_hit_alignment_tokens"

// cacheBlock is the size in tokens of the blocks in which the server's prefix cache finds prompts, the largest of
// several engines; nil: not reported.
func cacheBlock(p metricsPage) *float64 {
	size := 0
	for _, s := range p.series {
		own := positiveInt(s.labels[hitAlignment])
		if own == 0 {
			for _, label := range blockLabels[s.name] {
				own = max(own, positiveInt(s.labels[label]))
			}
		}
		size = max(size, own)
	}
	for _, name := range blockGauges.names {
		if v, ok := blockGauges.find(p, name); ok && v >= 1 && v <= maxBlock {
			size = max(size, int(v))
		}
	}
	if size == 0 {
		return nil
	}
	return new(float64(size))
}

// maxBlock bounds a block size that is taken as one.
const maxBlock = 1 << 20

// positiveInt is 0 for a text that is no block size, like "None".
func positiveInt(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxBlock {
		return 0
	}
	return n
}
