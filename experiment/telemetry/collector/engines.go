package collector

import (
	"bench/experiment/telemetry"
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// figure is one figure with the names that it has had, the best first. A name may demand a label: name{label=value}.
type figure struct {
	of    func(*telemetry.ServerReading) **float64
	most  bool // of several engines the largest counts; else their sum
	names []string
}

// figures are the names of vLLM (V0, V1 and its forms under Ray), SGLang, TGI, TensorRT-LLM (trtllm-serve and under Triton) and
// llama.cpp, colons turned into underscores. SGLang looks every prompt token up, so its prompts are its queries.
var figures = []figure{
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Running }, names: []string{"vllm_num_requests_running", "sglang_num_running_reqs", "tgi_batch_current_size",
		"trtllm_num_requests_running", "nv_trt_llm_request_metrics{request_type=active}", "llamacpp_requests_processing"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Waiting }, names: []string{"vllm_num_requests_waiting", "sglang_num_queue_reqs", "tgi_queue_size",
		"trtllm_num_requests_waiting", "nv_trt_llm_request_metrics{request_type=waiting}", "llamacpp_requests_deferred"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.KVUsage }, most: true, names: []string{"vllm_kv_cache_usage_perc", "vllm_gpu_cache_usage_perc", "sglang_token_usage",
		"trtllm_kv_cache_utilization", "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=fraction}", "llamacpp_kv_cache_usage_ratio"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.KVCapacity }, names: []string{"sglang_max_total_num_tokens"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Preemptions }, names: []string{"vllm_num_preemptions_total", "sglang_num_retracted_requests_total", "sglang_num_retracted_reqs_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.PrefixQueries }, names: []string{"vllm_prefix_cache_queries_total", "vllm_gpu_prefix_cache_queries_total", "sglang_prompt_tokens_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.PrefixHits }, names: []string{"vllm_prefix_cache_hits_total", "vllm_gpu_prefix_cache_hits_total", "sglang_cached_tokens_total",
		"llamacpp_prompt_tokens_cached_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.HitRate }, most: true, names: []string{"vllm_gpu_prefix_cache_hit_rate", "sglang_cache_hit_rate", "trtllm_kv_cache_hit_rate"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Prompt }, names: []string{"vllm_prompt_tokens_total", "sglang_prompt_tokens_total", "tgi_request_input_length_sum",
		"llamacpp_prompt_tokens_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Generated }, names: []string{"vllm_generation_tokens_total", "sglang_generation_tokens_total", "tgi_request_generated_tokens_sum",
		"llamacpp_tokens_predicted_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Drafts }, names: []string{"vllm_spec_decode_num_drafts_total", "llamacpp_spec_decode_num_drafts_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Drafted }, names: []string{"vllm_spec_decode_num_draft_tokens_total", "llamacpp_spec_decode_num_draft_tokens_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.Accepted }, names: []string{"vllm_spec_decode_num_accepted_tokens_total", "llamacpp_spec_decode_num_accepted_tokens_total"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.AcceptLength }, most: true, names: []string{"sglang_spec_accept_length", "trtllm_spec_decode_acceptance_length"}},
	{of: func(r *telemetry.ServerReading) **float64 { return &r.AcceptRate }, most: true, names: []string{"sglang_spec_accept_rate", "vllm_spec_decode_draft_acceptance_rate"}},
}

// cacheConfig has the size of vLLM's KV cache in its labels.
const cacheConfig = "vllm_cache_config_info"

// serverNames are all that a server's page is searched for.
var serverNames = func() map[string]bool {
	out := map[string]bool{cacheConfig: true}
	for _, f := range figures {
		for _, n := range f.names {
			name, _, _ := strings.Cut(n, "{")
			out[name] = true
		}
	}
	return out
}()

// engines are known by how their names begin.
var engines = []struct{ prefix, name string }{
	{"vllm_", "vllm"}, {"sglang_", "sglang"}, {"tgi_", "tgi"}, {"trtllm_", "trtllm"}, {"nv_trt_llm_", "triton"}, {"llamacpp_", "llamacpp"},
}

// readServer finds the figures on a page.
func readServer(p page) (*telemetry.ServerReading, error) {
	r := &telemetry.ServerReading{}
	for _, f := range figures {
		for _, n := range f.names {
			v, ok := f.find(p, n)
			if !ok {
				continue
			}
			*f.of(r) = &v
			r.Engine = cmp.Or(r.Engine, engineOf(n))
			break
		}
	}
	if r.Engine == "" {
		return nil, errors.New("no metric of a known engine")
	}
	if r.KVCapacity == nil {
		r.KVCapacity = configured(p)
	}
	addCachedPrompts(r)
	r.PrefixUnit = prefixUnit(r, p)
	return r, nil
}

// lookedUp adds the cached tokens to llama.cpp's prompts, which are only those that were computed: vLLM and SGLang count both, and
// every prompt token is looked up.
func addCachedPrompts(r *telemetry.ServerReading) {
	if r.Engine == "llamacpp" && r.Prompt != nil && r.PrefixHits != nil {
		all := *r.Prompt + *r.PrefixHits
		r.Prompt, r.PrefixQueries = &all, new(all)
	}
}

// name notes whose name a metric has.
func engineOf(metric string) string {
	for _, e := range engines {
		if strings.HasPrefix(metric, e.prefix) {
			return e.name
		}
	}
	return ""
}

// unit says what the prefix cache counts: early versions of vLLM V1 counted blocks, and say so.
func prefixUnit(r *telemetry.ServerReading, p page) string {
	_, current := (figure{}).find(p, "vllm_prefix_cache_queries_total")
	switch {
	case r.PrefixQueries == nil:
		return ""
	case !current && strings.Contains(p.help["vllm_gpu_prefix_cache_queries_total"], "block"):
		return "blocks"
	}
	return "tokens"
}

// find puts the series of a name together.
func (f figure) find(p page, name string) (v float64, ok bool) {
	name, label, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	key, want, _ := strings.Cut(label, "=")
	for _, s := range p.series {
		switch {
		case s.name != name || s.labels[key] != want || !firstRank(s):
		case !ok:
			v, ok = s.value, true
		case f.most:
			v = max(v, s.value)
		default:
			v += s.value
		}
	}
	return v, ok
}

// firstRank leaves out the other ranks of one engine, which tell of the same requests.
func firstRank(s series) bool {
	for _, label := range []string{"tp_rank", "pp_rank"} {
		if rank, there := s.labels[label]; there && rank != "0" {
			return false
		}
	}
	return true
}

// configured is the size of vLLM's KV cache in tokens, over its engines.
func configured(p page) *float64 {
	var sum float64
	for _, s := range p.series {
		if s.name != cacheConfig {
			continue
		}
		size, err1 := strconv.ParseFloat(s.labels["block_size"], 64)
		blocks, err2 := strconv.ParseFloat(s.labels["num_gpu_blocks"], 64)
		if err1 != nil || err2 != nil || !(size*blocks > 0) {
			return nil // "None" until the cache is laid out
		}
		sum += size * blocks
	}
	if sum == 0 || sum > 1e15 {
		return nil
	}
	return &sum
}
