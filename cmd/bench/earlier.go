package main

import (
	"cmp"
	"path/filepath"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/sweep"
	"bench/sweep/forecast"
)

// earlier is what the runs of a matrix beside the one to come show about its durations.
func (f *sweepFlags) earlier(m *sweep.Matrix, simulated mock.Config) forecast.Earlier {
	out, simulator := f.out, ""
	if f.resume != "" {
		out = filepath.Dir(filepath.Dir(filepath.Clean(f.resume)))
	}
	if m.Simulated() {
		simulator = simulatorText(m, simulated)
	}
	var e forecast.Earlier
	sweep.EarlierRuns(m, out, simulator, func(run string, rows []*record.Row) bool {
		e.Add(run, rows)
		for i := range m.Points {
			if !e.Knows(&m.Points[i]) {
				return true
			}
		}
		return false
	})
	return e
}

// simulatorText describes the embedded server, as runs against it do; empty: it cannot be made.
func simulatorText(m *sweep.Matrix, simulated mock.Config) string {
	simulated.Model = cmp.Or(simulated.Model, m.Target.Model)
	server, err := mock.New(simulated)
	if err != nil {
		return "" // the run reports it
	}
	return server.Describe()
}
