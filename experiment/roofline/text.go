package roofline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/published"
	"bench/experiment/text"
	"bench/experiment/unit"
)

func Text(w io.Writer, p Prediction, width int) error {
	var b strings.Builder
	line := func(lead, format string, args ...any) {
		indent := strings.Repeat(" ", text.Width(lead)+1)
		if lead == "" {
			indent = "   "
		}
		b.WriteString(strings.Join(text.Wrap(lead, fmt.Sprintf(format, args...), indent, width), "\n") + "\n")
	}
	active := ""
	if p.ActiveParams != p.Params {
		active = fmt.Sprintf(", %s G of them active", unit.Digits(float64(p.ActiveParams)/1e9))
	}
	line("", "%s (%s G parameters%s; %s, KV %s) on %d × %s%s",
		p.Model, unit.Digits(float64(p.Params)/1e9), active, p.Precision, p.KVPrecision, p.GPUs, p.Hardware,
		servedBy(p))
	line("", "input %s tokens, %s of them cached; output %s", tokens(p.Input), tokens(p.Cached), tokens(p.Output))
	if p.Capacity.MemoryGB > 0 && p.Capacity.Sequences == 0 {
		line("does not fit:",
			"%s GB of weights and one sequence need more than 90 %% of %s GB; the times assume a larger device",
			unit.Digits(p.Capacity.WeightsGB), unit.Digits(p.Capacity.MemoryGB))
	}
	b.WriteString("\n")
	line("rule of thumb  ", "%s GB / %s GB/s = %s ms per token, %s tokens/s",
		unit.Digits(p.Rule.WeightsGB), unit.Digits(p.Rule.GBs), unit.Digits(p.Rule.Ms), unit.Digits(p.Rule.PerS))
	line("KV cache       ", "%s; %s", kvText(p), capacityText(p.Capacity))
	line("critical batch ", "%s", criticalText(p.Critical))
	line("peak           ", "%s", peakText(p.Peak))
	if p.PublishedFor != nil {
		line("published      ", "none for this setup and these lengths; %s", p.PublishedFor)
	}
	b.WriteString("\n" + timesTable(p, width) + "\n")
	for _, note := range notesOf(p) {
		line("note:", "%s", note)
	}
	if text := publishedText(p.Published, width); text != "" {
		b.WriteString("\n" + text)
	}
	b.WriteString("\n")
	line("", "terms of the expected times; those in brackets overlap with a longer one")
	b.WriteString("\n" + termsTable(p, width) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func servedBy(p Prediction) (text string) {
	if p.AttentionDP {
		text += ", data-parallel attention"
	}
	if p.ExpertParallel {
		text += ", whole experts"
	}
	if p.Engine != "" {
		text += ", by " + p.Engine
	}
	return text
}

func tokens(n float64) string { return unit.Count(int(n)) }

func capacityText(c Capacity) string {
	if c.MemoryGB == 0 {
		return "the device's memory is unknown"
	}
	return fmt.Sprintf("%s GB beside %s GB of weights hold %s tokens, %s of %s", unit.Digits(c.KVGB),
		unit.Digits(c.WeightsGB), unit.Count(c.Tokens), unit.Plural(c.Sequences, "sequence"), tokens(c.Context))
}

func criticalText(batch float64) string {
	if batch == 0 {
		return "none: decode is memory-bound at any batch, or the compute peak is unknown"
	}
	return unit.Digits(batch) + ": above it, compute takes longer than reading the weights"
}

func kvText(p Prediction) string {
	if p.KVGrowth < p.KVBytes {
		return fmt.Sprintf("%s bytes per token, %s beyond the windows", unit.Count(int(p.KVBytes)),
			unit.Count(int(p.KVGrowth)))
	}
	return unit.Count(int(p.KVBytes)) + " bytes per token"
}

func peakText(p Peak) string {
	if p.Batch == 0 {
		return "unknown: " + p.Why
	}
	return fmt.Sprintf("%s output tok/s (typical %s to %s), %s requests/s, at concurrency %d (%s), TPOT %s ms",
		unit.Digits(p.OutputPer), unit.Digits(p.LowPerS), unit.Digits(p.HighPerS), unit.Digits(p.RequestsS), p.Batch,
		p.Why, unit.Digits(p.TPOT.ExpectedMs))
}

func timesTable(p Prediction, width int) string {
	t := [][]string{{"ms", "floor", "low", "expected", "high", "tok/s", "MBU"}}
	row := func(name string, b Bound, perS, mbu, note string) {
		t = append(t, []string{name, unit.Digits(b.FloorMs), unit.Digits(b.LowMs), unit.Digits(b.ExpectedMs),
			unit.Digits(b.HighMs), perS, mbu, note})
	}
	for _, d := range p.Decode {
		held := ""
		if !d.Fits {
			held, _ = limitText(p)
		}
		row(fmt.Sprintf("TTFT, batch %d", d.Batch), d.TTFT, "", "", held)
		row("  TPOT", d.TPOT, unit.Digits(d.PerS), "", "")
		row("  decode step", d.Step, "", fmt.Sprintf("%.0f %%", 100*d.MBU), "")
	}
	for _, r := range p.Rates {
		note := "batch " + unit.Digits(r.Concurrency)
		if r.Saturated {
			note = "at most " + unit.Digits(r.RatePerS) + "/s"
		}
		row(fmt.Sprintf("TTFT, rate %s/s", unit.Digits(r.Requested)), r.TTFT, "", "", note)
		row("  TPOT", r.TPOT, unit.Digits(r.OutputPerS), "", "")
	}
	return text.Table(t, width, 1, 2, 3, 4, 5, 6)
}

func notesOf(p Prediction) []string {
	var all []string
	for _, d := range p.Decode {
		all = append(append(all, strings.Split(d.TTFT.Note, "; ")...), strings.Split(d.TPOT.Note, "; ")...)
		if !d.Fits {
			if limit, why := limitText(p); why != "" {
				all = append(all, limit+": "+why+"; the others wait, and TTFT grows")
			}
		}
	}
	if slices.ContainsFunc(p.Rates, func(l Load) bool { return l.Saturated }) {
		all = append(all,
			"a rate above the highest that the server can serve: the queue grows as long as the load lasts; the times are those at the highest rate")
	}
	var notes []string
	for _, note := range all {
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

func limitText(p Prediction) (limit, why string) {
	if p.Capacity.Sequences == 0 {
		return "does not fit", ""
	}
	if p.Peak.Batch != p.Capacity.Sequences {
		return "max seqs", "the engine's limit admits " + unit.Plural(p.Peak.Batch, "sequence")
	}
	return "KV full", "the cache holds " + unit.Plural(p.Capacity.Sequences, "sequence")
}

func termsTable(p Prediction, width int) string {
	t := [][]string{{"", "term", "of", "amount", "rate", "ms"}}
	add := func(name string, b Bound) {
		for _, x := range b.Terms {
			ms := unit.Digits(x.Ms)
			if x.Hidden {
				ms = "(" + ms + ")"
			}
			amount, rate := unit.Digits(x.Amount)+" "+x.Unit, unit.Digits(x.Rate)+" "+x.RateUnit
			if x.Amount == 1 { // a time of its own, such as a wait
				amount, rate = "", ""
			}
			t = append(t, []string{name, x.Name, x.Of, amount, rate, ms})
			name = ""
		}
	}
	for _, d := range p.Decode {
		add(fmt.Sprintf("TTFT, batch %d", d.Batch), d.TTFT)
		add("  TPOT", d.TPOT)
	}
	return text.Table(t, width, 3, 4, 5)
}

func publishedText(figures []published.Compared, width int) string {
	if len(figures) == 0 {
		return ""
	}
	heading := "published figures at concurrency c (mean or median: not specified), expected for the published run: its layout, lengths and start"
	if lengths := published.LengthsNote(figures); lengths != "" {
		heading += "; " + lengths
	}
	s := strings.Join(text.Wrap("", heading, "  ", width), "\n") + "\n\n"
	if table := publishedTimes(figures, width); table != "" {
		s += table + "\n"
	}
	for _, f := range figures {
		if f.Concurrency == 0 {
			s += strings.Join(text.Wrap("  highest", highestText(f), strings.Repeat(" ", 10), width), "\n") + "\n"
		}
	}
	return s
}

func publishedTimes(figures []published.Compared, width int) string {
	t := [][]string{{"", "load", "TTFT", "expected", "TPOT", "expected", "source"}}
	for _, f := range figures {
		if f.Concurrency == 0 {
			continue
		}
		t = append(t, []string{" " + f.By(), fmt.Sprintf("c%d", f.Concurrency), unit.Digits(f.TTFTMs),
			expectedText(f.TTFTMs, f.TTFTRatio), unit.Digits(f.TPOTMs), expectedText(f.TPOTMs, f.TPOTRatio), f.From()})
	}
	if len(t) == 1 {
		return ""
	}
	return text.Table(t, width, 1, 2, 3, 4, 5)
}

func expectedText(published float64, ratio *float64) string {
	if ratio == nil {
		return "–"
	}
	return unit.Digits(published * *ratio)
}

func highestText(f published.Compared) string {
	text := fmt.Sprintf("%s tok/s/GPU: %s (%s)", unit.Digits(f.OutputPerGPU), f.By(), f.From())
	switch {
	case f.Scenario != "":
		text += fmt.Sprintf("; %s, lengths of MLPerf's data set", f.Scenario)
	case f.OutputRatio != nil:
		text += fmt.Sprintf("; expected peak %s", expectedText(f.OutputPerGPU, f.OutputRatio))
	}
	return text
}
