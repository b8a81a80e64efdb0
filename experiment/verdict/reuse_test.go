package verdict

import (
	"testing"
)

func TestNoReuse(t *testing.T) {
	e := flawless()
	for _, r := range e.Records {
		r.CachedTokens = new(0)
	}
	if e.CompareReuse() != nil {
		t.Error("a row without prefixes has a reuse")
	}
}
