package mock

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

func (s *Server) Describe() string {
	c := s.cfg
	what := c.Model + ", simulated " + c.source()
	add := func(given bool, format string, args ...any) {
		if given {
			what += "; " + fmt.Sprintf(format, args...)
		}
	}
	adapters := strings.Join(c.adapterNames(), ", ")
	add(!c.fixed(), "%d sequences, %d tokens per step, %d KV blocks", c.MaxNumSeqs, c.MaxNumBatchedTokens, c.KVBlocks)
	add(!c.fixed() && c.KVOffloadingGB > 0, "%g GB of second tier at %g GB/s", c.KVOffloadingGB, c.KVOffloadingGBs)
	add(c.Speculation.Tokens > 0, "%d drafts a step, accepted with %g", c.Speculation.Tokens, c.Speculation.Acceptance)
	add(adapters != "", "adapters %s", adapters)
	add(c.Schedule != "" && c.Schedule != fcfs, "%s by %s", c.Schedule, TenantHeader)
	add(c.Drift != "", "drift %s", c.Drift)
	add(len(c.Faults) > 0, "faults: %s", strings.Join(c.Faults, ", "))
	return what
}

func (c Config) source() string {
	switch {
	case c.fixed():
		limit := "no limit of running sequences"
		if c.MaxNumSeqs > 0 {
			limit = fmt.Sprintf("max_num_seqs %d", c.MaxNumSeqs)
		}
		return fmt.Sprintf("with fixed times: first token after %v, then one every %v, %s", c.TTFT, c.ITL, limit)
	case c.Hardware != "":
		return fmt.Sprintf("on %d × %s in %s: step times by roofline arithmetic", c.GPUs, c.Hardware,
			cmp.Or(c.Precision, "its published precision"))
	}
	return fmt.Sprintf("with steps of %v + %v per decoding sequence + %v per context token + %v per prompt token",
		c.StepBase, c.StepPerSeq, c.StepPerContextToken, c.StepPerPrefillToken)
}

func (s *Server) debug(w http.ResponseWriter, _ *http.Request) {
	answer := map[string]any{"simulates": s.Describe(), "config": s.cfg}
	if !s.cfg.fixed() {
		answer["kv_cache_tokens"] = s.cfg.KVTokens()
	}
	writeJSON(w, answer)
}
