package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"bench/experiment/record"
)

// findRecords lists the rows without a file of requests. Every sweep writes one, also of a row without requests.
func (r *Run) findRecords() {
	for _, row := range r.Live() {
		if _, err := fs.Stat(r.Files, row.ID+record.RequestsSuffix); errors.Is(err, fs.ErrNotExist) {
			r.WithoutRecords = append(r.WithoutRecords, row.ID)
		}
	}
}

func (r *Run) Lost() []string {
	return slices.DeleteFunc(slices.Clone(r.Missing), func(id string) bool { return r.State(id) != lost })
}

const lost = "lost"

func (r *Run) State(id string) string {
	p := r.planned(id)
	switch {
	case p == nil:
		return "removed"
	case p.State == "done" && slices.Contains(r.Missing, id):
		return lost
	}
	return p.State
}

// Notices stand on top of a report.
func (r *Run) Notices() []string {
	lines := append(r.predictedLines(), r.Evaluated.Lines()...)
	if text := budgetLine(r.Manifest.Budget); text != "" {
		lines = append(lines, text)
	}
	if n := len(r.WithoutRecords); n > 0 {
		lines = append(lines, "request records are missing, their figures cannot be checked: "+
			andMore(r.WithoutRecords[0], n-1))
	}
	if n := len(r.Altered); n > 0 {
		lines = append(lines, "changed after the run, or unreadable: "+andMore(r.Altered[0], n-1)+
			" (bench verify lists them)")
	}
	return lines
}

// CheckEvidence adds to Altered the files of rows that are not those that the rows were concluded from. It reads each
// whole, and decompresses none.
func (r *Run) CheckEvidence() *Run {
	for _, row := range r.Live() {
		if !slices.Contains(r.WithoutRecords, row.ID) {
			r.Altered = append(r.Altered, row.AlteredEvidence(r.Files)...)
		}
	}
	return r
}

func (r *Run) Requests(row *record.Row) ([]*record.Record, error) { return r.requests(row, true) }

// Times are Requests; they may lack gaps and tokens of events.
func (r *Run) Times(row *record.Row) ([]*record.Record, error) { return r.requests(row, false) }

func (r *Run) requests(row *record.Row, lists bool) (out []*record.Record, err error) {
	if r.Records != nil {
		return r.Records(row)
	}
	err = r.readFile(row.ID+record.RequestsSuffix, func(f io.Reader) error {
		return row.ReadRequests(f, lists, func(rec *record.Record) error {
			out = append(out, rec)
			return nil
		})
	})
	return out, err
}

func (r *Run) Samples(row *record.Row) ([]*record.Sample, error) {
	var out []*record.Sample
	err := r.readFile(row.ID+record.TelemetrySuffix, func(f io.Reader) error {
		return row.ReadTelemetry(f, func(s *record.Sample) error {
			out = append(out, s)
			return nil
		})
	})
	return out, err
}

// A missing file is no error, and neither is a run without a directory.
func (r *Run) readFile(name string, each func(io.Reader) error) error {
	files := r.Files
	if info, err := os.Stat(r.Dir); files == nil && err == nil && info.IsDir() {
		files = os.DirFS(r.Dir)
	}
	if files == nil {
		return nil
	}
	f, err := record.OpenRegular(files, path.Base(name))
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
