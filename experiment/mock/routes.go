package mock

import (
	"encoding/json"
	"net/http"
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
