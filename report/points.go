package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// closedLoop marks rows without a schedule: their latencies count from the moment a worker is free.
const closedLoop = "closed loop"

func pointCell(s *series.Series, p *series.Point) Cell {
	c := TextCell(s.PointName(p) + ofAllClasses(p))
	if s.Closed {
		c.Title = closedLoop
	}
	for _, mark := range s.Marks {
		c.Tag = strings.TrimPrefix(c.Tag+"; "+mark, "; ")
	}
	if n := len(p.Rows); n > 1 {
		c.Title = strings.TrimPrefix(c.Title+", "+fmt.Sprintf("%d repeats", n), ", ")
	}
	return c
}

// pointsTable has the classes of a mix below their point, if one has an SLO of its own.
func (o *Analysis) pointsTable() Table {
	columns := o.pointColumns()
	t := tableOf("points", "Points", columns)
	o.eachClass(func(s *series.Series, p *series.Point) { t.addPoint(s, p, columns) })
	return t.withoutEmpty()
}

func (o *Analysis) pointColumns() []pointColumn {
	percentiles := func(latency string, names ...string) (out []pointColumn) {
		for _, name := range names {
			out = append(out, ofPoint(metric.Words(latency)+" "+name+"|ms # ?"+latency, always,
				func(p *series.Point) Cell { return besideSend(limitedPercentile(p, latency, name), p, latency, name) }))
		}
		return out
	}
	output := ofPoint("output tok/s # ?throughput", always, outputCell)
	if o.PerGPU() {
		output = ofPoint("tok/s/GPU # ?throughput", always, perGPUCell)
	}
	firsts := percentiles("ttft", o.limitedStats("ttft")...)
	if o.answers() {
		firsts = append(firsts, percentiles("ttfo", o.limitedStats("ttfo")...)...)
	}
	return slices.Concat([]pointColumn{
		{Column{Head: "point"}, always, pointCell}, ofPoint("SLO ?slo", always, o.statusCell),
		ofPoint("req/s # ?throughput", always, requestsCell), output,
		ofPoint("tok/s/user # ?peruser", always, perUserCell),
	}, firsts, percentiles("tpot", o.limitedStats("tpot")...), percentiles("itl", o.limitedOr("p99", "itl")...),
		percentiles("e2e", o.limitedOr("p99", "e2e")...), o.otherLimited(percentiles), []pointColumn{
			ofPoint("USD/M out # ?cost", always, costCell), ofPoint("J/token # ?energy", always, energyCell),
			ofPoint("n # ?failures", always, sampleCell), ofPoint("cautions ?validity", always, validityCell)})
}

// besideSend adds to a TTFT that from send, as other tools count it, where it differs.
func besideSend(c Cell, p *series.Point, latency, stat string) Cell {
	x, ok := p.TTFT.Get(stat)
	sent, known := record.PercentilesOf(p.Rows[0].Summary.TTFTFromSend).Get(stat)
	const least = 0.05 // of the latency
	if latency == "ttft" && ok && known && p.Class == "" && x.Median-sent.Median > least*x.Median {
		c.Tag = strings.TrimPrefix(c.Tag+", from send "+unit.Digits(sent.Median), ", ")
	}
	return c
}

// limitedStats are p50 and the percentiles of a latency that a limit is on, of a class or of all requests; else p95.
func (o *Analysis) limitedStats(latency string) []string {
	out := o.limitedOr("p50", latency)
	if len(out) == 1 {
		out = append(out, "p95")
	}
	return out
}

// limitedOr are one percentile of a latency (empty: none) and those that a limit is on.
func (o *Analysis) limitedOr(one, latency string) []string {
	return slices.DeleteFunc(slices.Clone(metric.Percentiles), func(name string) bool {
		return name != one && !o.limits(latency, name)
	})
}

// limitedStat is one percentile of a latency that a limit is on, else p95.
func (o *Analysis) limitedStat(latency string) string { return o.limitedStats(latency)[1] }

func sampleCell(p *series.Point) Cell {
	c := completed(p)
	if f := failures(p); f.Kind == Failed {
		c.Kind, c.Tag, c.Title = Failed, f.Text+" failed", f.Title
	}
	return c
}

// completed is the sample size of a point: that of its smallest repeat.
func completed(p *series.Point) Cell {
	return count(p.Completed())
}

func failures(p *series.Point) Cell {
	n, classes := 0, map[string]int{}
	for _, r := range p.Rows {
		n += r.Summary.Requests.Failed
		for class, k := range r.Summary.Requests.Errors {
			classes[class] += k
		}
	}
	c := count(n)
	if n > 0 {
		c.Kind, c.Tag = Failed, unit.Counts(classes)
		c.Title = c.Tag
	}
	return c
}

// validityCell counts the findings of a point that are no notes; the tooltip names them.
func validityCell(p *series.Point) Cell {
	codes := disturbances(p)
	c := findingsCell(p, unit.Count(len(codes)))
	c.Title = strings.Join(codes, ", ")
	return c
}

func (o *Analysis) seriesTable() Table {
	t := newTable("series", "Saturation and knee", "workload", "saturation ?knee", "knee ?knee")
	for i := range o.Series {
		s := &o.Series[i]
		if len(s.Points) < 2 {
			continue
		}
		knee := func(k series.LoadLimit) Cell {
			if k.Point == nil {
				return Cell{Text: k.Why, Kind: Faint}
			}
			return TextCell(kneeText(s, k))
		}
		t.Add(TextCell(s.Label()), knee(s.Saturation), knee(s.Knee))
	}
	return t
}

func kneeText(s *series.Series, k series.LoadLimit) string {
	text := k.Why
	if r := k.Resampled; r != nil && r.Share < 1 {
		text += fmt.Sprintf(" (same point in %s of resampled repeats)", unit.Format(r.Share, "share"))
	}
	if k.Point != nil {
		text = s.Points[*k.Point].Load + ": " + text
	}
	return text
}

func (o *Analysis) percentilesTable(latency string) Table {
	n := "n"
	if latency == "itl" {
		n = "gaps"
	}
	t := newTable("percentiles-"+latency, metric.Words(latency)+" by percentile", "point", n+" #")
	for _, name := range metric.Percentiles {
		t.addColumns(name + "|ms # ?" + latency)
	}
	o.Each(func(s *series.Series, p *series.Point) {
		ps := p.Latency(latency)
		if len(ps) == 0 {
			return
		}
		row := []Cell{pointCell(s, p), count(ps[0].N)}
		for _, name := range metric.Percentiles {
			row = append(row, msCell(ps, name))
		}
		t.Add(row...)
	})
	return t
}

func (o *Analysis) PerGPU() bool {
	return !o.any(func(p *series.Point) bool { return p.OutputTokensPerSPerGPU == nil })
}
