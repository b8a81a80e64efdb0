package schema

import (
	"context"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/sweep/revisions"
)

// TestSchemaOfBisection: what bench bisect writes is a document of the schema, with an answer and without.
func TestSchemaOfBisection(t *testing.T) {
	b := &revisions.Bisection{Dir: t.TempDir(), Event: func(string) {}}
	list, err := revisions.FromList("a,b,c,d")
	b.Result = revisions.Result{Schema: revisions.Schema, Confidence: 0.95, Revisions: list, StartedAt: time.Now(),
		Runs: []revisions.Run{}, State: revisions.StateRunning}
	begun := marshalled(t, &b.Result)
	b.Measure = func(_ context.Context, revision string) (*revisions.Measured, error) {
		row := &record.Row{}
		row.Summary.ITL = &stats.Summary{N: 9, P50: map[bool]float64{true: 10, false: 20}[revision < "c"]}
		row.Summary.E2E = row.Summary.ITL
		return &revisions.Measured{Dir: revision, Rows: []*record.Row{row}}, nil
	}
	if err != nil || b.Run(t.Context()) != nil || b.Answer.Changes[0].FirstBad[0] != "c" {
		t.Fatalf("%v: %+v", err, b.Result)
	}
	text := marshalled(t, &b.Result)
	validate(t, compile(t), "bisect", documents{"bisect": {begun, text}})
	spoiled(t, "bisect", text, map[string]func(d map[string]any){
		"another state": func(d map[string]any) { d["state"] = "bad" },
		"no runs":       func(d map[string]any) { delete(d, "runs") },
	})
}
