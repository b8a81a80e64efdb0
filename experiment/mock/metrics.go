package mock

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// metrics answers GET /metrics with vLLM's names, written by hand to check the client's parser.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.mu.Lock()
	text := s.metricsText()
	s.mu.Unlock()
	w.Write(text)
}

// queueLength is the number of requests in the queue. The caller holds the lock.
func (s *Server) queueLength() int {
	if s.sim == nil {
		return s.counters.waiting
	}
	return s.sim.queueLength(time.Since(s.start))
}

// queueLength is what an engine reports at a time: without the requests that a front end still has.
func (e *simulated) queueLength(now time.Duration) int {
	early := 0
	for _, q := range e.waiting {
		if q.queued > now {
			early++
		}
	}
	return e.counters.waiting - early
}

// metricsText is the content of /metrics. The caller holds the lock.
func (s *Server) metricsText() []byte {
	e := exposition{labels: fmt.Sprintf(`engine="0",model_name=%q`, s.cfg.Model)}
	l := s.counters
	e.single("gauge", "num_requests_running", "Requests in the running batch.", float64(l.running))
	e.single("gauge", "num_requests_waiting", "Requests in the queue.", float64(s.queueLength()))
	e.single("gauge", "kv_cache_usage_perc", "KV cache in use; 1 is all of it.", s.kvUsage())
	e.family("gauge", "cache_config_info", "The KV cache, in labels.")
	fmt.Fprintf(&e, "vllm:cache_config_info{%s} 1\n", s.cacheLabels())
	e.single("counter", "prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.",
		float64(l.queried))
	e.single("counter", "prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", float64(l.hit))
	e.family("counter", "prompt_tokens_cached_by_source_total", "Cached prompt tokens by the tier that had them.")
	for _, tier := range []struct {
		source string
		hits   int
	}{{"device", l.hit}, {"host", l.offloadHit}, {source: "p2p"}, {source: "disk"}, {source: "external_unspecified"}} {
		fmt.Fprintf(&e, "vllm:prompt_tokens_cached_by_source_total{%s,source=%q} %d\n", e.labels, tier.source, tier.hits)
	}
	if s.sim != nil && s.sim.offload != nil {
		s.exposeOffload(&e)
	}
	e.single("counter", "num_preemptions_total", "Preemptions of requests.", float64(l.preemptions))
	e.single("counter", "prompt_tokens_total", "Prompt tokens processed.", float64(l.prompt))
	e.single("counter", "generation_tokens_total", "Tokens generated.", float64(l.generated))
	if len(l.adapters) > 0 {
		l.exposeAdapters(&e)
	}
	if len(l.accepted) > 0 {
		l.exposeSpeculation(&e)
	}
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
	return e.Bytes()
}

func (s *Server) cacheLabels() string {
	caching, blocks := "False", 0
	if s.sim != nil {
		caching, blocks = "True", s.sim.pool.Capacity()
	}
	labels := fmt.Sprintf("block_size=\"%d\",enable_prefix_caching=\"%s\",engine=\"0\",num_gpu_blocks=\"%d\"",
		s.cfg.BlockSize, caching, blocks)
	if s.sim != nil && s.sim.offload != nil {
		labels += fmt.Sprintf(",kv_offloading_size=\"%g\",num_cpu_blocks=\"%d\"", s.cfg.KVOffloadingGB,
			s.sim.offload.tier.Capacity())
	}
	return labels
}

func (s *Server) exposeOffload(e *exposition) {
	l, o := s.counters, s.sim.offload
	e.single("counter", "external_prefix_cache_queries_total", "Prompt tokens looked up in the second tier.",
		float64(l.offloadQueried))
	e.single("counter", "external_prefix_cache_hits_total", "Prompt tokens found in the second tier.",
		float64(l.offloadHit))
	e.single("gauge", "kv_offload_cpu_cache_usage_perc", "Second tier in use; 1 is all of it.",
		float64(o.tier.Len())/float64(o.tier.Capacity()))
	e.single("counter", "kv_offload_load_bytes_total", "Bytes loaded from the second tier.",
		float64(o.loaded)*o.blockBytes)
	e.single("counter", "kv_offload_store_bytes_total", "Bytes stored in the second tier.",
		float64(o.tier.Stored())*o.blockBytes)
}

func (s *Server) kvUsage() float64 {
	if s.sim == nil {
		return 0
	}
	return float64(s.sim.pool.Used()) / float64(s.sim.pool.Capacity())
}

type exposition struct {
	bytes.Buffer
	labels string // of every series
}

func (e *exposition) family(kind, name, help string) {
	fmt.Fprintf(e, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, kind)
}

func (e *exposition) single(kind, name, help string, v float64) {
	e.family(kind, name, help)
	fmt.Fprintf(e, "vllm:%s{%s} %g\n", name, e.labels, v)
}

func (e *exposition) histogram(name, help string, h *histogram) {
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
