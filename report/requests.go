package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"bench/experiment/record"
)

// Requests are the records of a row; nil: the run has none.
func (r *Run) Requests(row *record.Row) ([]*record.Record, error) {
	if r.Records != nil {
		return r.Records(row)
	}
	var out []*record.Record
	err := r.read(row.ID+".requests.jsonl.zst", func(f io.Reader) error {
		return record.ReadRecords(f, func(rec *record.Record) error {
			out = append(out, rec)
			return nil
		})
	})
	return out, err
}

// Samples are the telemetry of a row; nil: the run has none.
func (r *Run) Samples(row *record.Row) ([]*record.Sample, error) {
	var out []*record.Sample
	err := r.read(row.ID+".telemetry.jsonl.zst", func(f io.Reader) error {
		return record.ReadSamples(f, func(s *record.Sample) error {
			out = append(out, s)
			return nil
		})
	})
	return out, err
}

// read opens a file of the run's directory. A missing file is no error, and neither is a run without a
// directory.
func (r *Run) read(name string, each func(io.Reader) error) error {
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
		return nil
	}
	f, err := os.Open(filepath.Join(r.Dir, filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := each(f); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}
