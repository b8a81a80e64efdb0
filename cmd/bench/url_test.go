package main

import (
	"strings"
	"testing"

	root "bench"
	"bench/sweep/matrix"
)

// TestQuickText: an argument with a line feed leaves the matrix whole, and loads that are stated make no claim of a search.
func TestQuickText(t *testing.T) {
	shipped, err := root.Matrices.ReadFile(quickMatrix)
	if err != nil {
		t.Fatal(err)
	}
	f := &urlFlags{workload: "chat", rates: []float64{4}, hardware: "h100-sxm"}
	text := f.text(string(shipped), "chat", []string{"bench", "h:1", "--out", "a\nb = 1"})
	m, err := matrix.ParseSet(quickFile, []byte(text), overridesOf(f.overrides("chat", &sweepFlags{})))
	if err != nil || m.Hypothesis != "" {
		t.Errorf("%v\n%s", err, text)
	}
	if strings.Contains(text, "# hardware ") || !strings.Contains(text, "# gpus ") {
		t.Errorf("comments of keys:\n%s", text)
	}
}
