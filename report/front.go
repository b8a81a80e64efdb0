package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// fact is one thing that the first screen says: a word or a figure, and what it rests on.
type fact struct {
	Head  string
	Lead  string
	Lines []string
	Kind  kind
	Table string // id of the table with the rest; empty: none
}

// front is the first screen: did it meet the SLO, at which point, where does it bend, what limits it,
// what does it cost, can it be trusted.
func (r *Run) front(o *Outcome) []fact {
	facts := append([]fact{o.sloFact(), o.acceptedFact()}, r.searchFacts()...)
	if s, p := o.focus(); p != nil {
		facts = append(facts, kneeFact(s), o.limitFact(p), costFact(s, p))
	}
	return append(facts, o.validityFact(r.Manifest.NotStated), o.decisionFact())
}

// focus is the point that a reader asks about: the accepted one, else the one to quote of the series with the
// highest throughput, valid ones first; nil: the run has none.
func (o *Outcome) focus() (*series.Series, *series.SeriesPoint) {
	if a := o.Accepted; a != nil {
		return &o.Series[a.Series], &o.Series[a.Series].Points[a.Point]
	}
	var curve2 *series.Series
	var best *series.SeriesPoint
	for i := range o.Series {
		s := &o.Series[i]
		p := &s.Points[*s.Headline]
		if best == nil || p.Valid && !best.Valid || p.Valid == best.Valid && p.OutputTokensPerS.Median > best.OutputTokensPerS.Median {
			curve2, best = s, p
		}
	}
	return curve2, best
}

// quotedRow is the first row of the point to quote; empty: there is none.
func (o *Outcome) quotedRow() string {
	if _, p := o.focus(); p != nil {
		return p.Rows[0].ID
	}
	return ""
}

func (o *Outcome) sloFact() fact {
	f := fact{Head: "SLO", Lead: or(string(o.Verdict), "none"), Kind: verdictCell(o.Verdict, 0).kind, Table: "slo"}
	if o.Verdict == "" {
		f.Table = ""
	}
	f.Lines = append([]string{o.SLO}, o.failing()...)
	return f
}

// failing is the limits that points fail, with how many.
func (o *Outcome) failing() []string {
	var limits []string
	points := map[string]int{}
	o.each(func(_ *series.Series, p *series.SeriesPoint) {
		seen := map[string]bool{}
		for _, r := range p.Rows {
			for _, v := range r.SLO {
				name := limitText(v)
				if v.Verdict != string(stats.Fail) || seen[name] {
					continue
				}
				seen[name] = true
				if points[name]++; points[name] == 1 {
					limits = append(limits, name)
				}
			}
		}
	})
	for i, name := range limits {
		limits[i] = fmt.Sprintf("%s fails at %s", name, plural(points[name], "point", "points"))
	}
	return limits
}

func (o *Outcome) acceptedFact() fact {
	f := fact{Head: "Accepted operating point", Lead: "none", Table: "points"}
	s, p := o.focus()
	if o.Accepted == nil {
		f.Lines = append(f.Lines, o.Advice)
	}
	if p == nil {
		f.Table = ""
		return f
	}
	if o.Accepted == nil {
		f.Lines = append(f.Lines, "The point to quote is "+pointName(s, p)+":")
	} else {
		f.Lead = pointName(s, p)
	}
	f.Lines = append(f.Lines, headlines(s, p)...)
	if o.Accepted != nil {
		f.Lines = append(f.Lines, "It has "+o.Advice+".")
	}
	return f
}

// headlines are the figures of a point to quote, each with its interval.
func headlines(s *series.Series, p *series.SeriesPoint) []string {
	output := unit.Format(p.OutputTokensPerS.Median, "output tok/s") + spread(p.OutputTokensPerS)
	if g := p.OutputTokensPerSPerGPU; g != nil {
		output += fmt.Sprintf(", %s per GPU", unit.Digits(g.Median))
	}
	lines := []string{output + ", " + unit.Format(p.RequestsPerS.Median, "requests/s")}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		var said []string
		for _, name := range []string{"p50", "p99"} {
			if l, ok := p.Latency(metric).Get(name); ok {
				said = append(said, name+" "+l.Bare())
			}
		}
		if len(said) > 0 {
			lines = append(lines, metricName(metric)+" "+strings.Join(said, ", "))
		}
	}
	sample := "n=" + completed(p).text
	if n := len(p.Rows); n > 1 {
		sample += fmt.Sprintf(" in each of %d repeats, or more", n)
	}
	if s.Closed {
		sample += "; latencies count " + fromSlot
	}
	return append(lines, sample+"; in brackets 95 % intervals")
}

// spread is how far the repeats of a figure are apart; empty: there is one.
func spread(r record.Repeats) string {
	if r.Spread == nil {
		return ""
	}
	return fmt.Sprintf(" (%d repeats: %s to %s)", len(r.Values), unit.Digits(r.Spread.Min), unit.Digits(r.Spread.Max))
}

func kneeFact(s *series.Series) fact {
	f := fact{Head: "Knee of " + s.Label(), Lead: "none", Table: "series"}
	if k := s.SLOKnee.Point; k != nil {
		f.Lead = s.Points[*k].Load
	}
	for _, x := range []struct {
		name string
		knee series.Knee
	}{{"SLO", s.SLOKnee}, {"geometric", s.GeometricKnee}, {"saturation", s.Saturation}} {
		f.Lines = append(f.Lines, x.name+": "+kneeText(s, x.knee))
	}
	return f
}

// kneeText is a knee with its reason, and how sure the repeats make it.
func kneeText(s *series.Series, k series.Knee) string {
	text := k.Why
	if k.Point != nil {
		text = s.Points[*k.Point].Load + ": " + text
	}
	if r := k.Resampled; r != nil && r.Share < 1 {
		text += fmt.Sprintf(" (the same in %s of the draws of the repeats)", unit.Format(r.Share, "share"))
	}
	return text
}

var placeWords = map[roofline.Place]string{
	roofline.Impossible: "below the floor",
	roofline.Fast:       "faster than the band",
	roofline.Inside:     "inside the band",
	roofline.Slow:       "slower than the hardware explains",
}

// placeText is where a median lies. The bound of TTFT is that of a prompt alone on the machine: under load it waits, and shares its
// steps, which is no matter of the hardware.
func placeText(metric string, place roofline.Place, s *experiment.Spec) string {
	if metric == "ttft" && place == roofline.Slow && (s.Concurrency != 1 || s.Rate > 0) {
		return "above the band of a prompt that is alone on the machine"
	}
	return placeWords[place]
}

// limitFact is what decides the latency at a point, and where that lies beside what the hardware allows.
func (o *Outcome) limitFact(p *series.SeriesPoint) fact {
	f := fact{Head: "What limits it", Lead: "not known", Table: "bounds"}
	if d := o.diagnosisOf(p); d != nil {
		f.Lead, f.Table = d.Regime.Words(), "diagnosis"
		f.Lines = append(f.Lines, d.Symptom)
	}
	b := p.Rows[0].Roofline
	if b == nil {
		f.Lines = append(f.Lines, "no bound: "+p.Rows[0].NoRoofline)
		return f
	}
	for _, x := range []struct {
		metric string
		bound  roofline.Bound
		ratio  *float64
		place  roofline.Place
	}{{"ttft", b.TTFT, b.TTFTRatio, b.TTFTPlace}, {"tpot", b.TPOT, b.TPOTRatio, b.TPOTPlace}} {
		if ratio := ratioCell(x.ratio, p.Latency(x.metric)); ratio.kind != faint {
			line := fmt.Sprintf("%s p50: %s the floor of %s", metricName(x.metric), ratio.text, unit.Format(x.bound.FloorMs, "ms"))
			if x.place != "" {
				line += ", " + placeText(x.metric, x.place, &p.Rows[0].Spec)
			}
			f.Lines = append(f.Lines, line)
		}
	}
	if use := peaks(b); use != "" {
		f.Lines = append(f.Lines, use)
	}
	return f
}

// diagnosisOf is what is to be acted on first at a point; nil: there is none.
func (o *Outcome) diagnosisOf(p *series.SeriesPoint) *diagnosis.Diagnosis {
	for i := range o.Diagnoses {
		if d := &o.Diagnoses[i]; &o.Series[d.Series].Points[d.Point] == p {
			return d
		}
	}
	return nil
}

// peaks is how much of the hardware's peaks is in use; empty: not known.
func peaks(b *record.Roofline) string {
	var said []string
	if b.MBU != nil {
		said = append(said, unit.Format(*b.MBU, "share")+" of the peak memory bandwidth (MBU)")
	}
	if b.MFU != nil {
		said = append(said, unit.Format(*b.MFU, "share")+" of the peak compute (MFU)")
	}
	return strings.Join(said, ", ")
}

func costFact(s *series.Series, p *series.SeriesPoint) fact {
	f := fact{Head: "Cost", Lead: "not known", Table: "costs"}
	costs := s.Costs()
	i := slices.IndexFunc(costs, func(c series.PointCost) bool { return &s.Points[c.Point] == p })
	if i < 0 {
		f.Table = ""
		f.Lines = []string{or(p.Rows[0].NoCost, "the point is not valid, or a repeat has no price")}
		return f
	}
	c := costs[i].Cost
	f.Lead = unit.Format(c.USDPerMillion, "usd") + " per million output tokens"
	f.Lines = []string{fmt.Sprintf("%s an hour for all GPUs, as stated; all of it is put on the output tokens", unit.Format(c.HourUSD, "usd"))}
	return f
}

// tested says what was measured, and against what.
func (r *Run) tested(o *Outcome) string {
	m, g := r.Manifest, r.Manifest.Target
	on := or(g.Hardware, "hardware not stated")
	if g.GPUs > 0 {
		on += fmt.Sprintf(" × %d", g.GPUs)
	}
	points := 0
	o.each(func(*series.Series, *series.SeriesPoint) { points++ })
	parts := []string{"model " + or(g.Model, "not stated"), on, or(g.Precision, "precision not stated"), or(g.API, "api not stated"),
		fmt.Sprintf("%s in %s, %s", plural(points, "point", "points"), plural(len(o.Series), "series", "series"), plural(len(r.Live()), "row", "rows"))}
	if g.Vantage.Place != "" {
		parts = append(parts, "client: "+g.Vantage.Place)
	}
	return strings.Join(append(parts, "run "+m.Run, m.StartedAt.UTC().Format(stamp), m.State), " · ")
}

// happened is the sentence of the series that is quoted, beside the hypothesis; empty: nothing was measured.
func (o *Outcome) happened() string {
	s, p := o.focus()
	if p == nil {
		return ""
	}
	return s.Label() + ": " + s.Sentence
}
