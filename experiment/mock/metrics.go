package mock

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
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
	blocks := 0
	if s.pool != nil {
		blocks = s.pool.capacity
	}
	fmt.Fprintf(&e, "vllm:cache_config_info{block_size=\"%d\",enable_prefix_caching=\"%s\",engine=\"0\",num_gpu_blocks=\"%d\"} 1\n",
		blockTokens, map[bool]string{true: "True", false: "False"}[s.pool != nil], blocks)
	e.single("counter", "prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", float64(l.queried))
	e.single("counter", "prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", float64(l.hit))
	e.single("counter", "num_preemptions_total", "Requests preempted; never here.", 0)
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
	e.histogram("request_prompt_tokens", "Prompt tokens of a request.", &l.promptLen)
	e.histogram("request_generation_tokens", "Output tokens of a request.", &l.outputLen)
	return e.text
}

// kvUsage is the share of the KV cache that running sequences hold.
func (s *Server) kvUsage() float64 {
	if s.pool == nil {
		return 0
	}
	return float64(s.pool.used) / float64(s.pool.capacity)
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
