package mock

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (c Config) adapterNames() []string { return c.ServedModels[min(1, len(c.ServedModels)):] }

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	card := func(id, root string, parent any) map[string]any {
		return map[string]any{
			"id": id, "object": "model", "created": s.start.Unix(), "owned_by": "bench-mock", "root": root,
			"parent": parent, "max_model_len": s.cfg.MaxModelLen,
			"meta": map[string]any{"n_vocab": s.cfg.Vocab, "n_ctx": s.cfg.MaxModelLen},
		}
	}
	data := []any{card(s.cfg.Model, s.cfg.Root, nil)}
	for _, name := range s.cfg.adapterNames() {
		data = append(data, card(name, name, s.cfg.Model))
	}
	writeJSON(w, map[string]any{"object": "list", "data": data})
}

func (s *responder) adapt(q *seq, model string) {
	if slices.Contains(s.cfg.adapterNames(), model) {
		q.adapter, q.factor = model, s.cfg.Adapters[model]
	}
}

func (q *seq) slowed(d time.Duration) time.Duration {
	return time.Duration(float64(d) * cmp.Or(q.factor, 1))
}

func (l *counters) exposeAdapters(e *exposition) {
	var waiting, running []string
	for _, name := range slices.Sorted(maps.Keys(l.adapters)) {
		load := l.adapters[name]
		if load.waiting > 0 {
			waiting = append(waiting, name)
		}
		if load.running > 0 {
			running = append(running, name)
		}
	}
	e.family("gauge", "lora_requests_info", "Adapters with requests, in labels.")
	fmt.Fprintf(e, "vllm:lora_requests_info{max_lora=\"%d\",running_lora_adapters=%q,waiting_lora_adapters=%q} %d\n",
		len(l.adapters), strings.Join(running, ","), strings.Join(waiting, ","), time.Now().Unix())
}

func (l *counters) exposeSpeculation(e *exposition) {
	accepted := 0
	for _, n := range l.accepted {
		accepted += n
	}
	e.single("counter", "spec_decode_num_drafts_total", "Verifications of drafts.", float64(l.drafts))
	e.single("counter", "spec_decode_num_draft_tokens_total", "Draft tokens.", float64(l.drafted))
	e.single("counter", "spec_decode_num_accepted_tokens_total", "Accepted draft tokens.", float64(accepted))
	e.family("counter", "spec_decode_num_accepted_tokens_per_pos_total", "Accepted draft tokens by position.")
	for i, n := range l.accepted {
		fmt.Fprintf(e, "vllm:spec_decode_num_accepted_tokens_per_pos_total{%s,position=\"%d\"} %d\n", e.labels, i, n)
	}
}
