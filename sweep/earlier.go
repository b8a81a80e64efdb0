package sweep

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
)

// mostEarlier bounds how many runs are read: a directory of nightly runs has hundreds.
const mostEarlier = 5

// EarlierRuns calls each with the finished rows of the runs of a matrix in the results directory out, the newest
// first, as long as it returns true. Runs of another endpoint, model, hardware or simulator are left out, and what
// cannot be read too. simulator describes the simulated server; empty: the server is none, or not ours.
func EarlierRuns(m *Matrix, out, simulator string, each func(run string, rows []*record.Row) bool) {
	root := filepath.Join(out, escape(m.Name))
	entries, err := os.ReadDir(root)
	if err != nil {
		return // no run yet
	}
	read := 0
	for _, e := range slices.Backward(entries) { // names are start times
		d := directory{filepath.Join(root, e.Name())}
		var was record.Manifest
		if d.readJSON(manifestFile, &was) != nil || was.Schema != record.SchemaRun || was.Predicted != nil || !m.isServer(&was.Target, simulator) {
			continue
		}
		rows := make([]*record.Row, 0, len(was.Plan))
		for _, p := range was.Plan {
			if row, ok := d.row(p.ID); ok && p.State != "removed" {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if read++; !each(e.Name(), rows) || read == mostEarlier {
			return
		}
	}
}

// isServer reports whether a run measured what [target] describes, as far as it does before the server is reached.
func (m *Matrix) isServer(was *record.TargetInfo, simulator string) bool {
	t := &m.Target
	switch {
	case simulator != "":
		return was.Simulator == simulator
	case !m.Varies() && experiment.EndpointName(t.Endpoint) != experiment.EndpointName(was.Endpoint):
		return false
	}
	if t.API != "" && cmp.Or(was.API, t.API) != t.API {
		return false
	}
	return (t.Model == "" || t.Model == was.Model) && (t.Hardware == "" || t.Hardware == was.Hardware) && (t.GPUs == 0 || t.GPUs == was.GPUs)
}
