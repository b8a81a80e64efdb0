package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/report/parallel"
)

type Evaluation struct {
	Given  string                 // the limits as the user gave them; empty: those of the rows
	Limits func(*experiment.Spec) // replaces the limits of a row; nil: they stay
	// of this program; rows that it made keep their figures under other limits; empty: none does
	Commit   string
	Models   roofline.Models
	Hardware roofline.Hardware // a model or a device that the tables lack leaves the row its stored roofline

	// Rows sees the rows before searches and twins are derived from them, and its error ends the evaluation, as do
	// records that cannot be read; nil: all rows do.
	Rows func([]record.Row) error

	// Target replaces hardware, gpus and precision of the run, each if it is not zero.
	Target experiment.Target
}

type Evaluated struct {
	Text   string `json:"text"`             // both SLOs; or that the rows' own holds
	Limits string `json:"limits,omitempty"` // as given; absent = the rows' own
	// rows without readable records: their figures are those of the files, other limits are UNDECIDED
	Stored []string `json:"stored,omitempty"`
	open   []string // of them, those without a verdict
}

// EvaluateAgain derives everything again from the request records, in memory alone.
func (r *Run) EvaluateAgain(by Evaluation) error {
	done := &Evaluated{Limits: by.Given}
	setHardware(&r.Manifest, by.Target)
	again, failed := make([]*record.Row, len(r.Rows)), make([]error, len(r.Rows))
	parallel.Do(len(r.Rows), func(i int) int64 { return r.Rows[i].RecordBytes() }, func(i int) {
		again[i], failed[i] = by.rowAgain(r, &r.Rows[i])
	})
	var was, is []*experiment.Spec
	rows := slices.Clone(r.Rows)
	for i, row := range again {
		if row != nil {
			rows[i] = *row
			was, is = append(was, &r.Rows[i].Spec), append(is, &rows[i].Spec)
			continue
		}
		done.Stored = append(done.Stored, r.Rows[i].ID)
		if by.Limits != nil { // the file's verdicts are on others
			by.Limits(&rows[i].Spec)
		} else if failed[i] == nil {
			continue
		}
		done.open = append(done.open, r.Rows[i].ID)
		verdict.Unjudged(&rows[i], cmp.Or(failed[i], errMissing).Error())
	}
	r.Rows = rows
	if by.Rows != nil {
		if err := cmp.Or(append(failed, by.Rows(rows))...); err != nil {
			return err
		}
	}
	fitted := map[string]*series.Twin{}
	if len(is) > 0 || by.Limits != nil { // else nothing was derived again
		live, known := r.Stored(), r.Manifest.Twins
		if slices.ContainsFunc(live, func(row record.Row) bool { return !by.made(r, &row) }) {
			known = nil
		}
		r.Manifest.Twins = series.Twins(live, r.Manifest.Slots(), r.Requests, fitted, known)
	}
	searchAgain(r, by.Limits != nil, done.open, fitted)
	switch {
	case len(is) == 0:
		done.Text = "not evaluated again: no row has request records"
	case by.Limits == nil:
		done.Text = "recomputed from the records by this version"
	default:
		done.Text = fmt.Sprintf("evaluated again with %s (the run's own: %s)", limitsText(is), limitsText(was))
	}
	if by.statesHardware() {
		done.Text += "; roofline of " + hardwareText(&r.Manifest.Target)
	}
	r.Evaluated = done
	return nil
}

var errMissing = errors.New("its requests are missing")

// rowAgain is nil for a row without readable records: the other rows are evaluated.
func (by *Evaluation) rowAgain(r *Run, stored *record.Row) (*record.Row, error) {
	records, err := r.Requests(stored)
	if err != nil || len(records) == 0 || stored.Window == (record.Window{}) { // another tool's row has no window
		return nil, err
	}
	row := *stored
	if by.Limits != nil {
		by.Limits(&row.Spec)
	}
	if by.made(r, stored) {
		return verdict.UnderLimits(&row, records, by.target(&r.Manifest, stored)), nil
	}
	if row.Client, err = clientUsage(r, stored); err != nil {
		return nil, err
	}
	return verdict.Again(&row, records, by.target(&r.Manifest, stored), by.rooflineOf(&r.Manifest, stored)), nil
}

// made reports whether the figures of a row are those that it gets under other limits.
func (by *Evaluation) made(r *Run, row *record.Row) bool {
	return by.Limits != nil && by.Commit != "" && r.Manifest.Client.Commit == by.Commit &&
		row.Server.Attempt == len(r.Manifest.Attempts) && !by.statesHardware()
}

func setHardware(m *record.Manifest, by experiment.Target) {
	t := &m.Target
	t.Hardware, t.GPUs = cmp.Or(by.Hardware, t.Hardware), cmp.Or(by.GPUs, t.GPUs)
	t.Precision = cmp.Or(by.Precision, t.Precision)
	known := map[string]bool{"hardware": t.Hardware != "", "gpus": t.GPUs > 0, "precision": t.Precision != ""}
	m.Unspecified = slices.DeleteFunc(slices.Clone(m.Unspecified),
		func(key string) bool { return known[key] })
}

func (by *Evaluation) statesHardware() bool {
	return by.Target.Hardware != "" || by.Target.GPUs != 0 || by.Target.Precision != ""
}

func clientUsage(r *Run, row *record.Row) (*telemetry.Usage, error) {
	stored, err := r.Samples(row)
	if err != nil {
		return nil, fmt.Errorf("reading the telemetry of %s: %w", row.ID, err)
	}
	samples := make([]telemetry.Sample, 0, len(stored))
	for _, s := range stored {
		samples = append(samples, *s)
	}
	u := telemetry.Summarize(samples, row.Window.StartUs, row.Window.EndUs)
	if u == nil || row.Client == nil {
		return row.Client, nil
	}
	u.MaxProcs = row.Client.MaxProcs // of the machine that measured
	return u, nil
}

// target is the [target] of a row, without what only requests need. Variants of a prediction have GPUs of their own.
func (by *Evaluation) target(m *record.Manifest, row *record.Row) experiment.Target {
	t := m.Target
	gpus := t.GPUs
	if row.Predicted && row.Roofline != nil {
		gpus = cmp.Or(by.Target.GPUs, row.Roofline.GPUs)
	}
	return experiment.Target{Hardware: t.Hardware, GPUs: gpus, Precision: t.Precision,
		GPUHourUSD: m.GPUHourUSD}
}

// rooflineOf is the source of a row's roofline: of its own model, since servers of a run can have several.
func (by *Evaluation) rooflineOf(m *record.Manifest, row *record.Row) record.RooflineSource {
	model, kv := m.Target.Model, ""
	if row.Roofline != nil {
		model, kv = row.Roofline.Model, row.Roofline.KV
	}
	source := record.NewRooflineSource(by.Models, by.Hardware, model, by.target(m, row)).WithKV(kv)
	if by.statesHardware() { // the stored roofline is of other hardware
		return source
	}
	return source.Or(row.Roofline)
}

// searchAgain: probes without a verdict do not count.
func searchAgain(r *Run, otherLimits bool, open []string, fitted map[string]*series.Twin) {
	r.Manifest.Searches = slices.Clone(r.Manifest.Searches)
	if otherLimits { // the race was run under the old ones
		r.Manifest.Tune = nil
	}
	for i := range r.Manifest.Searches {
		was := &r.Manifest.Searches[i]
		var probes []*record.Row
		for k := range r.Rows {
			row := &r.Rows[k]
			if was.Probed(&row.Spec) && !r.removed(row.ID) && !slices.Contains(open, row.ID) {
				probes = append(probes, row)
			}
		}
		switch {
		case len(probes) == 0 && otherLimits: // its answer is that of the run's own limits
			was.State, was.Bracket, was.Text = "unprobed", stats.Bracket{}, was.Name+
				": not evaluated again: no probe has request records"
			continue
		case len(probes) == 0:
			continue
		}
		result := func(again bool) record.Found {
			return series.SearchResult(&was.Search, &probes[0].Spec, probes, fitted[probes[0].ID], 0, again)
		}
		now := result(false)
		if otherLimits || now.State != was.State {
			now = result(true)
		}
		*was = now
	}
}

func (e *Evaluated) Lines() []string {
	if e == nil {
		return nil
	}
	lines := []string{e.Text}
	if len(e.open) > 0 {
		lines = append(lines, "without readable records, so UNDECIDED: "+andMore(e.open))
	} else if len(e.Stored) > 0 {
		lines = append(lines, "without records, with the verdicts of the file: "+andMore(e.Stored))
	}
	return lines
}

// limitsText is the limits that all rows have, and whether rows have others: "ttft_p95 ≤ 1 s, others by row".
func limitsText(specs []*experiment.Spec) string {
	common, differ := limitsOf(specs[0]), false
	for _, s := range specs[1:] {
		own := limitsOf(s)
		differ = differ || !slices.Equal(own, limitsOf(specs[0]))
		common = slices.DeleteFunc(common, func(l string) bool { return !slices.Contains(own, l) })
	}
	switch {
	case differ && len(common) == 0:
		return "limits by row"
	case differ:
		common = append(common, "others by row")
	case len(common) == 0:
		return "no limit"
	}
	return strings.Join(common, ", ")
}

// limitsOf is the limits of one row and its classes: "ttft_p95 ≤ 1 s", "ttft_p95 ≤ 500 ms (class chat)".
func limitsOf(s *experiment.Spec) (texts []string) {
	add := func(l experiment.Limit, key, class string) {
		texts = append(texts, verdict.LimitText(&record.Verdict{Metric: key, Class: class, Limit: l.Value,
			Unit: l.Unit}))
	}
	for _, l := range s.SLO.Limits {
		add(l, l.Key, "")
	}
	for _, l := range s.SLO.Each {
		add(l, "each."+l.Key, "")
	}
	for _, c := range s.Mix {
		for _, l := range s.ClassSLO(c).Limits {
			if len(c.SLO) > 0 && !slices.Contains(s.SLO.Limits, l) {
				add(l, l.Key, c.Name)
			}
		}
	}
	return texts
}
