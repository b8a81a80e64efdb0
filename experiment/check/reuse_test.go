package check

import (
	"testing"
)

func TestNoReuse(t *testing.T) {
	e := flawless()
	for _, r := range e.records {
		r.CachedTokens = new(0)
	}
	if CompareReuse(e.Row, e.records) != nil {
		t.Error("a row without prefixes has a reuse")
	}
}
