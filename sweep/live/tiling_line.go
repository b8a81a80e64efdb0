package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/unit"
)

type tilingColumn struct {
	heads [3]string // of its heading, the lowest line last
	width int       // in columns of the terminal; a longer figure takes more
	rank  int       // columns of a higher rank are left out first; 0: never
	tier  int       // of telemetry.TierNames, from 1; 0: none. The column of a tier needs a server that reports it
	text  func(*interval) string
}

var tilingColumns = []tilingColumn{
	{heads: [3]string{"", "", "time"}, width: 7, text: func(v *interval) string { return v.label }},
	{heads: [3]string{"", "TTFT", "mean"}, width: 7,
		text: func(v *interval) string { return meanMs(v.ttftSum, v.ttfts) }},
	{heads: [3]string{"", "TTFT", "p50"}, width: 7, text: func(v *interval) string { return quantileMs(v.ttft, 0.5) }},
	{heads: [3]string{"", "TTFT", "max"}, width: 7, rank: 1,
		text: func(v *interval) string { return quantileMs(v.ttft, 1) }},
	{heads: [3]string{"", "ITL", "mean"}, width: 7, rank: 3,
		text: func(v *interval) string { return meanMs(v.decode, v.gaps) }},
	{heads: [3]string{"cache", "hit", "rate"}, width: 6,
		text: func(v *interval) string { return share(v.cached, v.prompt) }},
	{heads: [3]string{"hit", "rate,", "GPU"}, width: 6, rank: 2, tier: 1,
		text: func(v *interval) string { return v.tiers[0] }},
	{heads: [3]string{"hit", "rate,", "host"}, width: 6, rank: 2, tier: 2,
		text: func(v *interval) string { return v.tiers[1] }},
	{heads: [3]string{"hit", "rate,", "p2p"}, width: 6, rank: 2, tier: 3,
		text: func(v *interval) string { return v.tiers[2] }},
	{heads: [3]string{"hit", "rate,", "disk"}, width: 6, rank: 2, tier: 4,
		text: func(v *interval) string { return v.tiers[3] }},
	{heads: [3]string{"hit", "rate,", "external"}, width: 8, rank: 2, tier: 5,
		text: func(v *interval) string { return v.tiers[4] }},
	{heads: [3]string{"", "prompt", "tok/s"}, width: 8,
		text: func(v *interval) string { return v.perSecond(v.received.prompt) }},
	{heads: [3]string{"", "output", "tok/s"}, width: 7,
		text: func(v *interval) string { return v.perSecond(v.received.output) }},
	{heads: [3]string{"", "", "req/s"}, width: 6, rank: 4,
		text: func(v *interval) string { return v.rate(v.done - v.failed) }},
	{heads: [3]string{"", "in", "flight"}, width: 6, text: func(v *interval) string { return v.inFlight }},
	{heads: [3]string{"", "", "done"}, width: 6, text: func(v *interval) string { return unit.Count(v.ended) }},
	{heads: [3]string{"", "", "errors"}, width: 6, text: func(v *interval) string { return unit.Count(v.failures) }},
}

// interval is the figures of one line: of an interval, or of the whole run.
type interval struct {
	tally
	label    string
	seconds  float64
	received tokens
	inFlight string
	// requests of the warm-up in a line of it, then those of the window; of the whole run in its line
	ended    int
	failures int       // of ended
	tiers    [5]string // hit rates in the order of telemetry.TierNames
}

func (v *interval) text(c tilingColumn) string { return c.text(v) }

func (v *interval) perSecond(n int64) string { return v.rate(int(n)) }

// rate is n per second: whole from 10 on.
func (v *interval) rate(n int) string {
	if v.seconds <= 0 {
		return none
	}
	x := float64(n) / v.seconds
	if x >= 10 {
		return unit.Count(int(x + 0.5))
	}
	return unit.Digits(x)
}

const none = "–"

func meanMs(seconds float64, n int) string {
	if n == 0 {
		return none
	}
	return unit.Format(1e3*seconds/float64(n), "ms")
}

// quantileMs sorts the values, in s.
func quantileMs(values []float64, p float64) string {
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	return unit.Format(1e3*stats.Quantile(values, p), "ms")
}

func share(part, whole int) string {
	if whole == 0 {
		return none
	}
	return unit.Percent(float64(part) / float64(whole))
}

// shownColumns are the columns that fit a width; tiers are those that the server reports.
func shownColumns(width int, tiers [5]bool) []tilingColumn {
	shown := func(rank int) (out []tilingColumn, wide int) {
		wide = -2
		for _, c := range tilingColumns {
			if c.rank <= rank && (c.tier == 0 || tiers[c.tier-1]) {
				out, wide = append(out, c), wide+2+c.width
			}
		}
		return out, wide
	}
	best, _ := shown(0)
	for rank := 1; ; rank++ {
		more, wide := shown(rank)
		if wide > width || rank > 4 {
			return best
		}
		best = more
	}
}

func lineOf(shown []tilingColumn, cell func(tilingColumn) string) string {
	var cells []string
	for _, c := range shown {
		cells = append(cells, text.PadLeft(cell(c), c.width))
	}
	return strings.Join(cells, "  ")
}

func heading(shown []tilingColumn) []string {
	var out []string
	for i := range 3 {
		line := lineOf(shown, func(c tilingColumn) string { return c.heads[i] })
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}

// clockText is a time since the start as m:ss or h:mm:ss, with tenths for short intervals.
func clockText(d time.Duration, tenths bool) string {
	d = d.Round(time.Second / 10)
	if !tenths {
		d = d.Round(time.Second)
	}
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, d.Seconds()-60*float64(int(d.Minutes()))
	text := fmt.Sprintf("%02.0f", seconds)
	if tenths {
		text = fmt.Sprintf("%04.1f", seconds)
	}
	if hours > 0 {
		return fmt.Sprintf("%d:%02d:%s", hours, minutes, text)
	}
	return fmt.Sprintf("%d:%s", minutes, text)
}
