package endpoint

import (
	"context"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// An endless row ends when it is told to; what it did not keep in memory it reads again, and its figures are
// those of the records.
func TestEndlessRow(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: 2 * time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, target.Completions)
	spec := experiment.Spec{Name: "tile", Repeat: 1, Until: "stopped",
		Workload: workload.Workload{Generator: workload.Tiling, Input: workload.Fixed(64), Output: workload.Fixed(4), Seed: 7, Tile: &workload.Tile{Contexts: 5}},
		Load:     workload.Load{Warmup: workload.Extent{Requests: 5}, Grace: workload.Span(20 * time.Second)}}
	spec.ApplyPresets(func(key, problem, hint string) { t.Error(key, problem, hint) })
	spec.Check(func(key, problem, hint string) { t.Error(key, problem, hint) })
	ends, end := context.WithCancel(t.Context())
	defer end()
	var kept []*record.Record
	seen := 0
	meter := &openai.TokenCounter{}
	p := &Progress{Counter: meter, Each: func(*record.Record) {
		if seen++; seen == 60 {
			end()
		}
	}}
	row, err := s.Run(t.Context(), RunConfig{
		Spec: &spec, ID: spec.Name, Salt: "salt", Stop: ends, Progress: p,
		Each: func(r *record.Record) error { kept = append(kept, r); return nil },
		Reread: func(each func(*record.Record) error) error {
			for _, r := range kept {
				if err := each(r); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	holdToRecords(t, row, kept, experiment.Target{})
	q := row.Summary.Requests
	if q.Warmup != 5 || q.Completed < 40 || q.Failed > 0 || row.Window.Seconds() <= 0 {
		t.Errorf("%+v", q)
	}
	done := int64(0)
	for _, r := range kept {
		if r.OK() {
			done++
		}
	}
	if prompt, output := meter.Prompt.Load(), meter.Output.Load(); prompt < 64*done || prompt > 64*int64(len(kept)) || output < 4*done || output > 4*int64(len(kept)) {
		t.Errorf("the meter has %d and %d tokens for %d requests, %d of them whole", prompt, output, len(kept), done)
	}
}
