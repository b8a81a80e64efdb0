package experiment

import (
	"slices"
	"testing"
)

func TestSizeKeys(t *testing.T) {
	got := slices.Sorted(slices.Values(SizeKeys()))
	want := []string{"added", "duration_s", "grace_s", "requests", "search", "seed", "settle_s", "warmup"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
