package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report"
	"bench/report/why"
)

// trial is one server with one planted cause or two.
type trial struct {
	seed   uint64
	causes []cause

	parts    []part
	rejected int
	leftOut  []string
	err      error
}

// part is what bench why and the simulator say of a planted cause, or of an absent one.
type part struct {
	row, metric string
	cause       string // planted; of two that have the same names in bench why both; an absent one as bench why names it
	absent      bool
	truth       float64 // share of A, as those of Part
	why.Part            // zero: not named
	change      why.Part
	rest        why.Part
}

// named reports whether a reader is told of it.
func (p *part) named() bool {
	const smallest = 0.005 // as in report/why
	return (p.Low > 0 || p.High < 0) && math.Abs(p.Share) >= smallest
}

func trials(alone, pairs int, seed uint64) (out []*trial) {
	for i, c := range causes {
		for k := range alone {
			out = append(out, &trial{seed: seed*1e6 + uint64(1000*i+k), causes: []cause{c}})
		}
		for j, d := range causes[i+1:] {
			for k := range pairs {
				out = append(out, &trial{seed: seed*1e6 + uint64(100_000+1000*(14*i+j)+k), causes: []cause{c, d}})
			}
		}
	}
	return out
}

func (t *trial) String() string {
	var names []string
	for _, c := range t.causes {
		names = append(names, c.name)
	}
	return strings.Join(names, " + ")
}

func (t *trial) has(name string) bool {
	return slices.ContainsFunc(t.causes, func(c cause) bool { return c.name == name })
}

// worlds are the server with each set of the causes, by their bits. All of them bear their load.
func (t *trial) worlds() []*world {
	rng := rand.New(rand.NewPCG(t.seed, 1))
	for {
		base := draw(rng, t.has("prefix cache off"), t.has("higher rate"))
		var sizes []float64
		for range t.causes {
			sizes = append(sizes, 0.05*math.Pow(12, rng.Float64())) // 5 to 60 %
		}
		all, bearable := make([]*world, 1<<len(t.causes)), true
		for set := range all {
			w := *base
			w.rates = slices.Clone(base.rates)
			for i, c := range t.causes {
				if set>>i&1 == 1 {
					c.plant(&w, base, sizes[i])
				}
			}
			all[set], bearable = &w, bearable && w.bearable()
		}
		if bearable {
			return all
		}
	}
}

func (t *trial) run(dir string) {
	worlds := t.worlds()
	runs := make([]*report.Run, len(worlds))
	for i, w := range worlds {
		if runs[i], t.err = w.serve(dir, t.seed); t.err != nil {
			return
		}
	}
	r := why.Of(runs[0], runs[len(runs)-1], why.All)
	t.leftOut = r.LeftOut
	for i := range r.Rows {
		if t.err = t.judge(runs, i, &r.Rows[i]); t.err != nil {
			return
		}
	}
}

// judge compares the parts of a row with the truth. The rows of all runs are in the same order.
func (t *trial) judge(runs []*report.Run, i int, row *why.Row) error {
	var figures []map[string]float64 // by set
	for _, run := range runs {
		f, err := measured(run, row.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", row.Name, err)
		}
		figures = append(figures, f)
	}
	for k := range row.Figures {
		f := &row.Figures[k]
		const smallest = 0.02
		switch {
		case !(f.Change.Low > 0 || f.Change.High < 0) || math.Abs(f.Change.Share) < smallest:
		case f.Rejected != "":
			t.rejected++
		default:
			t.judgeFigure(figures, row.Name, f)
		}
	}
	return nil
}

func (t *trial) judgeFigure(figures []map[string]float64, row string, f *why.Figure) {
	log := func(set int) float64 { return math.Log(figures[set][f.Metric]) }
	var truths []float64
	total := log(len(figures)-1) - log(0)
	if truths = []float64{total}; len(t.causes) == 2 {
		truths = []float64{(log(1) - log(0) + log(3) - log(2)) / 2, (log(2) - log(0) + log(3) - log(1)) / 2}
	}
	factor := math.Expm1(total) / total
	by := map[string]why.Part{}
	for _, p := range f.Parts {
		by[p.Cause] = p
	}
	add := func(name string, names []string, truth float64, absent bool) {
		p := part{row: row, metric: f.Metric, cause: name, truth: factor * truth, absent: absent, change: f.Change,
			rest: by[why.Unexplained]}
		low, high := 0.0, 0.0
		for _, n := range names {
			x := by[n]
			p.Share += x.Share
			low, high = math.Hypot(low, x.Share-x.Low), math.Hypot(high, x.High-x.Share)
		}
		p.Low, p.High = p.Share-low, p.Share+high
		t.parts = append(t.parts, p)
	}
	planted := slices.Clone(t.causes[0].named)
	if n := len(t.causes); n == 2 {
		other := t.causes[1].named
		if overlap := slices.ContainsFunc(other, func(s string) bool { return slices.Contains(planted, s) }); overlap {
			planted = slices.Compact(slices.Sorted(slices.Values(slices.Concat(planted, other))))
			add(t.String(), planted, total, false)
		} else {
			add(t.causes[0].name, planted, truths[0], false)
			add(t.causes[1].name, other, truths[1], false)
			planted = slices.Concat(planted, other)
		}
	} else {
		add(t.causes[0].name, planted, total, false)
	}
	for _, name := range []string{why.Arrivals, why.Prompts, why.Outputs, why.CacheHits, why.StepTime, why.Prefill,
		why.FrontEnd, why.Batching, why.Client} {
		if !slices.Contains(planted, name) {
			add(name, []string{name}, 0, true)
		}
	}
}

// measured are the figures of a row, from its records alone.
func measured(run *report.Run, name string) (map[string]float64, error) {
	for i := range run.Rows {
		row := &run.Rows[i]
		if row.Spec.Label() != name {
			continue
		}
		records, err := run.Requests(row)
		if err != nil {
			return nil, err
		}
		return percentiles(records), nil
	}
	return nil, errors.New("no such row")
}

func percentiles(records []*record.Record) map[string]float64 {
	values := map[string][]float64{}
	for _, r := range records {
		if r.Phase != record.PhaseWindow || !r.OK() {
			continue
		}
		us := func(m record.Micros) float64 { return float64(m.Us()) }
		values["ttft"] = append(values["ttft"], us(r.First)-us(r.Arrival))
		values["e2e"] = append(values["e2e"], us(r.Last)-us(r.Arrival))
		if r.OutputTokens > 1 {
			values["tpot"] = append(values["tpot"], (us(r.Last)-us(r.First))/float64(r.OutputTokens-1))
		}
	}
	out := map[string]float64{}
	for metric, v := range values {
		slices.Sort(v)
		out[metric+"_p50"], out[metric+"_p95"] = stats.Quantile(v, 0.5), stats.Quantile(v, 0.95)
	}
	return out
}
