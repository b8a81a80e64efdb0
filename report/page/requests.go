package page

import (
	"errors"
	"fmt"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/report"
)

// observed is a row's requests and samples, reduced to what a page can carry.
type observed struct {
	row    *record.Row
	series string
	name   string // of the point, with the repeat if there are several
	ecdfs  []ecdf
	pairs  []pair
	panels []panel
}

// evidence is the rows of a run that have requests, and the files that could not be read.
type evidence struct {
	rows   []observed
	unread report.Table
	budget budget
}

// budget limits the values of each row, so that a page of many rows can still be mailed.
type budget struct{ steps, bins, pairs int }

// Limits of all rows together.
const (
	allSteps = 9000
	allBins  = 3500
	allPairs = 3000
)

func budgetOf(rows int) budget {
	rows = max(rows, 1)
	return budget{steps: min(max(allSteps/rows, 12), 120), bins: min(max(allBins/rows, 16), 150), pairs: min(max(allPairs/rows, 5), 300)}
}

// observe reads the requests and the samples of every live row, one row in memory at a time.
func observe(r *report.Run, o *report.Outcome) evidence {
	e := evidence{unread: report.Table{ID: "unread", Caption: "Unreadable records", Columns: []report.Column{{Head: "row"}, {Head: "why"}}}}
	e.budget = budgetOf(len(r.Live()))
	b := e.budget
	o.Each(func(s *series.Series, p *series.Point) {
		for _, row := range p.Rows {
			name := s.PointName(p)
			if len(p.Rows) > 1 {
				name += fmt.Sprintf(", repeat %d", row.Spec.Repeat)
			}
			records, err := r.Requests(row)
			samples, err2 := r.Samples(row)
			if err := errors.Join(err, err2); err != nil {
				e.unread.Add(report.TextCell(row.ID), report.TextCell(err.Error()))
			}
			if len(records) > 0 {
				e.rows = append(e.rows, observed{row, s.Label(), name, ecdfsOf(row, records, b.steps), pairsOf(row, records, b.pairs), panelsOf(row, records, samples, b.bins)})
			}
		}
	})
	return e
}

// ecdf is one latency of one class, as evenly spaced order statistics.
type ecdf struct {
	metric, class string // class empty: all
	n, without    int    // completed requests with the latency; other requests of the window
	steps         []float64
}

// maxError is the largest error of a share read off the drawn curve: between two steps it stays at the first.
func (e ecdf) maxError() float64 {
	k := len(e.steps)
	if k == e.n || k == 1 { // a single step is the largest value
		return 0
	}
	gap := (e.n - 1 + k - 2) / (k - 1) // ranks, rounded up
	return float64(gap-1) / float64(e.n)
}

// shownLatencies are the latencies that the page draws.
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

// stepsOf sorts values and keeps at most `most` order statistics, the smallest and the largest among them:
// the j-th of k has rank j·(n−1)/(k−1), rounded down, from 0. page.js computes its share by the same rule.
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

// pair is one request: prompt tokens and TTFT.
type pair struct{ tokens, ms float64 }

// pairsOf takes at most `most` requests, evenly spread over the window.
func pairsOf(row *record.Row, records []*record.Record, most int) []pair {
	var all []pair
	for _, r := range records {
		ms, ok := r.Latency("ttft", row.Spec.Streams())
		if !ok || !r.OK() || r.Phase != record.PhaseWindow {
			continue
		}
		tokens := r.PromptRequested
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
