package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
)

// observed is what a row's requests and samples show beyond its summary, cut down to what a page can carry.
type observed struct {
	row    *record.Row
	series string
	name   string // as the point is called; with its repeat where there are several
	ecdfs  []ecdf
	pairs  []pair
	panels []panel
}

// evidence is the rows of a run with their requests, one row in memory at a time, and what could not be read.
type evidence struct {
	rows   []observed
	unread table
	budget budget
}

// budget is how much of each row fits, so that a page of many rows stays one that can be mailed.
type budget struct{ steps, bins, pairs int }

// Values that a page carries of all rows together.
const (
	allSteps = 9000
	allBins  = 3500
	allPairs = 3000
)

func budgetOf(rows int) budget {
	rows = max(rows, 1)
	return budget{steps: min(max(allSteps/rows, 12), 120), bins: min(max(allBins/rows, 16), 150), pairs: min(max(allPairs/rows, 5), 300)}
}

// observe reads the requests and the samples of every live row, where there are any.
func (r *Run) observe(o *Outcome) evidence {
	e := evidence{unread: table{id: "unread", caption: "Evidence that could not be read", columns: []column{{head: "row"}, {head: "why"}}}}
	b := budgetOf(len(r.Live()))
	e.budget = b
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		for _, row := range p.Rows {
			name := pointName(s, p)
			if len(p.Rows) > 1 {
				name += fmt.Sprintf(", repeat %d", row.Spec.Repeat)
			}
			records, err := r.records(row)
			samples, err2 := r.samples(row)
			if err := errors.Join(err, err2); err != nil {
				e.unread.rows = append(e.unread.rows, []cell{text(row.ID), text(err.Error())})
			}
			if len(records) > 0 {
				e.rows = append(e.rows, observed{row, s.Label(), name, ecdfsOf(row, records, b.steps), pairsOf(row, records, b.pairs), panelsOf(row, records, samples, b.bins)})
			}
		}
	})
	return e
}

func (r *Run) records(row *record.Row) ([]*record.Record, error) {
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

func (r *Run) samples(row *record.Row) ([]*record.Sample, error) {
	var out []*record.Sample
	err := r.read(row.ID+".telemetry.jsonl.zst", func(f io.Reader) error {
		return record.ReadSamples(f, func(s *record.Sample) error {
			out = append(out, s)
			return nil
		})
	})
	return out, err
}

// read opens a file of the run's directory; one that is not there has nothing to say.
func (r *Run) read(name string, each func(io.Reader) error) error {
	if r.Dir == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(r.Dir, filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) || notDirectory(r.Dir) {
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

// notDirectory says that the results came from one file, beside which there is no evidence.
func notDirectory(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.IsDir()
}

// ecdf is one latency of one class, as order statistics that are evenly spread over the sample.
type ecdf struct {
	metric, class string // class empty: all
	n, without    int    // completed requests that have it; others of the window
	steps         []float64
}

// low is by how much a share that is read off the drawn curve can be too low: between two steps it stays at the first.
func (e ecdf) low() float64 {
	k := len(e.steps)
	if k == e.n {
		return 0
	}
	if k == 1 {
		return 0 // the largest is drawn, and all of the requests took no longer
	}
	gap := (e.n - 1 + k - 2) / (k - 1) // ranks, rounded up
	return float64(gap-1) / float64(e.n)
}

// shownLatencies are those that the page draws.
var shownLatencies = []string{"ttft", "tpot", "e2e"}

func ecdfsOf(row *record.Row, records []*record.Record, steps int) []ecdf {
	classes := []string{""}
	for name := range row.Classes {
		classes = append(classes, name)
	}
	slices.Sort(classes)
	var out []ecdf
	for _, metric := range shownLatencies {
		for _, class := range classes {
			e := ecdf{metric: metric, class: class}
			var values []float64
			for _, r := range records {
				if r.Phase != record.PhaseWindow || class != "" && r.Class != class {
					continue
				}
				if ms, ok := r.Latency(metric, row.Spec.Streams()); ok && r.OK() {
					values = append(values, ms)
				} else {
					e.without++
				}
			}
			if e.n = len(values); e.n > 0 {
				e.steps = stepsOf(values, steps)
				out = append(out, e)
			}
		}
	}
	return out
}

// stepsOf keeps so many order statistics of a sample, the smallest and the largest among them: the j-th of k is that of rank
// j·(n−1)/(k−1), rounded down, from 0. The page's script knows the rule, and gives each its share.
func stepsOf(values []float64, most int) []float64 {
	slices.Sort(values)
	n := len(values)
	out := make([]float64, min(n, most))
	for j := range out {
		i := n - 1
		if len(out) > 1 {
			i = j * (n - 1) / (len(out) - 1)
		}
		out[j] = short(values[i])
	}
	return out
}

// pair is one request: its prompt's tokens and its ttft.
type pair struct{ tokens, ms float64 }

// pairsOf takes so many requests of the window, evenly spread over it.
func pairsOf(row *record.Row, records []*record.Record, most int) []pair {
	var all []pair
	for _, r := range records {
		ms, ok := r.Latency("ttft", row.Spec.Streams())
		if !ok || !r.OK() || r.Phase != record.PhaseWindow {
			continue
		}
		tokens := r.PromptAsked
		if r.PromptTokens != nil {
			tokens = *r.PromptTokens
		}
		all = append(all, pair{float64(tokens), short(ms)})
	}
	if len(all) <= most {
		return all
	}
	out := make([]pair, most)
	for i := range out {
		out[i] = all[i*len(all)/most]
	}
	return out
}
