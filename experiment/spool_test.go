package experiment

import (
	"context"
	"testing"
	"time"

	"bench/experiment/load"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/workload"
)

// An endless row ends when it is told to; what it did not keep in memory it reads again, and its figures are those of the records.
func TestEndlessRow(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: 2 * time.Millisecond, ITL: time.Millisecond}, Target{}, openai.Completions)
	spec := Spec{Name: "tile", Repeat: 1, Until: untilStopped,
		Workload: workload.Workload{Generator: workload.Tiling, Input: workload.Fixed(64), Output: workload.Fixed(4), Seed: 7, Tile: &workload.Tile{Contexts: 5}},
		Load:     load.Load{Warmup: load.Extent{Requests: 5}, Grace: load.Span(20 * time.Second)}}
	spec.Preset(func(key, problem, hint string) { t.Error(key, problem, hint) })
	spec.Check(func(key, problem, hint string) { t.Error(key, problem, hint) })
	ends, end := context.WithCancel(t.Context())
	defer end()
	var kept []*Record
	seen := 0
	meter := &openai.TokenCounter{}
	p := &Progress{Meter: meter, Each: func(*Record) {
		if seen++; seen == 60 {
			end()
		}
	}}
	row, err := s.Run(t.Context(), Try{
		Spec: &spec, ID: spec.Name, Salt: "salt", Ends: ends, Progress: p,
		Each: func(r *Record) error { kept = append(kept, r); return nil },
		Reread: func(each func(*Record) error) error {
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
	holdToRecords(t, row, kept, Target{})
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
