package schema

import (
	"testing"
	"time"

	"bench/report/referee"
)

// TestSchemaOfReferee: what bench referee --format json writes is a document of the schema.
func TestSchemaOfReferee(t *testing.T) {
	line := func(v referee.Verdict) referee.Line {
		return referee.Line{Question: "TTFT p50", Unit: "ms", Expected: new(50.0), Got: new(51.0), Tolerance: 2, Verdict: v}
	}
	card := referee.Card{Schema: referee.Schema, Command: []string{"tool", "{url}"}, Tool: "tool", StartedAt: time.Unix(1, 0).UTC(),
		Load: referee.Load{Requests: 200, Rate: 20, Arrival: "poisson"},
		Rounds: []referee.Round{{Name: "plain", Trait: "none", Requests: 200,
			Lines: []referee.Line{line(referee.Right), line(referee.Wrong), line(referee.NotAsked), {Question: "a result", Verdict: referee.Wrong}}}}}
	text := marshalled(t, card)
	validate(t, compile(t), "referee", documents{"referee": {text}})
	spoiled(t, "referee", text, map[string]func(d map[string]any){
		"no rounds": func(d map[string]any) { d["rounds"] = nil },
		"another verdict": func(d map[string]any) {
			d["rounds"].([]any)[0].(map[string]any)["lines"].([]any)[0].(map[string]any)["verdict"] = "fine"
		},
		"unknown field": func(d map[string]any) { d["winner"] = "tool" },
	})
}
