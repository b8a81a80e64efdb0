package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"syscall"

	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// mostCuts is how often a row that a worker cut is sent again.
const mostCuts = 2

// attempts measures one point. A row that a worker cuts is sent again, with other prompts, once all workers are there.
func (r *run) attempts(ctx context.Context, e RowEvent, hash string) (*record.Row, error) {
	if r.Workers == nil {
		return r.row(ctx, e, hash, saltOf(&r.manifest, e.ID, 0))
	}
	before := ""
	for cuts := 0; ; cuts++ {
		if err := r.Workers.Complete(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s: %w\nhint: %s", e.ID, err, r.resumeHint("start them", r.dir.path))
		}
		row, err := r.row(ctx, e, hash, saltOf(&r.manifest, e.ID, cuts))
		cut := new(endpoint.WorkerError)
		if ctx.Err() != nil || !errors.As(err, &cut) {
			return row, err
		}
		if cuts == mostCuts || cut.Reported && cut.Error() == before {
			return nil, fmt.Errorf("%s was cut %d times: %w\nhint: %s", e.ID, cuts+1, err,
				r.resumeHint("fix the worker", r.dir.path))
		}
		before = cut.Error()
		again := e
		again.Reason = before
		r.Event(Event{Cut: &again})
	}
}

// row measures a row, whose spec has a hash.
func (r *run) row(ctx context.Context, e RowEvent, hash, salt string) (*record.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	spaceHint := r.resumeHint("free some space", r.dir.path)
	if err := r.dir.reserve(); err != nil {
		return nil, fmt.Errorf("%w\nhint: %s", err, spaceHint)
	}
	// The summary of an old spec is moved first: it must never stand beside the records of another.
	if err := r.dir.replace(e.ID, r.changed.aside); err != nil {
		return nil, err
	}
	records, err := begin(r.dir.directory, e.ID+record.RequestsSuffix, record.NewRecordWriter)
	if err != nil {
		return nil, err
	}
	samples, err := begin(r.dir.directory, e.ID+record.TelemetrySuffix, telemetry.NewWriter)
	if err != nil {
		records.abandon()
		return nil, err
	}
	e.Progress = &endpoint.Progress{}
	r.Event(Event{Begun: &e})
	config := endpoint.RunConfig{
		Spec: e.Spec, ID: e.ID, Salt: salt, Roofline: r.Roofline, Each: records.w.Write, Sample: samples.w.Write,
		Progress: e.Progress, Stop: r.Ends, Workers: r.Workers,
	}
	if r.serving != nil {
		config.ServerStart = r.serving.N
	}
	tidy, err := spool(r.dir.directory, &config, records)
	defer tidy()
	var row *record.Row
	if err == nil {
		r.watch.lap(&r.watch.spent.OwnS)
		row, err = r.Server.Run(ctx, config)
	}
	if err != nil {
		r.watch.lap(&r.watch.spent.LostS)
		records.abandon()
		samples.abandon()
		return nil, diskFull(err, spaceHint)
	}
	r.watch.rowLap(row.Time, r.Predicted != nil)
	if err := errors.Join(samples.finish(), records.finish()); err != nil {
		return nil, diskFull(err, spaceHint)
	}
	row.Evidence = &record.Evidence{Requests: records.stored(), Telemetry: samples.stored()}
	row.SpecHash, row.Server.Attempt = hash, len(r.manifest.Attempts)
	if r.serving != nil {
		row.Server.Start = r.serving.N
	}
	row.Sampling = r.secrets.HideIn(row.Sampling)
	for class, own := range row.ClassSampling {
		row.ClassSampling[class] = r.secrets.HideIn(own)
	}
	return row, diskFull(r.dir.writeRow(row), spaceHint)
}

// spool keeps the samples and records of a very long row on disk while it runs. tidy removes the samples.
func spool(dir directory, config *endpoint.RunConfig, records *stream[*record.RecordWriter]) (tidy func(), err error) {
	if !config.Spec.SpoolsRecords() {
		return func() {}, nil
	}
	f, err := os.Create(dir.file(config.ID + scratchSuffix))
	if err != nil {
		return func() {}, fmt.Errorf("making a file for samples: %w", err)
	}
	config.SampleFile = f
	config.Reread = func(each func(*record.Record) error) error { return reread(records, each) }
	return func() {
		_ = f.Close() // it has been read, or is not needed
		_ = os.Remove(f.Name())
	}, nil
}

// reread reads the records of the row in progress. No record can be written after it.
func reread(records *stream[*record.RecordWriter], each func(*record.Record) error) error {
	if err := records.end(); err != nil {
		return err
	}
	f, err := os.Open(records.f.Name())
	if err != nil {
		return fmt.Errorf("reading %s again: %w", records.name, err)
	}
	defer f.Close()
	return record.ReadRecords(f, each)
}

// saltOf makes the prompts of each row, repeat, run and attempt unique, and of a row that workers cut before.
func saltOf(m *record.Manifest, id string, cuts int) string {
	text := fmt.Appendf(nil, "%s/%s/%d", m.Salt, id, len(m.Attempts))
	if cuts > 0 {
		text = fmt.Appendf(text, "/%d", cuts)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// diskFull adds a hint to the error of a disk that filled up during a row.
func diskFull(err error, hint string) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nhint: %s", err, hint)
	}
	return err
}

func firstError(row *record.Row) string {
	for _, d := range row.Findings {
		if d.Code == "errors" {
			return d.Text
		}
	}
	return "see its records"
}
