package mock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const version = "bench-mock/1"

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/completions", s.generate(completions))
	mux.HandleFunc("POST /v1/chat/completions", s.generate(chat))
	mux.HandleFunc("POST /v1/responses", s.generate(responses))
	mux.HandleFunc("POST /v1/messages", s.generate(messages))
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]string{"version": version})
	})
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("POST /reset_prefix_cache", s.resetPrefixCache)
	mux.HandleFunc("GET /debug", s.debug)
	mux.HandleFunc("GET /debug/requests", s.listRequests)
	mux.HandleFunc("DELETE /debug/requests", s.clearRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", version)
		if time.Since(s.start) < s.cfg.LoadTime {
			(&apiError{status: http.StatusServiceUnavailable, message: "Loading model"}).write(w)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var req request
	bad := decode(r, &req)
	var ids []int32
	if bad == nil && req.Messages.list != nil {
		ids = s.chat(req.Messages.list)
	} else if bad == nil {
		ids, bad = s.ids(req.Prompt)
	}
	if bad != nil {
		bad.write(w)
		return
	}
	writeJSON(w, map[string]any{"count": len(ids), "max_model_len": s.cfg.MaxModelLen,
		"tokens": append([]int32{}, ids...), "token_strs": nil})
}

// resetPrefixCache answers POST /reset_prefix_cache like vLLM: it fails while a request uses the cache,
// unless ?reset_running_requests=true preempts the running requests.
func (s *Server) resetPrefixCache(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.sim == nil || s.sim.resetCache(r.URL.Query().Get("reset_running_requests") == "true")
	s.wakePacer()
	writeJSON(w, map[string]bool{"success": done})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // an error means that the client disconnected
}

type api int

const (
	completions api = iota
	chat
	responses
	messages
)

var apiNames = [...]string{"completions", "chat", "responses", "messages"}

func (a api) String() string { return apiNames[a] }

func (a api) idPrefix() string { return [...]string{"cmpl-", "chatcmpl-", "resp_", "msg_"}[a] }

// talks reports whether the API has turns, reasoning and tool calls.
func (a api) talks() bool { return a == chat || a == responses || a == messages }

// apiError is an error response in vLLM's form (vllm/entrypoints/serve/engine/protocol.py, ErrorResponse).
type apiError struct {
	status  int
	message string
	param   string
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// invalid is of a bad request, by one of its fields.
func invalid(param, format string, args ...any) *apiError {
	e := badRequest(format, args...)
	e.param = param
	return e
}

func (e *apiError) kind() string {
	return cmp.Or(map[int]string{
		http.StatusBadRequest: "BadRequestError", http.StatusNotFound: "NotFoundError",
		http.StatusTooManyRequests: "RateLimitError", http.StatusServiceUnavailable: "ServiceUnavailableError",
	}[e.status], "InternalServerError")
}

func (e *apiError) object(of api) []byte {
	body := map[string]any{"message": e.message, "type": e.kind()}
	whole := map[string]any{"error": body}
	if of == messages {
		whole["type"] = "error"
	} else {
		body["param"], body["code"] = nil, e.status
		if e.param != "" {
			body["param"] = e.param
		}
	}
	text, _ := json.Marshal(whole) // strings and numbers always encode
	return text
}

func (e *apiError) write(w http.ResponseWriter) { e.writeTo(w, completions) }

func (e *apiError) writeTo(w http.ResponseWriter, of api) {
	w.Header().Set("Content-Type", "application/json")
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(e.status)
	w.Write(e.object(of))
}

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
