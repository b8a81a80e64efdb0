package main

import (
	"context"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/tune"
	"bench/experiment/workload"
	"bench/sweep/predict"
)

// prior orders the settings of a race of all combinations by the throughput of the simulated engine, in virtual time: a
// saturated closed loop for each. It is nil if the matrix names no model and hardware that bench knows.
func (in *sweepInput) prior(ctx context.Context) []float64 {
	m := *in.m
	if m.Tune == nil || m.Tune.Order != tune.All || m.Tune.Goal != tune.MaxLoad {
		return nil
	}
	model, errModel := in.models.Find(m.Target.Model)
	device, errDevice := in.hardware.Find(m.Target.Hardware)
	if errModel != nil || errDevice != nil {
		return nil
	}
	m.Target.Model, m.Target.Hardware, m.Target.GPUs = model.ID, device.ID, max(m.Target.GPUs, 1)
	m.Points = slices.Clone(m.Points)
	for i := range m.Points {
		s := &m.Points[i]
		const workers, requests = 128, 256
		s.Search, s.Rate, s.Arrival, s.Burstiness = nil, 0, workload.Arrival{}, 0
		s.Load = workload.Load{Concurrency: workers, Requests: requests}
	}
	p, err := predict.New(&m, mock.Config{Models: in.models, Devices: in.hardware})
	if err != nil {
		return nil
	}
	night, err := p.Night(ctx, "prior", "prior", func(*experiment.Spec) float64 { return 1 })
	if err != nil {
		return nil
	}
	known, mean := map[string]float64{}, 0.0
	for _, row := range night.Rows {
		x := math.Log(max(row.Summary.Throughput.RequestsPerS, 1e-3))
		known[row.Spec.Variant] = x
		mean += x / float64(len(night.Rows))
	}
	var scores []float64
	for _, v := range m.Variants {
		x, ok := known[v.Name]
		if !ok { // the simulated engine lacks it
			x = mean
		}
		scores = append(scores, x)
	}
	return scores
}
