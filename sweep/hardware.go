package sweep

import (
	"fmt"
	"os"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/verdict"
)

// hardware is what the roofline, the figures per GPU and the cost of a row depend on. No request depends on it.
type hardware struct {
	name       string
	gpus       int
	precision  string
	gpuHourUSD *float64
}

func hardwareOf(t experiment.Target) hardware {
	return hardware{t.Hardware, t.GPUs, t.Precision, t.GPUHourUSD}
}

// formerHardware is the hardware of a run as its manifest has it.
func formerHardware(m *record.Manifest) hardware {
	return hardware{m.Target.Hardware, m.Target.GPUs, m.Target.Precision, m.GPUHourUSD}
}

// evaluateKept evaluates rows again that were measured by this matrix, but for what it states of the hardware: what
// was sent is the same, and the rest is arithmetic over the records. Rows of a matrix that varies its server are
// measured again: each server has a roofline of its own.
func (r *run) evaluateKept(old *record.Manifest) error {
	if r.m.Varies() || r.Resume == "" {
		return nil
	}
	was, is := formerHardware(old), hardwareOf(r.m.Target)
	ids, err := r.dir.rowIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		row, ok := r.dir.row(id)
		if !ok || row.SpecHash != r.hashOn(&row.Spec, was) || row.SpecHash == r.hashOn(&row.Spec, is) {
			continue
		}
		records, err := r.dir.records(id)
		if err != nil {
			return err
		}
		again := verdict.Again(row, records, r.m.Target, r.Roofline)
		again.SpecHash = r.hashOn(&row.Spec, is)
		if err := r.dir.writeJSON(id+".json", again); err != nil {
			return err
		}
	}
	return nil
}

// records are the requests of a finished row.
func (d directory) records(id string) (out []*record.Record, err error) {
	f, err := os.Open(d.file(id + recordsSuffix))
	if err != nil {
		return nil, fmt.Errorf("evaluating %s again: %w", id, err)
	}
	defer f.Close()
	err = record.ReadRecords(f, func(r *record.Record) error {
		out = append(out, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("evaluating %s again: %w", id, err)
	}
	return out, nil
}
