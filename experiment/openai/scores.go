package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"bench/experiment/target"
)

// The embeddings and rerank APIs read texts and answer in one piece: a vector or a score for each text. vLLM, SGLang,
// llama.cpp, TEI and Jina's and Cohere's services share these forms.

// Texts appends the body of a request for the vectors of texts to dst or, in the rerank API, for their scores with a
// query. The texts are all token ids or all words. It returns nil for token ids in the rerank API, which has no form
// for them.
func (e *Encoder) Texts(dst []byte, query string, texts []Prompt) []byte {
	dst = append(dst, e.head...)
	rerank := e.params.API == target.Rerank
	if rerank {
		dst = appendString(append(dst, `,"query":`...), cmp.Or(query, probeQuery))
		dst = append(dst, `,"documents":[`...)
	} else {
		dst = append(dst, `,"input":[`...)
	}
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case t.IDs == nil:
			dst = appendString(dst, t.Text)
		case rerank:
			return nil
		default:
			dst = append(appendIDs(append(dst, '['), t.IDs), ']')
		}
	}
	return append(dst, "]}"...)
}

// probeQuery is the query of a probe: as many words as the queries of a row have tokens, so that what the server
// counts around a document is the same.
const probeQuery = "time year people way day man thing woman life child world school state family student group"

// scored is an answer of these APIs, in the fields that are read. The vectors are checked for presence only.
type scored struct {
	ID    string
	Data  []vector   // embeddings
	Items []struct { // rerank
		Score *json.Number `json:"relevance_score"`
	} `json:"results"`
	Usage struct {
		Prompt json.Number `json:"prompt_tokens"`
		Total  json.Number `json:"total_tokens"`
	}
	Error  json.RawMessage
	Object string
}

// vector is one embedding: a list of numbers, or their bytes in base64.
type vector struct{ Embedding present }

// present reports whether a JSON list or string is there and not empty.
type present bool

// UnmarshalJSON implements json.Unmarshaler.
func (p *present) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	*p = len(b) > 2 && (b[0] == '[' || b[0] == '"') && len(bytes.TrimSpace(b[1:len(b)-1])) > 0
	return nil
}

// parseScores reads an answer. Its items are the texts that have a vector or a score.
func parseScores(data []byte) (c chunk, err error) {
	var s scored
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &s); err != nil && !errors.As(err, &mismatch) {
		return chunk{}, err
	}
	if hasError := len(s.Error) > 0 && string(s.Error) != "null"; hasError || s.Object == "error" {
		return chunk{failed: true, message: bodyMessage(data)}, nil
	}
	c.id = []byte(s.ID)
	for _, v := range s.Data {
		if v.Embedding {
			c.items++
		}
	}
	for _, item := range s.Items {
		if item.Score != nil {
			c.items++
		}
	}
	c.hasChoices = c.items > 0
	for _, n := range []json.Number{s.Usage.Prompt, s.Usage.Total} {
		if n != "" && !c.hasPrompt && c.refused == nil {
			c.prompt, c.hasPrompt = c.usageCount(ofPrompt, n)
		}
	}
	c.hasOutput = true // none
	return c, nil
}
