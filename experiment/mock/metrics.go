package mock

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"bench/experiment/mock/kv"
)

// metrics answers GET /metrics in Prometheus' text format with vLLM's names.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.mu.Lock()
	text := s.exposition()
	s.mu.Unlock()
	w.Write(text)
}

// exposition is the text of /metrics; the lock is held.
func (s *Server) exposition() []byte {
	e := exposer{labels: fmt.Sprintf(`engine="0",model_name=%q`, s.cfg.Model)}
	l := s.books
	e.single("gauge", "num_requests_running", "Requests in the running batch.", float64(l.running))
	e.single("gauge", "num_requests_waiting", "Requests in the queue.", float64(l.waiting))
	e.single("gauge", "kv_cache_usage_perc", "KV cache in use; 1 is all of it.", s.kvUsage())
	e.family("gauge", "cache_config_info", "The KV cache, in labels.")
	fmt.Fprintf(&e, "vllm:cache_config_info{%s} 1\n", s.cacheLabels())
	e.single("counter", "prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", float64(l.queried))
	e.single("counter", "prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", float64(l.hit))
	if s.sim != nil && s.sim.second != nil {
		s.exposeSecond(&e)
	}
	e.single("counter", "num_preemptions_total", "How often a request lost its place and its blocks.", float64(l.preemptions))
	e.single("counter", "prompt_tokens_total", "Prompt tokens processed.", float64(l.prompt))
	e.single("counter", "generation_tokens_total", "Tokens generated.", float64(l.generated))
	e.family("counter", "request_success_total", "Finished requests.")
	for _, reason := range slices.Sorted(maps.Keys(l.finished)) {
		fmt.Fprintf(&e, "vllm:request_success_total{%s,finished_reason=%q} %d\n", e.labels, reason, l.finished[reason])
	}
	e.histogram("time_to_first_token_seconds", "Arrival to first token.", &l.ttft)
	e.histogram("inter_token_latency_seconds", "Token to next token.", &l.itl)
	e.histogram("request_time_per_output_token_seconds", "Mean time between a request's tokens.", &l.tpot)
	e.histogram("e2e_request_latency_seconds", "Arrival to last token.", &l.e2e)
	e.histogram("request_queue_time_seconds", "Arrival to admission.", &l.queue)
	e.histogram("request_prefill_time_seconds", "Admission to first token.", &l.prefill)
	e.histogram("request_decode_time_seconds", "First token to last token.", &l.decode)
	e.histogram("request_inference_time_seconds", "Admission to last token.", &l.inference)
	e.histogram("iteration_tokens_total", "Tokens computed in a step.", &l.stepTokens)
	e.histogram("request_prompt_tokens", "Prompt tokens of a request.", &l.promptLen)
	e.histogram("request_generation_tokens", "Output tokens of a request.", &l.outputLen)
	return e.text
}

// cacheLabels are those of cache_config_info. With fixed times there is no cache.
func (s *Server) cacheLabels() string {
	caching, blocks := "False", 0
	if s.sim != nil {
		caching, blocks = "True", s.sim.pool.Capacity()
	}
	labels := fmt.Sprintf("block_size=\"%d\",enable_prefix_caching=\"%s\",engine=\"0\",num_gpu_blocks=\"%d\"", kv.BlockTokens, caching, blocks)
	if s.sim != nil && s.sim.second != nil {
		labels += fmt.Sprintf(",kv_offloading_size=\"%g\",num_cpu_blocks=\"%d\"", s.cfg.KVOffloadingGB, s.sim.second.tier.Capacity())
	}
	return labels
}

// exposeSecond is the second tier under the names of vLLM's offloading connector.
func (s *Server) exposeSecond(e *exposer) {
	l, two := s.books, s.sim.second
	e.single("counter", "external_prefix_cache_queries_total", "Prompt tokens looked up in the second tier.", float64(l.queriedTwo))
	e.single("counter", "external_prefix_cache_hits_total", "Prompt tokens found in the second tier.", float64(l.hitTwo))
	e.single("gauge", "kv_offload_cpu_cache_usage_perc", "Second tier in use; 1 is all of it.", float64(two.tier.Len())/float64(two.tier.Capacity()))
	e.single("counter", "kv_offload_load_bytes_total", "Bytes loaded from the second tier.", float64(two.loads)*two.bytes)
	e.single("counter", "kv_offload_store_bytes_total", "Bytes stored in the second tier.", float64(two.tier.Stored())*two.bytes)
}

// kvUsage is the share of the KV cache that requests hold.
func (s *Server) kvUsage() float64 {
	if s.sim == nil {
		return 0
	}
	return float64(s.sim.pool.Used()) / float64(s.sim.pool.Capacity())
}

// exposer collects metric families.
type exposer struct {
	text   []byte
	labels string
}

var _ io.Writer = (*exposer)(nil)

func (e *exposer) Write(p []byte) (int, error) {
	e.text = append(e.text, p...)
	return len(p), nil
}

func (e *exposer) family(kind, name, help string) {
	fmt.Fprintf(e, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, kind)
}

func (e *exposer) single(kind, name, help string, v float64) {
	e.family(kind, name, help)
	fmt.Fprintf(e, "vllm:%s{%s} %g\n", name, e.labels, v)
}

func (e *exposer) histogram(name, help string, h *histogram) {
	e.family("histogram", name, help)
	n := 0
	for i, count := range h.counts {
		n += count
		le := "+Inf"
		if i < len(h.bounds) {
			le = fmt.Sprintf("%g", h.bounds[i])
		}
		fmt.Fprintf(e, "vllm:%s_bucket{%s,le=%q} %d\n", name, e.labels, le, n)
	}
	fmt.Fprintf(e, "vllm:%s_sum{%s} %g\nvllm:%s_count{%s} %d\n", name, e.labels, h.sum, name, e.labels, n)
}
