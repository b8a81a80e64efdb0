package schema

import (
	"encoding/json"
	"testing"
	"time"

	"bench/experiment/selftest"
)

// TestSchemaOfASelftest: a step that was measured, and one that could not be made, are both documents of the
// schema.
func TestSchemaOfASelftest(t *testing.T) {
	r := selftest.Result{
		Schema: selftest.Schema, StartedAt: time.Unix(1, 0).UTC(), EndedAt: time.Unix(2, 0).UTC(), LimitUs: 1000,
		Steps: []selftest.Measured{
			{Step: selftest.Step{Kind: selftest.Burst, Size: 1, Tokens: 100, WindowS: 2}, Tries: 1, Accurate: true, First: &selftest.Error{N: 1}, Lag: &selftest.Delay{N: 1}, CPUCores: new(0.5)},
			{Step: selftest.Step{Kind: selftest.Rate, Size: 100, Tokens: 2, WindowS: 2}, Tries: 2, Problem: "no files left", Why: "no files left"},
		},
		Calibration: selftest.Calibration{Load: selftest.Load{Streams: 1, EventsPerS: 96, RequestsPerS: 0.96}, FirstInaccurateRate: "rate 100"},
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t)["selftest"]
	if err := schema.Validate(parse(t, text)); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for name, spoil := range map[string]func(d map[string]any){
		"later version":  func(d map[string]any) { d["schema"] = "bench/selftest/v2" },
		"unknown kind":   func(d map[string]any) { d["steps"].([]any)[0].(map[string]any)["kind"] = "flood" },
		"no calibration": func(d map[string]any) { delete(d, "calibration") },
		"unknown field":  func(d map[string]any) { d["machine"].(map[string]any)["user"] = "me" },
		"no error":       func(d map[string]any) { delete(d["steps"].([]any)[0].(map[string]any), "gap_error") },
		"error as text":  func(d map[string]any) { d["steps"].([]any)[0].(map[string]any)["first_token_error"] = "small" },
	} {
		d := parse(t, text).(map[string]any)
		spoil(d)
		if schema.Validate(d) == nil {
			t.Errorf("%s: valid", name)
		}
	}
}
