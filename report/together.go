package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/report/compare"
)

// together is several runs beside each other: what each says, their curves on one scale, and how far the others are from the first.
type together struct {
	runs     []*Run
	outcomes []*Outcome
	names    []string // as the legend and the tables call the runs
}

// togetherView is that at the head of the page.
type togetherView struct {
	Names, IDs []string
	Figures    []figure
	Rest       []tableView
}

// togetherID begins the anchors; those of a run begin with r and its number.
const togetherID = "all"

func newTogether(runs []*Run, outcomes []*Outcome) together {
	t := together{runs: runs, outcomes: outcomes}
	matrices := map[string]bool{}
	for _, r := range runs {
		matrices[r.Manifest.Matrix] = true
	}
	for i, r := range runs {
		name := or(r.Manifest.Run, fmt.Sprintf("run %d", i+1))
		if len(matrices) > 1 {
			name = strings.TrimSpace(r.Manifest.Matrix + " " + name)
		}
		if slices.Contains(t.names, name) {
			name += fmt.Sprintf(" (%d)", i+1)
		}
		t.names = append(t.names, name)
	}
	return t
}

func (t together) view() (*togetherView, error) {
	v := &togetherView{Names: t.names}
	for i := range t.runs {
		v.IDs = append(v.IDs, runID(i))
	}
	overlay, err := t.overlay()
	if err != nil {
		return nil, err
	}
	f, err := newFigure(togetherID, []chart{overlay}, t.table(), false)
	if err != nil {
		return nil, err
	}
	v.Figures = []figure{f}
	for i := range t.runs[1:] {
		c, err := compare.Compare(t.side(0), t.side(i+1), compare.Options{})
		if err != nil {
			return nil, fmt.Errorf("comparing %s with %s: %w", t.names[i+1], t.names[0], err)
		}
		for _, x := range []table{changesTable(c), differencesTable("beside", c.New+" against "+c.Base+": what else differs", c.Differences), unmatchedTable(c)} {
			if len(x.rows) > 0 {
				x.id += fmt.Sprintf("-%d", i+1)
				v.Rest = append(v.Rest, newTableView(togetherID, x))
			}
		}
	}
	return v, nil
}

func (t together) side(i int) compare.Side {
	r := t.runs[i]
	return compare.Side{Name: t.names[i], Runs: []compare.Run{{Name: t.names[i], Manifest: r.Manifest, Rows: r.Live(), Records: r.records, Definitions: r.Definitions}}}
}

// table is a line for each run: what its own first screen says.
func (t together) table() table {
	out := table{id: "runs", caption: "The runs beside each other", columns: []column{{head: "run"}, {head: "SLO", help: "slo"}, {head: "validity", help: "validity"},
		{head: "point", help: "knee"}, {head: "output", unit: "tok/s", num: true, help: "throughput"}, {head: "TTFT p99", num: true, help: "ttft"}, {head: "TPOT p99", num: true, help: "tpot"},
		{head: "what limits it"}, {head: "hypothesis"}}}
	for i, o := range t.outcomes {
		valid := cell{text: o.Validity, kind: failed}
		if o.Valid {
			valid.kind = passed
		}
		row := []cell{text(t.names[i]), verdictCell(o.Verdict, 0), valid}
		if s, p := o.focus(); p != nil {
			name, limit := text(pointName(s, p)), absent()
			if name.tag = "to quote, not accepted"; o.Accepted != nil {
				name.tag = "accepted"
			}
			if d := o.diagnosisOf(p); d != nil {
				limit = text(d.Regime.Words())
			}
			row = append(row, name, text(unit.Digits(p.OutputTokensPerS.Median)), inCell.percentile(p.TTFT, "p99"), inCell.percentile(p.TPOT, "p99"), limit)
		} else {
			row = append(row, absent(), absent(), absent(), absent(), absent())
		}
		out.rows = append(out.rows, append(row, text(or(t.runs[i].Manifest.Hypothesis, "–"))))
	}
	return out
}

// allSeries is the choice that shows them together.
const allSeries = "all"

// overlay is throughput against latency of all runs on the same axes; the reader chooses the series, the latency and the percentile.
func (t together) overlay() (chart, error) {
	c := chart{ID: "overlay", Title: "Throughput against latency, all runs", Table: "runs", Height: 460, UnitX: "tok/s", UnitY: "ms", Logs: true, AxisOf: "yAxis",
		Alt: "Curves of output tokens per second against latency on one scale, a colour for each run and a mark for each series, with the SLOs' knees and limits. The figures are in each run's table of all points, the differences in the tables below."}
	var labels, metrics []string
	curves := 0
	for _, o := range t.outcomes {
		curves += len(o.Series)
		for i := range o.Series {
			if label := o.Series[i].Label(); !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	shown := labels
	if curves <= shownAtFirst && len(labels) > 1 {
		shown = append([]string{allSeries}, labels...)
	}
	first := t.outcomes[0]
	percentiles := slices.Compact([]string{"p50", first.judged(first.limited(first.latencies()), []string{"p50", "p90", "p95", "p99"}), "p99"})
	for _, label := range shown {
		for _, metric := range shownLatencies {
			for _, percentile := range percentiles {
				v := t.overlayView(label, labels, metric, percentile)
				if v == nil {
					continue
				}
				name := metricName(metric)
				if !slices.Contains(metrics, name) {
					metrics = append(metrics, name)
				}
				if err := c.view(label+" "+name+" "+percentile, v.line, whiskers("95 % interval, repeats", v.whiskers)...); err != nil {
					return c, err
				}
			}
		}
	}
	if len(metrics) > 0 {
		metric := first.limited(metrics)
		c.Choices = []choice{{Name: "series", Values: shown, First: shown[0], Aside: true}, {Name: "latency", Values: metrics, First: metricName(metric)},
			{Name: "percentile", Values: percentiles, First: first.judged(metric, percentiles)}}
	}
	return c, nil
}

// overlayView is one series of all runs, or all of them; nil: no point has such a latency.
func (t together) overlayView(label string, labels []string, metric, percentile string) *curves {
	name := metricName(metric) + " " + percentile
	v := &curves{line: newPlot(opts.XAxis{Type: "value", Name: "output tok/s", Min: 0}, opts.YAxis{Type: "log", Name: name})}
	var limits []float64
	for r, o := range t.outcomes {
		for _, x := range o.limits(metric + "_" + percentile) {
			if !slices.Contains(limits, x) {
				limits = append(limits, x)
			}
		}
		for i := range o.Series {
			s := &o.Series[i]
			if label != allSeries && s.Label() != label {
				continue
			}
			at, data := v.collect(s, metric, percentile)
			if len(data) == 0 {
				continue
			}
			for k := range data {
				data[k].tip = t.names[r] + "\n" + data[k].tip
			}
			called := t.names[r]
			if label == allSeries {
				called += ", " + s.Label()
			}
			addCurve(v.line, lookOf(r, slices.Index(labels, s.Label())), called, data)
			v.drawn++
			if j := s.SLOKnee.Point; j != nil && len(s.Points) > 1 {
				v.slo = appendMark(v.slo, at[*j], t.names[r]+"\ncontract knee: "+s.SLOKnee.Why)
			}
		}
	}
	if v.drawn == 0 {
		return nil
	}
	addLimits(v.line, metric+"_"+percentile, limits)
	addMarks(v.line, "SLO knee", "pin", vermilion, 30, v.slo)
	return v
}

// compared are the figures that the page compares runs by; bench compare has more.
var compared = []string{"output_tokens_per_s", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "e2e_p99", experiment.ErrorRate}

// changesTable is what changed at each point from one run to another.
func changesTable(c *compare.Comparison) table {
	t := table{id: "changes", caption: c.New + " against " + c.Base, note: comparisonLegend, columns: []column{{head: "point"}, {head: "figure"}, {head: "base", num: true},
		{head: "new", num: true}, {head: "change", num: true}, {head: "95 % interval"}, {head: "verdict"}, {head: "why"}}}
	for i := range c.Points {
		p := &c.Points[i]
		for k := range p.Metrics {
			if m := &p.Metrics[k]; slices.Contains(compared, m.Name) {
				t.rows = append(t.rows, []cell{text(p.Name), figureCell(m), quantityCell(m.Base, m.Unit), quantityCell(m.New, m.Unit), changeCell(m), intervalCell(m), judgedCell(m, true), text(m.Why)})
			}
		}
	}
	if c.Refused {
		t.note = "Not compared: the runs differ in what makes figures incomparable; the table below names it. bench compare BASE NEW --allow KEY compares them all the same."
		t.rows = [][]cell{{text("all"), absent(), absent(), absent(), absent(), absent(), {text: "not compared", kind: failed}, text("see what else differs")}}
	}
	return t
}
