package endpoint

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"bench/experiment/record"
)

// The IDs stay within the vocabulary, above its byte tokens, and are the usual ones where they fit.
func TestIDsWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300_000).Draw(t, "vocabulary")
		r := idsWithin(n)
		switch {
		case n == 0 || n >= 31_000:
			if r.first != 1000 || r.count != 30_000 {
				t.Fatalf("%+v", r)
			}
		case n < smallestVocabulary:
			if r.count != 0 {
				t.Fatalf("%+v", r)
			}
			return
		default:
			if r.first < 256 || int(r.first+r.count) > n-n/32 || r.count < 1500 {
				t.Fatalf("%+v of %d", r, n)
			}
		}
		ids := r.spread()
		if ids[0] != r.first || ids[len(ids)-1] != r.first+r.count-1 {
			t.Fatalf("%v of %+v", ids, r)
		}
	})
}

func TestListedVocabulary(t *testing.T) {
	for text, want := range map[string]int{
		`[{"id":"m","meta":{"n_vocab":8000}}]`:                                     8000,
		`[{"id":"other","meta":{"n_vocab":8000}},{"id":"m","max_model_len":4096}]`: 0,
		`[{"id":"m","meta":null}]`:                                                 0,
		`[{"id":"m","meta":{"n_vocab":"many"}}]`:                                   0,
		`[{"id":"m","meta":{"n_vocab":-1}}]`:                                       0,
		`null`:                                                                     0,
	} {
		var models any
		if err := json.Unmarshal([]byte(text), &models); err != nil {
			t.Fatal(err)
		}
		s := Server{Info: record.TargetInfo{Model: "m", Models: models}}
		if got := s.listedVocabulary(s.Info.Model); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
