package mock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

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
