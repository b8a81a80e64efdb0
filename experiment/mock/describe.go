package mock

import (
	"fmt"
	"net/http"
	"strings"
)

// Describe says in a line what s simulates.
func (s *Server) Describe() string {
	c := s.cfg
	what := c.Model + ", simulated " + c.source()
	if !c.fixed() {
		what += fmt.Sprintf("; %d sequences, %d tokens a step, %d KV blocks", c.MaxNumSeqs, c.MaxNumBatchedTokens, c.KVBlocks)
	}
	for _, more := range []struct {
		given bool
		text  string
	}{
		{!c.fixed() && c.KVOffloadingGB > 0, fmt.Sprintf("%g GB of second tier at %g GB/s", c.KVOffloadingGB, c.KVOffloadingGBs)},
		{c.Drift != "", "drifting by " + c.Drift},
		{len(c.Faults) > 0, "faults: " + strings.Join(c.Faults, ", ")},
	} {
		if more.given {
			what += "; " + more.text
		}
	}
	return what
}

// source is where the times come from.
func (c Config) source() string {
	switch {
	case c.fixed():
		slots := "no slot limit"
		if c.MaxNumSeqs > 0 {
			slots = fmt.Sprintf("%d slots", c.MaxNumSeqs)
		}
		return fmt.Sprintf("with fixed times: first token after %v, then one every %v, %s", c.TTFT, c.ITL, slots)
	case c.Hardware != "":
		precision := c.Precision
		if precision == "" {
			precision = "the precision it is published in"
		}
		return fmt.Sprintf("on %d × %s in %s: a step takes what its memory reads and operations do by roofline arithmetic", c.GPUs, c.Hardware, precision)
	}
	return fmt.Sprintf("by its steps: %v + %v per decoding sequence + %v per context token + %v per prompt token",
		c.StepBase, c.StepPerSeq, c.StepPerContextToken, c.StepPerPrefillToken)
}

// debug answers GET /debug: what is simulated, in words and as the configuration with its defaults filled in.
func (s *Server) debug(w http.ResponseWriter, _ *http.Request) {
	answer := map[string]any{"simulates": s.Describe(), "config": s.cfg, "lateness": s.Lateness()}
	if !s.cfg.fixed() {
		answer["kv_cache_tokens"] = s.cfg.KVTokens()
	}
	writeJSON(w, answer)
}
