package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bench/experiment/prompts"
)

// A real prompt is one block, however long: forecasts look at hundreds of requests.
func TestLongRealPromptIsOneBlock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(file, []byte(`{"prompt":"`+strings.Repeat("word ", 1000)+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := Workload{Output: Fixed(8), Prompts: &prompts.Source{File: file}}
	w.Look(new(Files), func(key, problem, _ string) { t.Fatal(key, problem) })
	p := NewPlan(w, 1, "").Estimated()
	first, again := p.Next(), p.Next()
	if len(first.Blocks) != 1 || first.Blocks[0].Tokens != first.Input || first.Input < 1000 {
		t.Errorf("%d tokens in the blocks %v", first.Input, first.Blocks)
	}
	if pool := NewPool(0, 1); pool.serve(&first, nil) != 0 || pool.serve(&again, nil) != first.Input-1 {
		t.Error("the same prompt again is not found whole")
	}
}
