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
	head  string // the lines of its heading, with | between them
	width int    // in columns of the terminal; a longer figure takes more
	rank  int    // columns of a higher rank are left out first; 0: never
	tier  int    // of telemetry.TierNames, from 1; 0: none. The column of a tier needs a server that reports it
	text  func(*interval) string
}

var tilingColumns = []tilingColumn{
	{"||time", 7, 0, 0, func(v *interval) string { return v.label }},
	{"|TTFT|mean", 7, 0, 0, func(v *interval) string { return meanMs(v.ttftSum, v.ttfts) }},
	{"|TTFT|p50", 7, 0, 0, func(v *interval) string { return quantileMs(v.ttft, 0.5) }},
	{"|TTFT|max", 7, 1, 0, func(v *interval) string { return quantileMs(v.ttft, 1) }},
	{"|ITL|mean", 7, 3, 0, func(v *interval) string { return meanMs(v.decode, v.gaps) }},
	{"cache|hit|rate", 6, 0, 0, func(v *interval) string { return share(v.cached, v.prompt) }},
	{"hit|rate,|GPU", 6, 2, 1, func(v *interval) string { return v.tiers[0] }},
	{"hit|rate,|host", 6, 2, 2, func(v *interval) string { return v.tiers[1] }},
	{"hit|rate,|p2p", 6, 2, 3, func(v *interval) string { return v.tiers[2] }},
	{"hit|rate,|disk", 6, 2, 4, func(v *interval) string { return v.tiers[3] }},
	{"hit|rate,|external", 8, 2, 5, func(v *interval) string { return v.tiers[4] }},
	{"|prompt|tok/s", 8, 0, 0, func(v *interval) string { return v.rate(int(v.received.prompt)) }},
	{"|output|tok/s", 7, 0, 0, func(v *interval) string { return v.rate(int(v.received.output)) }},
	{"||req/s", 6, 4, 0, func(v *interval) string { return v.rate(v.done - v.failed) }},
	{"|in|flight", 6, 0, 0, func(v *interval) string { return v.inFlight }},
	{"||done", 6, 0, 0, func(v *interval) string { return unit.Count(v.ended) }},
	{"||errors", 6, 0, 0, func(v *interval) string { return unit.Count(v.failures) }},
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
		line := lineOf(shown, func(c tilingColumn) string { return strings.Split(c.head, "|")[i] })
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}

// clockText is a time since the start as m:ss or h:mm:ss.
func clockText(d time.Duration) string {
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if hours > 0 {
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}
