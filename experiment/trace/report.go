package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"bench/experiment/text"
)

func Text(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", shown(r.File), r.Format, counted(r.Requests, "request"))
	if r.Arrivals != nil {
		fmt.Fprintf(&b, " in %v", time.Duration(r.SpanS*float64(time.Second)).Round(time.Millisecond))
	}
	b.WriteString("\n")
	if parts := r.Counts.texts(); len(parts) > 0 {
		fmt.Fprintf(&b, "rows      %d read: %s\n", r.Read, strings.Join(parts, ", "))
	}
	if r.Arrivals != nil {
		r.Arrivals.text(&b)
	}
	if s := r.Sessions; s != nil {
		fmt.Fprintf(&b, "sessions  %d, mean %.1f requests, max %d\n", s.Count, s.MeanTurns, s.MaxTurns)
	}
	r.classes(&b)
	if r.Sessions != nil && r.Sessions.Graphs != nil {
		r.Sessions.Graphs.text(&b, r.Ends)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\ntokens\tmean\tmin\tp50\tp90\tp95\tp99\tmax\t\n")
	for _, l := range []struct {
		name string
		Lengths
	}{{"input", r.Input}, {"output", r.Output}} {
		fmt.Fprintf(t, "%s\t%.1f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", l.name, l.Mean, l.Min, l.P50, l.P90, l.P95,
			l.P99, l.Max)
	}
	_ = t.Flush() // into memory
	if r.Cache != nil {
		r.Cache.text(&b, r.BlockTokens)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s\nhint: %s\n", n.Text, n.Hint)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type count struct {
	rows int
	read string // what a report says of them
	lost string // what a conversion says of them; empty = nothing
}

// counted are the rows that are left out or changed, of kinds that occur.
func (c *Counts) counted() []count {
	return slices.DeleteFunc([]count{
		{c.Other, "skipped: no requests to a model", "that are no requests to a model"},
		{c.Failed, "skipped: failed", "that failed"},
		{c.Duplicate, "skipped: logged twice", "that are there twice"},
		{c.Uncounted, "skipped with neither token counts nor text", ""},
		{c.Empty, "skipped with an empty prompt or answer", "with an empty prompt or answer"},
		{c.Filtered, "excluded by window or filters", "excluded by the window or the filters"},
		{c.CutInput, "with a truncated prompt", ""},
	}, func(k count) bool { return k.rows <= 0 })
}

func (c *Counts) texts() (parts []string) {
	for _, k := range c.counted() {
		parts = append(parts, fmt.Sprintf("%d %s", k.rows, k.read))
	}
	return parts
}

func (r *Reader) empty() error {
	c := &r.counts
	if c.Read == 0 {
		return fmt.Errorf("%s has no request\nhint: check that the file is complete; widen start and end", r.name)
	}
	text := fmt.Sprintf("%s has no request to replay (rows read: %d): %s", r.name, c.Read,
		strings.Join(c.texts(), ", "))
	switch {
	case c.Filtered > 0:
		return errors.New(text + "\nhint: widen start, end and the filters")
	case c.Uncounted > 0:
		return errors.New(text + "\nhint: record " + otelInput[0] + " and " + otelOutput[0] + ", or the messages")
	}
	return errors.New(text + "\nhint: check that the file is the log of answered requests")
}

// text writes the figures of sessions. ends: waits are tool time alone.
func (g *Graphs) text(b *strings.Builder, ends bool) {
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "per session\tmean\tp50\tp95\tmax\t\n")
	tool := "tool time"
	if !ends {
		tool = "time between turns"
	}
	for _, f := range g.figures() {
		fmt.Fprintf(t, "%s\t%.1f\t%.*f\t%.*f\t%.*f\t\n", strings.Replace(f.name, "tool time", tool, 1),
			f.lengths.Mean, f.decimals, f.lengths.P50, f.decimals, f.lengths.P95, f.decimals, f.lengths.Max)
	}
	_ = t.Flush() // into memory
	if g.Within != nil {
		fmt.Fprintf(b, "\npossible cache hits  %.1f %% of prompt tokens within sessions, %.1f %% more between them\n",
			100**g.Within, 100**g.Between)
	}
}

func (a *Arrivals) text(b *strings.Builder) {
	mean := fmt.Sprintf("mean %.4g/s", a.PerS)
	if a.PerS == 0 {
		mean = "all at the same time"
	}
	fmt.Fprintf(b, "arrivals  %s, max %d in one second\n", mean, a.PeakPerS)
	if a.GapCV != nil {
		fmt.Fprintf(b, "          coefficient of variation of the gaps %.3g", *a.GapCV)
		if a.Dispersion1s != nil {
			fmt.Fprintf(b, "; index of dispersion %.3g at 1 s", *a.Dispersion1s)
		}
		if a.Dispersion30s != nil {
			fmt.Fprintf(b, ", %.3g at 30 s", *a.Dispersion30s)
		}
		b.WriteString(" (Poisson: 1)\n")
	}
	if a.StepS > 0 {
		fmt.Fprintf(b, "times     rounded to %.4g s; %.1f %% of the requests have the timestamp of the previous one\n",
			a.StepS, 100*a.SameTime)
	}
}

func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

const mostClasses = 10

func (r *Report) classes(b *strings.Builder) {
	if len(r.Classes) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(r.Classes), func(x, y string) int {
		return cmp.Or(r.Classes[y]-r.Classes[x], strings.Compare(x, y))
	})
	parts := make([]string, 0, mostClasses)
	for _, name := range names[:min(len(names), mostClasses)] {
		parts = append(parts, fmt.Sprintf("%s %d", shown(name), r.Classes[name]))
	}
	if more := len(names) - mostClasses; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintf(b, "classes   %s\n", strings.Join(parts, ", "))
}

// shown is the beginning of a name from an untrusted file, safe for a terminal.
func shown(name string) string { return text.Escape(fmt.Sprintf("%.80s", name)) }

func (c *Cache) text(b *strings.Builder, blockTokens int) {
	fmt.Fprintf(b, "\nblocks    %d of %d tokens in all prompts, %d distinct; max %d in one prompt\n", c.Blocks,
		blockTokens, c.Different, c.Largest)
	b.WriteString("\nprefix-cache hit rate (share of prompt tokens), requests served one by one\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "blocks\ttokens\tLRU\ttail first (vLLM)\t\n")
	for _, s := range c.Sizes {
		fmt.Fprintf(t, "%d\t%d\t%.1f %%\t%.1f %%\t\n", s.Blocks, s.Tokens, 100*s.LRU, 100*s.TailFirst)
	}
	fmt.Fprintf(t, "no limit\t\t%.1f %%\t%.1f %%\t\n", 100*c.HitRate, 100*c.HitRate)
	_ = t.Flush() // into memory
}
