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
	if !c.fixed() {
		what += fmt.Sprintf("; %d sequences, %d tokens per step, %d KV blocks", c.MaxNumSeqs, c.MaxNumBatchedTokens,
			c.KVBlocks)
	}
	for _, more := range []struct {
		given bool
		text  string
	}{
		{!c.fixed() && c.KVOffloadingGB > 0, fmt.Sprintf("%g GB of second tier at %g GB/s", c.KVOffloadingGB,
			c.KVOffloadingGBs)},
		{c.Speculation.Tokens > 0, fmt.Sprintf("%d drafts a step, accepted with %g", c.Speculation.Tokens,
			c.Speculation.Acceptance)},
		{len(c.adapterNames()) > 0, "adapters " + strings.Join(c.adapterNames(), ", ")},
		{c.Schedule != "" && c.Schedule != fcfs, c.Schedule + " by " + TenantHeader},
		{c.Drift != "", "drift " + c.Drift},
		{len(c.Faults) > 0, "faults: " + strings.Join(c.Faults, ", ")},
	} {
		if more.given {
			what += "; " + more.text
		}
	}
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
