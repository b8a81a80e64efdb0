package predict

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/sweep"
)

// Night runs every row once, in memory. Nights with the same salt send the same requests. times is what the server's
// step times are multiplied by in a row. The mark as a prediction is cleared: a rehearsal takes the run for measured.
func (p *Plan) Night(
	ctx context.Context, name, salt string, times func(*experiment.Spec) float64,
) (*record.Run, error) {
	records := map[string][]*record.Record{} // as record.ReadTimes has them
	n := &record.Run{Records: record.RecordsOf(records), Manifest: record.Manifest{
		Run: name, Matrix: p.matrix.Name, StartedAt: time.Now().UTC(), Salt: salt, Seed: p.matrix.Seed,
		Target: p.endpoint(p.servers[p.variants()[0]], times).Info,
	}}
	for i := range p.matrix.Points {
		s := &p.matrix.Points[i]
		id, of := sweep.ID(s), p.servers[s.Variant]
		row, err := p.endpoint(of, times).Run(ctx, endpoint.RunConfig{
			Spec: s, ID: id, Salt: salt + "/" + id, Roofline: of.roofline,
			Each: func(r *record.Record) error {
				kept := *r
				kept.Gaps, kept.TokensPerEvent = record.Packed{}, record.Packed{}
				records[id] = append(records[id], &kept)
				return nil
			},
		})
		if err != nil {
			return nil, fmt.Errorf("simulating %s: %w", id, err)
		}
		row.Predicted = false
		n.Rows = append(n.Rows, *row)
		n.Manifest.Plan = append(n.Manifest.Plan, record.Planned{ID: id, Name: s.Name, State: "done"})
	}
	return n, nil
}

// driftOf is a [mock] drift that multiplies all step times from the start on.
func driftOf(times float64) string { return strconv.FormatFloat(100*(times-1), 'g', -1, 64) + "%@0s" }
