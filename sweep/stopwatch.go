package sweep

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bench/experiment/record"
)

// stopwatch splits the wall time of an attempt: each lap goes to one part, and no time is between laps.
type stopwatch struct {
	budget  time.Duration // that the run may take in all attempts; 0 = unlimited
	before  time.Duration // that earlier attempts took
	since   time.Time     // begin of the lap that runs
	spent   record.TimeSplit
	lastRow float64 // spent.TotalS at the end of the last row, s; 0: none
}

func (w *stopwatch) lap(part *float64) {
	d := w.next()
	*part = record.RoundSeconds(*part + d)
	w.spent.TotalS = record.RoundSeconds(w.spent.TotalS + d)
}

// rowLap counts the time of a row; of a predicted one what it would have taken, in place of the lap.
func (w *stopwatch) rowLap(row *record.TimeSplit, predicted bool) {
	w.spent.Add(row)
	if own := w.next() - row.TotalS; !predicted {
		w.spent.Add(&record.TimeSplit{OwnS: own, TotalS: own})
	}
	w.lastRow = w.spent.TotalS
}

func (w *stopwatch) taken() time.Duration {
	return w.before + seconds(w.spent.TotalS) + time.Since(w.since)
}

func (w *stopwatch) fits(takes time.Duration) bool {
	return w.budget == 0 || w.taken()+takes <= w.budget
}

// exhausted is the error of a run to resume whose budget is spent; nil: it is not.
func (w *stopwatch) exhausted() error {
	if w.budget == 0 || w.before < w.budget {
		return nil
	}
	return &ResumeError{fmt.Sprintf("the budget of %s is spent: the run took %s\n"+
		"hint: resume with a longer one, such as --set budget=%s", w.budget, w.before.Round(time.Second),
		2*max(w.budget, w.before.Round(time.Minute)))}
}

// next begins a lap, and returns the length of the one before in s.
func (w *stopwatch) next() float64 {
	d := time.Since(w.since).Round(time.Microsecond)
	w.since = w.since.Add(d)
	return d.Seconds()
}

// writeManifest writes run.json with the time that this attempt has taken so far.
func (r *run) writeManifest() error {
	r.watch.lap(&r.watch.spent.OwnS)
	spent, attempt := r.watch.spent, &r.manifest.Attempts[len(r.manifest.Attempts)-1]
	attempt.Time, attempt.LastRowS = &spent, r.watch.lastRow
	for i := range r.manifest.Plan {
		switch p := &r.manifest.Plan[i]; {
		case p.State == "planned" || p.State == record.StateSkipped: // its file can be one of before
			p.SHA256 = ""
		case p.SHA256 == "": // else it stands since the row was written
			p.SHA256 = r.dir.sum(p.ID)
		}
	}
	text, err := r.manifest.Encode()
	if err != nil {
		return err
	}
	return r.dir.write(manifestFile, text)
}

// countCut adds to the time of a killed attempt what the records of its unfinished row show: a lower bound, since a
// kill loses the last records.
func (d directory) countCut(attempts []record.Attempt) []record.Attempt {
	attempts = slices.Clone(attempts)
	if len(attempts) == 0 {
		return attempts
	}
	last := &attempts[len(attempts)-1]
	if last.Ended != "" || last.Time == nil {
		return attempts
	}
	files, _ := os.ReadDir(d.path)
	for _, f := range files {
		info, err := f.Info()
		if !strings.HasSuffix(f.Name(), record.RequestsSuffix+partial) || err != nil ||
			info.ModTime().Before(last.StartedAt) {
			continue // the last: an earlier attempt's
		}
		lost := lastEnd(d.file(f.Name()))
		spent := *last.Time
		spent.Add(&record.TimeSplit{LostS: lost, TotalS: lost})
		last.Time = &spent
	}
	return attempts
}

// lastEnd is the latest end of the requests in a file that a kill cut, s from the begin of the load; 0: none is
// readable.
func lastEnd(name string) float64 {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	var end int64
	_ = record.ReadRecords(f, func(r *record.Record) error { // ends with the cut
		end = max(end, r.End.Us())
		return nil
	})
	return float64(end) / 1e6
}
