package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Size and margins of the picture, px.
const (
	svgWide, svgTall        = 860, 480
	svgLeft, svgRight       = 80, 20
	svgTop, svgBottom       = 56, 110
	svgColumn, svgLine      = 275, 20 // of the legend
	svgWidth, svgHeight     = svgWide - svgLeft - svgRight, svgTall - svgTop - svgBottom
	mostLegend          int = 9
)

// SVG writes the main curve, throughput against latency, as a picture for Markdown, pull requests and slides. It has no script,
// and nothing in it is loaded from elsewhere.
func SVG(w io.Writer, run *Run) error {
	o := run.Outcome()
	p := newPicture(&o)
	m := run.Manifest
	title := fmt.Sprintf("%s, run %s, model %s", m.Matrix, m.Run, or(m.Target.Model, "not stated"))
	if run.Simulated() {
		title += " (SIMULATED)"
	}
	p.begin(title)
	p.grid()
	for _, ms := range o.limits(p.metric + "_" + p.percentile) {
		p.limit(ms)
	}
	for i := range p.curves {
		p.curve(i)
	}
	p.b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}

// picture is the curves with their scales: x from 0, y logarithmic.
type picture struct {
	b                  strings.Builder
	metric, percentile string
	curves             []svgCurve
	most               float64 // output tok/s
	low, high          float64 // ms
}

type svgCurve struct {
	nth    int // of the run's series
	name   string
	knee   int // index in marks of the SLO's knee; -1: none
	marks  []svgMark
	closed bool
}

type svgMark struct {
	output, ms float64
	grade      stats.Grade
}

func newPicture(o *Outcome) *picture {
	p := &picture{metric: o.limited(o.latencies()), low: math.Inf(1)}
	p.percentile = o.judged(p.metric, []string{"p50", "p90", "p95", "p99"})
	for i := range o.Series {
		p.add(i, &o.Series[i])
	}
	for _, ms := range o.limits(p.metric + "_" + p.percentile) {
		p.low, p.high = min(p.low, ms), max(p.high, ms)
	}
	if len(p.curves) == 0 {
		p.low, p.high, p.most = 1, 10, 1
	}
	p.low, p.high = math.Pow(10, math.Floor(math.Log10(p.low))), math.Pow(10, math.Ceil(math.Log10(p.high*1.01)))
	p.most *= 1.05
	return p
}

func (p *picture) add(i int, s *series.Series) {
	c := svgCurve{nth: i, name: s.Label(), knee: -1, closed: s.Closed}
	for j := range s.Points {
		point := &s.Points[j]
		d, ms, ok := latencyDatum(point.Latency(p.metric), p.percentile, "")
		if !ok {
			continue
		}
		if k := s.SLOKnee.Point; k != nil && *k == j {
			c.knee = len(c.marks)
		}
		c.marks = append(c.marks, svgMark{point.OutputTokensPerS.Median, ms, d.grade})
		p.most, p.low, p.high = max(p.most, point.OutputTokensPerS.Median), min(p.low, ms), max(p.high, ms)
	}
	if len(c.marks) > 0 {
		p.curves = append(p.curves, c)
	}
}

func (p *picture) x(output float64) float64 { return svgLeft + svgWidth*output/p.most }

func (p *picture) y(ms float64) float64 {
	return svgTop + svgHeight*(1-math.Log10(ms/p.low)/math.Log10(p.high/p.low))
}

// svgText is untrusted text for XML: escaped, and without what turns or hides text.
func svgText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(visible(s))) // a Builder does not fail
	return b.String()
}

func (p *picture) text(x, y float64, anchor string, size int, s string) {
	fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, size, svgText(s))
}

func (p *picture) begin(title string) {
	name := fmt.Sprintf("output tok/s against %s %s", metricName(p.metric), p.percentile)
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" fill="#1b1f24" role="img">`+"\n", svgWide, svgTall, svgWide, svgTall)
	fmt.Fprintf(&p.b, "<title>%s</title>\n", svgText(title+": "+name))
	fmt.Fprintf(&p.b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWide, svgTall)
	p.text(svgLeft, 22, "start", 15, clip(title, 90))
	p.text(svgLeft, 42, "start", 12, name+"; full: sound, hollow: thin, ▲: at least; ◆: SLO knee")
}

// grid is the axes with their figures.
func (p *picture) grid() {
	for ms := p.low; ms <= p.high*1.001; ms *= 10 {
		y := p.y(ms)
		fmt.Fprintf(&p.b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#d9dde2"/>`+"\n", svgLeft, y, svgWide-svgRight, y)
		p.text(svgLeft-8, y+4, "end", 12, unit.Format(ms, "ms"))
	}
	step := niceStep(p.most / 9)
	for x := 0.0; x <= p.most; x += step {
		fmt.Fprintf(&p.b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#d9dde2"/>`+"\n", p.x(x), svgTop, p.x(x), svgTall-svgBottom)
		p.text(p.x(x), svgTall-svgBottom+18, "middle", 12, unit.Digits(x))
	}
	p.text(svgLeft+svgWidth/2, svgTall-svgBottom+36, "middle", 12, "output tok/s")
}

// niceStep is 1, 2 or 5 of a decade, not below x.
func niceStep(x float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade >= x {
			return m * decade
		}
	}
	return 10 * decade
}

func (p *picture) limit(ms float64) {
	y := p.y(ms)
	fmt.Fprintf(&p.b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-dasharray="6 4"/>`+"\n", svgLeft, y, svgWide-svgRight, y, vermilion)
	p.text(svgLeft+6, y-5, "start", 12, p.metric+"_"+p.percentile+" ≤ "+exactly(ms, "ms"))
}

func (p *picture) curve(i int) {
	c := p.curves[i]
	color := palette[c.nth%len(palette)]
	var points []string
	for _, m := range c.marks {
		points = append(points, fmt.Sprintf("%.1f,%.1f", p.x(m.output), p.y(m.ms)))
	}
	dash := []string{"none", "7 4", "2 3"}[c.nth/len(palette)%3]
	fmt.Fprintf(&p.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>`+"\n", strings.Join(points, " "), color, dash)
	for j, m := range c.marks {
		p.mark(p.x(m.output), p.y(m.ms), m.grade, color)
		if j == c.knee {
			fmt.Fprintf(&p.b, `<path d="M%.1f %.1f l9 9 l-9 9 l-9 -9 z" fill="none" stroke="%s" stroke-width="2"/>`+"\n", p.x(m.output), p.y(m.ms)-9, vermilion)
		}
	}
	p.legend(i, c, color)
}

func (p *picture) mark(x, y float64, grade stats.Grade, color string) {
	switch grade {
	case stats.NoBound:
		fmt.Fprintf(&p.b, `<path d="M%.1f %.1f l6 10 l-12 0 z" fill="%s"/>`+"\n", x, y-5, color)
	case stats.Thin:
		fmt.Fprintf(&p.b, `<circle cx="%.1f" cy="%.1f" r="5" fill="#ffffff" stroke="%s" stroke-width="2"/>`+"\n", x, y, color)
	default:
		fmt.Fprintf(&p.b, `<circle cx="%.1f" cy="%.1f" r="5" fill="%s"/>`+"\n", x, y, color)
	}
}

// legend names the curves that there is room for, and counts the others.
func (p *picture) legend(i int, c svgCurve, color string) {
	if i >= mostLegend {
		return
	}
	x, y := float64(svgLeft-40+i%3*svgColumn), float64(svgTall-52+i/3*svgLine)
	if i == mostLegend-1 && len(p.curves) > mostLegend {
		p.text(x, y, "start", 12, plural(len(p.curves)-i, "more series", "more series"))
		return
	}
	fmt.Fprintf(&p.b, `<rect x="%.1f" y="%.1f" width="12" height="12" fill="%s"/>`+"\n", x, y-10, color)
	name := c.name
	if c.closed {
		name += ", " + fromSlot
	}
	p.text(x+18, y, "start", 12, clip(name, 38))
}
