package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment/target"
	"bench/experiment/workload"
)

func (s *Spec) Resolve(t Target) {
	if s.hasImages() {
		s.API = s.APIFor(t)
	}
}

func (s *Spec) hasImages() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Images != nil })
}

func (s *Spec) checkImages(bad func(key, problem, hint string)) {
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
