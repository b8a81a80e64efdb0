package mock

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"
)

// Dimensions of an embedding: without the request's own, and the most.
const (
	defaultDimensions = 1024
	maxDimensions     = 16384
)

// poolRequest is the body of POST /v1/embeddings and /v1/rerank: prompts that are computed without output.
type poolRequest struct {
	Model          string          `json:"model"`
	Metadata       json.RawMessage `json:"metadata"`
	Input          json.RawMessage `json:"input"` // embeddings
	Dimensions     *int            `json:"dimensions"`
	EncodingFormat string          `json:"encoding_format"` // float or base64; empty: float
	Query          json.RawMessage `json:"query"`           // rerank
	Documents      json.RawMessage `json:"documents"`
	TopN           int             `json:"top_n"` // results; 0: all

	documents []string
}

// pool answers POST /v1/embeddings and /v1/rerank. Each input or document is a sequence that ends with its prefill.
func (s *Server) pool(shape api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now, n := time.Now(), s.requests.Add(1)
		f, err := s.faultsOf(r, n)
		if err != nil {
			badRequest("X-Mock-Fault: %v", err).write(w)
			return
		}
		if s.replaceByFault(w, shape, f) {
			return
		}
		body := new(poolRequest)
		bad := decode(r, body)
		var all []*seq
		if bad == nil {
			all, bad = s.pooled(body, shape, now.Sub(s.start))
		}
		if bad != nil {
			bad.write(w)
			return
		}
		f.after = min(f.after, 1) // of the answer's one piece
		req := &request{Model: body.Model, Metadata: body.Metadata, raw: body.Input}
		if shape == rerank {
			req.raw = slices.Concat(body.Query, body.Documents)
		}
		p := &reply{w: w, rc: http.NewResponseController(w), start: s.start, req: req, shape: shape, q: all[0], others: all[1:], f: f, engine: s}
		p.rec = s.record(r, req, shape, n)
		s.stamp(p.rec, now)
		p.encoder = &vectors{chunks: newChunks(p, frame(f.lineEnd)), body: body}
		s.answer(r.Context(), p)
	}
}

// pooled submits the sequences of a request.
func (s *Server) pooled(body *poolRequest, shape api, arrival time.Duration) ([]*seq, *apiError) {
	if !s.serves(body.Model) {
		return nil, &apiError{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", body.Model), "model"}
	}
	prompts, bad := s.poolPrompts(body, shape)
	if bad != nil {
		return nil, bad
	}
	var all []*seq
	for _, prompt := range prompts {
		if len(prompt) == 0 || len(prompt) > s.cfg.MaxModelLen {
			bad = badRequest("an input has %d tokens, neither 1 nor up to the context length of %d.", len(prompt), s.cfg.MaxModelLen)
			break
		}
		q := newSeq(s.cfg.Seed, s.vocab, prompt, arrival)
		q.pools, q.want, q.finish = true, 1, "stop"
		s.adapt(q, body.Model)
		if bad = s.submit(q); bad != nil {
			break
		}
		all = append(all, q)
	}
	if bad != nil {
		for _, q := range all {
			s.drop(q, new(Record))
		}
		return nil, bad
	}
	return all, nil
}

// poolPrompts are the prompts of a request in token ids: the inputs, or the query before each document.
func (s *Server) poolPrompts(body *poolRequest, shape api) ([][]int32, *apiError) {
	if d := body.Dimensions; d != nil && (*d < 1 || *d > maxDimensions) {
		return nil, badRequest("dimensions must be between 1 and %d, got %d.", maxDimensions, *d)
	}
	if !slices.Contains([]string{"", "float", "base64"}, body.EncodingFormat) {
		return nil, badRequest("encoding_format must be float or base64, got %s.", body.EncodingFormat)
	}
	if shape == embeddings {
		return s.inputs(body.Input)
	}
	var query string
	var documents []json.RawMessage
	if json.Unmarshal(body.Query, &query) != nil || json.Unmarshal(body.Documents, &documents) != nil || len(documents) == 0 {
		return nil, badRequest("a rerank needs a query and a list of documents.")
	}
	prompts := make([][]int32, len(documents))
	for i, document := range documents {
		var text string
		var object struct{ Text string }
		if json.Unmarshal(document, &text) != nil {
			if json.Unmarshal(document, &object) != nil {
				return nil, badRequest("document %d is neither a string nor an object with text.", i)
			}
			text = object.Text
		}
		body.documents = append(body.documents, text)
		prompts[i] = s.vocab.encode(s.vocab.encode(nil, query), text)
	}
	return prompts, nil
}

// inputs reads input: a string, a list of strings, token ids, or lists of these.
func (s *Server) inputs(input json.RawMessage) ([][]int32, *apiError) {
	var several []json.RawMessage
	if json.Unmarshal(input, &several) != nil || len(several) == 0 || several[0][0] != '"' && several[0][0] != '[' {
		several = []json.RawMessage{input}
	}
	prompts := make([][]int32, len(several))
	for i, one := range several {
		ids, bad := s.ids(one)
		if bad != nil {
			bad.message, bad.param = "input must be a string, a list of token ids, or a list of these.", "input"
			return nil, bad
		}
		prompts[i] = ids
	}
	return prompts, nil
}

// vectors are the answers to embeddings and rerank.
type vectors struct {
	*chunks
	body *poolRequest
}

// object implements encoder.
func (v *vectors) object() map[string]any {
	p, tokens := v.p, v.p.promptTokens()
	answer := map[string]any{"id": p.rec.ID, "model": p.rec.Model}
	used := map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}
	if p.shape == embeddings {
		answer["object"], answer["created"], answer["data"] = "list", p.created(), v.embeddings()
		used["completion_tokens"] = 0
	} else {
		answer["results"] = v.results()
	}
	if !p.f.noUsage {
		answer["usage"] = used
	}
	return answer
}

func (v *vectors) embeddings() []any {
	n := defaultDimensions
	if v.body.Dimensions != nil {
		n = *v.body.Dimensions
	}
	var data []any
	for i, q := range v.p.all() {
		entry := map[string]any{"index": i, "object": "embedding"}
		if vector := q.embedding(n); v.body.EncodingFormat == "base64" {
			b, _ := binary.Append(nil, binary.LittleEndian, vector) // a fixed size
			entry["embedding"] = base64.StdEncoding.EncodeToString(b)
		} else {
			entry["embedding"] = vector
		}
		data = append(data, entry)
	}
	return data
}

// embedding is a vector of length 1, by the prompt.
func (q *seq) embedding(n int) []float32 {
	vector, sum := make([]float32, n), 0.0
	for i := range vector {
		x := float64(mix(q.hash+uint64(i))>>11)/(1<<53) - 0.5
		vector[i] = float32(x)
		sum += x * x
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(sum))
	}
	return vector
}

// results are the documents by falling relevance, at most top_n.
func (v *vectors) results() []any {
	all := v.p.all()
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if all[a].hash > all[b].hash {
			return -1
		}
		return 1
	})
	if n := v.body.TopN; n > 0 && n < len(order) {
		order = order[:n]
	}
	var results []any
	for _, i := range order {
		results = append(results, map[string]any{"index": i, "document": map[string]string{"text": v.body.documents[i]}, "relevance_score": float64(all[i].hash>>11) / (1 << 53)})
	}
	return results
}
