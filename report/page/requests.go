package page

import (
	"errors"
	"fmt"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/report"
	"bench/report/parallel"
)

type observed struct {
	row    *record.Row
	series string
	name   string // of the point, with the repeat if there are several

	requests int // 0: the fields below are empty

	ecdfs  []ecdf
	pairs  []pair
	panels []panel

	rotations []record.RotationSpan // of a tiling row

	steps []verdict.Step // of the limits on latencies
}

type evidence struct {
	rows    []observed
	unread  report.Table
	budget  budget
	crowded bool // by too many requests to judge the rows under every limit
}

// mostJudged is the number of requests whose rows are judged under every limit: two limits add 1.4 s of CPU, over a
// third of what the page costs.
const mostJudged = 500_000

// budget limits the values of each row, so that a page of many rows can still be mailed.
type budget struct{ steps, bins, pairs int }

const (
	allSteps = 9000
	allBins  = 1200
	allPairs = 3000
)

func budgetOf(rows int) budget {
	rows = max(rows, 1)
	return budget{steps: min(max(allSteps/rows, 12), 60), bins: min(max(allBins/rows, 16), 100),
		pairs: min(max(allPairs/rows, 5), 200)}
}

func observe(r *report.Run, o *report.Analysis) evidence {
	e := evidence{unread: report.Table{ID: "unread", Caption: "Unreadable records",
		Columns: []report.Column{{Head: "row"}, {Head: "why"}}}}
	e.budget = budgetOf(len(r.Stored()))
	var rows []observed
	requests := 0
	o.Each(func(s *series.Series, p *series.Point) {
		for _, row := range p.Rows {
			name := s.PointName(p)
			if len(p.Rows) > 1 {
				name += fmt.Sprintf(", repeat %d", row.Spec.Repeat)
			}
			rows = append(rows, observed{row: row, series: s.Label(), name: name})
			requests += row.Summary.Requests.Sent
		}
	})
	e.crowded = requests > mostJudged
	unread := make([]error, len(rows))
	parallel.Do(len(rows), func(i int) int64 { return rows[i].row.RecordBytes() }, func(i int) {
		unread[i] = rows[i].read(r, e.budget, !e.crowded)
	})
	for i, err := range unread {
		if err != nil {
			e.unread.Add(report.TextCell(rows[i].row.ID), report.TextCell(err.Error()))
		}
	}
	e.rows = slices.DeleteFunc(rows, func(r observed) bool { return r.requests == 0 })
	return e
}

func (o *observed) read(r *report.Run, b budget, judged bool) error {
	records, err := r.Requests(o.row)
	samples, err2 := r.Samples(o.row)
	if o.requests = len(records); o.requests > 0 {
		o.ecdfs, o.pairs = ecdfsOf(o.row, records, b.steps), pairsOf(o.row, records, b.pairs)
		o.panels, o.rotations = panelsOf(o.row, records, samples, b.bins), rotationsOf(o.row, records, b.bins)
		if judged && !o.row.Observed {
			o.steps = verdict.Steps(o.row, records)
		}
	}
	return errors.Join(err, err2)
}

type ecdf struct {
	metric, class string // class empty: all
	n, without    int    // completed requests with the latency (of itl: gaps); other requests of the window
	steps         []float64
}

func ecdfsOf(row *record.Row, records []*record.Record, steps int) []ecdf {
	classes := []string{""}
	for name := range row.Classes {
		classes = append(classes, name)
	}
	slices.Sort(classes)
	var out []ecdf
	for _, class := range classes {
		of := slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool {
			return r.Phase != record.PhaseWindow || class != "" && r.Class != class
		})
		for _, latency := range metric.Shown {
			if latency == "ttfo" && row.Summary.Reasoning == nil {
				continue
			}
			e := latencyECDF(row, of, latency, steps)
			if latency == "itl" {
				e = gapsECDF(of, steps)
			}
			if e.metric, e.class = latency, class; e.n > 0 {
				out = append(out, e)
			}
		}
	}
	return out
}

func latencyECDF(row *record.Row, records []*record.Record, metric string, steps int) ecdf {
	var e ecdf
	var values []float64
	for _, r := range records {
		if ms, ok := r.Latency(metric, row.Spec.Streams()); ok && r.OK() {
			values = append(values, ms)
		} else {
			e.without++
		}
	}
	slices.Sort(values)
	e.n = len(values)
	e.steps = stepsOf(e.n, steps, func(i int) float64 { return values[i] })
	return e
}

// gapsECDF pools the gaps of the requests, which can be many millions.
func gapsECDF(records []*record.Record, steps int) ecdf {
	var e ecdf
	var gaps stats.Counts
	for _, r := range records {
		if !r.OK() || r.Gaps.IsZero() {
			e.without++
			continue
		}
		for us := range r.Gaps.All() {
			gaps.Add(us)
		}
	}
	e.n = gaps.N()
	sorted := gaps.Sorted(record.UsPerMs)
	e.steps = stepsOf(e.n, steps, func(i int) float64 {
		return sorted.Quantile(float64(i) / float64(max(1, e.n-1)))
	})
	return e
}

// stepsOf are at most `most` order statistics of n values, the smallest and the largest among them: the j-th
// of k has rank j·(n−1)/(k−1), rounded down, from 0. charts.js computes its share by the same rule.
func stepsOf(n, most int, at func(rank int) float64) []float64 {
	out := make([]float64, min(n, most))
	for j := range out {
		i := n - 1
		if len(out) > 1 {
			i = j * (n - 1) / (len(out) - 1)
		}
		out[j] = short(at(i))
	}
	return out
}

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
