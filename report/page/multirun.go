package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/report"
	"bench/report/compare"
)

// multiRun compares several runs: their curves on one scale, and each with the first.
type multiRun struct {
	runs     []*report.Run
	outcomes []*report.Outcome
	names    []string // in legends and tables
}

// multiRunView is the head of the page of several runs.
type multiRunView struct {
	Names, IDs []string
	Figures    []figure
	Rest       []tableView
}

// multiRunID begins the anchors; the anchors of a run begin with r and its number.
const multiRunID = "all"

func newMultiRun(runs []*report.Run, outcomes []*report.Outcome) multiRun {
	m := multiRun{runs: runs, outcomes: outcomes}
	matrices := map[string]bool{}
	for _, r := range runs {
		matrices[r.Manifest.Matrix] = true
	}
	for i, r := range runs {
		name := cmp.Or(r.Manifest.Run, fmt.Sprintf("run %d", i+1))
		if len(matrices) > 1 {
			name = strings.TrimSpace(r.Manifest.Matrix + " " + name)
		}
		if slices.Contains(m.names, name) {
			name += fmt.Sprintf(" (%d)", i+1)
		}
		m.names = append(m.names, name)
	}
	return m
}

func (m multiRun) view() (*multiRunView, error) {
	v := &multiRunView{Names: m.names}
	for i := range m.runs {
		v.IDs = append(v.IDs, runID(i))
	}
	overlay, err := m.overlay()
	if err != nil {
		return nil, err
	}
	f, err := newFigure(multiRunID, []chart{overlay}, report.RunsTable(m.names, m.runs, m.outcomes), false)
	if err != nil {
		return nil, err
	}
	v.Figures = []figure{f}
	for i := range m.runs[1:] {
		c, err := compare.Compare(m.side(0), m.side(i+1), compare.Options{})
		if err != nil {
			return nil, fmt.Errorf("comparing %s with %s: %w", m.names[i+1], m.names[0], err)
		}
		for _, x := range []report.Table{report.ChangesTable(c), report.DifferencesTable("differences", c.New+" against "+c.Base+": other differences", c.Differences), report.UnmatchedTable(c)} {
			if len(x.Rows) > 0 {
				x.ID += fmt.Sprintf("-%d", i+1)
				v.Rest = append(v.Rest, newTableView(multiRunID, x))
			}
		}
	}
	return v, nil
}

func (m multiRun) side(i int) compare.Side {
	r := m.runs[i]
	return compare.Side{Name: m.names[i], Runs: []compare.Run{{Name: m.names[i], Manifest: r.Manifest, Rows: r.Live(), Records: r.Requests, Definitions: r.Definitions}}}
}

// allSeries is the choice of all series at once.
const allSeries = "all"

// overlay is throughput against latency of all runs. The reader chooses series, latency and percentile.
func (m multiRun) overlay() (chart, error) {
	c := chart{ID: "overlay", Title: "Throughput against latency, all runs", Table: "runs", Height: 460, UnitX: "tok/s", UnitY: "ms", Logs: true, AxisOf: "yAxis",
		Alt: "Output tok/s against latency of all runs: a colour for each run, a shape for each series, with SLO limits and max loads within SLO. The figures are in the tables of each run."}
	var labels, metrics []string
	curves := 0
	for _, o := range m.outcomes {
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
	first := m.outcomes[0]
	percentiles := slices.Compact([]string{"p50", limitedPercentile(first, limitedLatency(first, latenciesOf(first)), []string{"p50", "p90", "p95", "p99"}), "p99"})
	for _, label := range shown {
		for _, metric := range shownLatencies {
			for _, percentile := range percentiles {
				v := m.overlayView(label, labels, metric, percentile)
				if v == nil {
					continue
				}
				name := report.MetricName(metric)
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
		metric := limitedLatency(first, metrics)
		c.Choices = []choice{{Name: "series", Values: shown, First: shown[0], Aside: true}, {Name: "latency", Values: metrics, First: report.MetricName(metric)},
			{Name: "percentile", Values: percentiles, First: limitedPercentile(first, metric, percentiles)}}
	}
	return c, nil
}

// overlayView is one series, or allSeries, of all runs; nil: no point has the latency.
func (m multiRun) overlayView(label string, labels []string, metric, percentile string) *curves {
	name := report.MetricName(metric) + " " + percentile
	v := &curves{line: newPlot(opts.XAxis{Type: "value", Name: "output tok/s", Min: 0}, opts.YAxis{Type: "log", Name: name})}
	var limits []float64
	for r, o := range m.outcomes {
		for _, x := range limitsOf(o, metric+"_"+percentile) {
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
				data[k].tip = m.names[r] + "\n" + data[k].tip
			}
			legend := m.names[r]
			if label == allSeries {
				legend += ", " + s.Label()
			}
			addCurve(v.line, lookOf(r, slices.Index(labels, s.Label())), legend, data)
			v.drawn++
			if j := s.MaxLoadWithinSLO.Point; j != nil && len(s.Points) > 1 {
				v.slo = appendMark(v.slo, at[*j], m.names[r]+"\nmax load within SLO: "+s.MaxLoadWithinSLO.Why)
			}
		}
	}
	if v.drawn == 0 {
		return nil
	}
	addLimits(v.line, metric+"_"+percentile, limits)
	addMarks(v.line, "max load within SLO", "pin", vermilion, 30, v.slo)
	return v
}
