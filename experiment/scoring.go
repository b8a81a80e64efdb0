package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment/target"
	"bench/experiment/workload"
)

// defaultDocuments are the documents of a rerank request.
const defaultDocuments = 10

// Resolve takes from the target what decides how the row's requests look: whether its API reads texts and writes
// none, which is never streamed, and the API of images.
func (s *Spec) Resolve(t Target) {
	api := s.APIFor(t)
	if s.hasImages() {
		s.API = api
	}
	if !target.Scores(api) {
		return
	}
	s.API, s.Stream = api, new(false)
	if s.Texts == 0 {
		s.Texts = map[string]int{target.Embeddings: 1, target.Rerank: defaultDocuments}[api]
	}
}

// Writes reports whether the row's server writes tokens: false for vectors and scores, for which it only reads texts.
func (s *Spec) Writes() bool { return !target.Scores(s.API) }

// Ranks reports whether the texts of a request have their query in common, which a prefix cache may find.
func (s *Spec) Ranks() bool { return s.API == target.Rerank }

func (s *Spec) hasImages() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Images != nil })
}

// checkScoring reports what does not fit together in rows whose API reads texts and writes none, and images in
// requests that have no place for them.
func (s *Spec) checkScoring(bad func(key, problem, hint string)) {
	scores := target.Scores(s.API)
	if s.Texts != 0 && !scores {
		bad("texts", "texts applies to the APIs embeddings and rerank", `write api = "embeddings", or remove texts`)
	}
	for i, c := range s.Mix {
		if c.API != "" && target.Scores(c.API) != scores {
			bad(fmt.Sprintf("mix[%d].api", i), "a row can't have both requests that write tokens and requests that don't",
				"write two rows")
		}
	}
	if scores && (s.Trace != nil || s.Tile != nil || s.IsColdStart()) {
		bad("api", fmt.Sprintf("api %q takes lengths of texts only", s.API), "remove trace, tile and kind")
	}
	for i, c := range s.Classes() {
		if api := cmp.Or(c.API, s.API); c.Images != nil && api != target.Chat {
			key := "images"
			if len(s.Mix) > 0 {
				key = fmt.Sprintf("mix[%d].images", i)
			}
			bad(key, fmt.Sprintf("images go into chat messages, not into api %q", api), `write api = "chat"`)
		}
	}
}
