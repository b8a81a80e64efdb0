package report

import (
	"cmp"
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

// Card is one answer of the first screen: a word or a figure, and the figures behind it.
type Card struct {
	Head  string
	Lead  string
	Lines []string
	Kind  Kind
	Table string // id of the table with the details; empty: none
}

// Cards are the first screen: SLO, operating point, maximum load, bottleneck, cost, validity, next step.
func (r *Run) Cards(o *Outcome) []Card {
	cards := append([]Card{o.sloCard(), o.operatingCard()}, r.searchCards()...)
	if s, p := o.HeadlinePoint(); p != nil {
		cards = append(cards, maxLoadCard(s), o.bottleneckCard(p), costCard(s, p))
	}
	return append(cards, o.validityCard(r.Manifest.Unspecified), o.decisionCard())
}

func (o *Outcome) sloCard() Card {
	card := Card{Head: "SLO", Lead: cmp.Or(string(o.Verdict), "none"), Kind: verdictCell(o.Verdict, 0).Kind, Table: "slo"}
	if o.Verdict == "" {
		card.Table = ""
	}
	card.Lines = append([]string{o.SLO}, o.missedLimits()...)
	return card
}

// missedLimits are the limits that points miss, each with the number of points.
func (o *Outcome) missedLimits() []string {
	var limits []string
	points := map[string]int{}
	o.Each(func(_ *series.Series, p *series.Point) {
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
		limits[i] = fmt.Sprintf("%s: missed at %s", name, unit.Plural(points[name], "point"))
	}
	return limits
}

func (o *Outcome) operatingCard() Card {
	card := Card{Head: "Operating point", Lead: "none", Table: "points"}
	s, p := o.HeadlinePoint()
	if p == nil {
		card.Table = ""
		return card
	}
	if o.Decision.Operating == nil {
		card.Lines = append(card.Lines, "no valid point meets an SLO; reference point "+s.PointName(p)+":")
		return card.with(headlines(s, p))
	}
	card.Lead = s.PointName(p)
	return card.with(headlines(s, p)).with([]string{"highest output tok/s of the valid points that meet the SLO"}).with(o.operatingCautions())
}

func (c Card) with(lines []string) Card {
	c.Lines = append(c.Lines, lines...)
	return c
}

// headlines are the figures of a point, each with its interval.
func headlines(s *series.Series, p *series.Point) []string {
	output := unit.Format(p.OutputTokensPerS.Median, "output tok/s") + spread(p.OutputTokensPerS)
	if g := p.OutputTokensPerSPerGPU; g != nil {
		output += fmt.Sprintf(", %s tok/s/GPU", unit.Digits(g.Median))
	}
	lines := []string{output + ", " + unit.Format(p.RequestsPerS.Median, "requests/s")}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		var parts []string
		for _, name := range []string{"p50", "p99"} {
			if l, ok := p.Latency(metric).Get(name); ok {
				parts = append(parts, name+" "+l.WithInterval())
			}
		}
		if len(parts) > 0 {
			lines = append(lines, MetricName(metric)+" "+strings.Join(parts, ", "))
		}
	}
	sample := "n=" + completed(p).Text
	if n := len(p.Rows); n > 1 {
		sample += fmt.Sprintf(" or more in each of %d repeats", n)
	}
	if s.Closed {
		sample += "; " + closedLoop + ": latency counts from a free worker"
	}
	return append(lines, sample+"; brackets: 95 % intervals")
}

// spread is the range of the repeats of a figure; empty: there is one repeat.
func spread(r record.Repeats) string {
	if r.Spread == nil {
		return ""
	}
	return fmt.Sprintf(" (%d repeats: %s to %s)", len(r.Values), unit.Digits(r.Spread.Min), unit.Digits(r.Spread.Max))
}

func maxLoadCard(s *series.Series) Card {
	card := Card{Head: "SLO met up to", Lead: "none", Table: "series"}
	if k := s.MaxLoadWithinSLO.Point; k != nil {
		card.Lead = s.Points[*k].Load
	}
	saturation := kneeText(s, s.Saturation)
	if s.Saturation.Point != nil {
		saturation = "saturation: " + saturation
	}
	card.Lines = []string{s.Label() + ": " + s.MaxLoadWithinSLO.Why + resampled(s.MaxLoadWithinSLO), saturation}
	return card
}

// kneeText is a bend of the curve with its reason.
func kneeText(s *series.Series, k series.LoadLimit) string {
	text := k.Why + resampled(k)
	if k.Point != nil {
		text = s.Points[*k.Point].Load + ": " + text
	}
	return text
}

// resampled is how often redrawn repeats give the same point; empty: always, or there is one repeat.
func resampled(k series.LoadLimit) string {
	if r := k.Resampled; r != nil && r.Share < 1 {
		return fmt.Sprintf(" (same point in %s of resampled repeats)", unit.Format(r.Share, "share"))
	}
	return ""
}

var placeWords = map[roofline.Place]string{
	roofline.BelowFloor: "below the floor",
	roofline.Fast:       "faster than the typical range",
	roofline.Inside:     "within the typical range",
	roofline.Slow:       "slower than the typical range",
}

// placeText compares a median with its typical range. The roofline of TTFT is for one prompt on an idle
// server: under load a prompt waits and shares steps, which the hardware does not explain.
func placeText(metric string, place roofline.Place, s *experiment.Spec) string {
	if metric == "ttft" && place == roofline.Slow && (s.Concurrency != 1 || s.Rate > 0) {
		return "slower than the typical range of an idle server"
	}
	return placeWords[place]
}

// bottleneckCard is the diagnosis of a point, and its medians beside the roofline.
func (o *Outcome) bottleneckCard(p *series.Point) Card {
	card := Card{Head: "Bottleneck", Lead: "not known", Table: "roofline"}
	if d := o.DiagnosisOf(p); d != nil {
		card.Lead, card.Table = d.Bottleneck.Name(), "diagnosis"
		card.Lines = append(card.Lines, d.Observation)
	}
	b := p.Rows[0].Roofline
	if b == nil {
		return card.with([]string{"no roofline: " + p.Rows[0].NoRoofline})
	}
	for _, x := range []struct {
		metric string
		bound  roofline.Bound
		ratio  *float64
		place  roofline.Place
	}{{"ttft", b.TTFT, b.TTFTRatio, b.TTFTPlace}, {"tpot", b.TPOT, b.TPOTRatio, b.TPOTPlace}} {
		if ratio := ratioCell(x.ratio, p.Latency(x.metric)); ratio.Kind != Faint {
			line := fmt.Sprintf("%s p50: %s the roofline floor of %s", MetricName(x.metric), ratio.Text, unit.Format(x.bound.FloorMs, "ms"))
			if x.place != "" {
				line += ", " + placeText(x.metric, x.place, &p.Rows[0].Spec)
			}
			card.Lines = append(card.Lines, line)
		}
	}
	if use := utilization(b); use != "" {
		card.Lines = append(card.Lines, use)
	}
	return card
}

// utilization is MBU and MFU; empty: neither is known.
func utilization(b *record.Roofline) string {
	var parts []string
	if b.MBU != nil {
		parts = append(parts, "MBU "+unit.Format(*b.MBU, "share"))
	}
	if b.MFU != nil {
		parts = append(parts, "MFU "+unit.Format(*b.MFU, "share"))
	}
	return strings.Join(parts, ", ")
}

func costCard(s *series.Series, p *series.Point) Card {
	card := Card{Head: "Cost", Lead: "none", Table: "costs"}
	costs := s.Costs()
	i := slices.IndexFunc(costs, func(c series.PointCost) bool { return &s.Points[c.Point] == p })
	if i < 0 {
		card.Table = ""
		card.Lines = []string{cmp.Or(p.Rows[0].NoCost, "the point is not valid, or a repeat has no price")}
		return card
	}
	c := costs[i].Cost
	card.Lead = unit.Format(c.USDPerMillion, "usd") + " per million output tokens"
	card.Lines = []string{unit.Format(c.HourUSD, "usd") + " per hour for all GPUs, charged to output tokens only"}
	return card
}

func (o *Outcome) decisionCard() Card {
	card := Card{Head: "Decision", Lead: o.Decision.Advice, Table: "decision"}
	if n := o.Decision.Next; n != nil {
		card.Lines = append(card.Lines, "next: "+nextText(n))
	}
	return card
}

func nextText(n *diagnosis.NextSweep) string {
	if len(n.Values) == 0 {
		return n.Variable + ": " + n.Why
	}
	return fmt.Sprintf("%s = %s: %s", n.Variable, strings.Join(n.Values, ", "), n.Why)
}

// Setup is what was measured, on one line.
func (r *Run) Setup(o *Outcome) string {
	m, g := r.Manifest, r.Manifest.Target
	on := cmp.Or(g.Hardware, "hardware not specified")
	if g.GPUs > 0 {
		on += fmt.Sprintf(" × %d", g.GPUs)
	}
	points := 0
	o.Each(func(*series.Series, *series.Point) { points++ })
	parts := []string{"model " + cmp.Or(g.Model, "not reported"), on, cmp.Or(g.Precision, "precision not specified"), cmp.Or(g.API, "api not specified"),
		fmt.Sprintf("%s in %d series, %s", unit.Plural(points, "point"), len(o.Series), unit.Plural(len(r.Live()), "row"))}
	if g.Vantage.Place != "" {
		parts = append(parts, "client: "+g.Vantage.Place)
	}
	return strings.Join(append(parts, "run "+m.Run, m.StartedAt.UTC().Format(stamp), m.State), " · ")
}
