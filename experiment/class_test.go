package experiment

import (
	"testing"

	"bench/experiment/prompts"
	"bench/experiment/trace"
	"bench/experiment/workload"
)

func TestShapeText(t *testing.T) {
	fixed := workload.Workload{Input: workload.Fixed(512), Output: workload.Fixed(128)}
	turns := fixed
	turns.Session = &workload.Session{}
	for want, w := range map[string]workload.Workload{
		"512 → 128 tokens":          fixed,
		"512 → 128 tokens a turn":   turns,
		"2-class mix":               {Mix: []workload.Class{{Name: "chat"}, {Name: "rag"}}},
		"prompts of sharegpt.jsonl": {Prompts: &prompts.Source{File: "data/sharegpt.jsonl"}, Output: workload.Fixed(128)},
		"trace azure.csv":           {Trace: &workload.Trace{Options: trace.Options{File: "traces/azure.csv"}}},
		"":                          {}, // of another tool's file
	} {
		if got := (&Spec{Workload: w}).ShapeText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
