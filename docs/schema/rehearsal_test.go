package schema

import (
	"context"
	"fmt"
	"testing"

	"bench/experiment"
	"bench/report/compare"
	"bench/report/rehearse"
)

// TestSchemaOfRehearsal: what bench rehearse --format json writes is a document of the schema.
func TestSchemaOfRehearsal(t *testing.T) {
	story := rehearse.Story{Nights: 3, Planted: []rehearse.Event{{Night: 3, Change: 0.5}}}
	measure := func(_ context.Context, n int) (compare.Run, error) {
		run := resultOf("h100-sxm", 80*story.Times(n, &experiment.Spec{Name: "A", Repeat: 1}), 3)
		run.Name, run.Manifest.Run = fmt.Sprintf("night-%02d", n), fmt.Sprintf("night-%02d", n)
		return run, nil
	}
	gate := experiment.Gate{Thresholds: []experiment.Threshold{{Metric: "ttft_p50", Worse: 0.05}}}
	r, err := rehearse.Rehearse(t.Context(), &story, gate, measure, func(*rehearse.Morning) error { return nil })
	if err != nil || r.Mornings[2].Job != "red" {
		t.Fatalf("%+v: %v", r, err)
	}
	text := marshalled(t, r)
	validate(t, compile(t), "rehearsal", documents{"rehearsal": {text}})
	spoiled(t, "rehearsal", text, map[string]func(d map[string]any){
		"no mornings":   func(d map[string]any) { d["mornings"] = nil },
		"another job":   func(d map[string]any) { d["mornings"].([]any)[0].(map[string]any)["job"] = "amber" },
		"unknown field": func(d map[string]any) { d["nights"] = 3 },
	})
}
