package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"bench/experiment/roofline"
	"bench/experiment/unit"
)

// predictText is a prediction for people: what it is for, the times, and the terms that they are made of.
func predictText(p roofline.Prediction) string {
	var b strings.Builder
	active := ""
	if p.ActiveParams != p.Params {
		active = fmt.Sprintf(", %s G of them active", figures(float64(p.ActiveParams)/1e9))
	}
	fmt.Fprintf(&b, "%s (%s G parameters%s; %s, KV %s) on %d × %s\n", p.Model, figures(float64(p.Params)/1e9), active, p.Precision, p.KVPrecision, p.GPUs, p.Hardware)
	fmt.Fprintf(&b, "input %s tokens, %s of them cached; output %s\n\n", tokens(p.Input), tokens(p.Cached), tokens(p.Output))
	fmt.Fprintf(&b, "rule of thumb   %s GB / %s GB/s = %s ms a token, %s tokens/s\n", figures(p.Rule.WeightsGB), figures(p.Rule.GBs), figures(p.Rule.Ms), figures(p.Rule.PerS))
	fmt.Fprintf(&b, "KV cache        %s bytes a token; %s\n", unit.Count(int(p.KVBytes)), capacityText(p.Capacity))
	fmt.Fprintf(&b, "critical batch  %s\n", criticalText(p.Critical))
	fmt.Fprintf(&b, "ceiling         %s\n\n", ceilingText(p.Ceiling))
	b.WriteString(timesTable(p))
	if p.Fit != nil {
		b.WriteString("\n\n" + fitText(p.Fit))
	}
	b.WriteString("\n\nterms of the expected times; those in brackets run while a longer one does\n\n" + termsTable(p) + "\n")
	return b.String()
}

func tokens(n float64) string { return unit.Count(int(n)) }

func figures(x float64) string { return unit.Digits(x) }

func capacityText(c roofline.Capacity) string {
	if c.MemoryGB == 0 {
		return "the device's memory is unknown"
	}
	return fmt.Sprintf("beside %s GB of weights %s GB are left for %s tokens, %s of %s", figures(c.WeightsGB), figures(c.KVGB),
		unit.Count(c.Tokens), count(c.Sequences, "sequence"), tokens(c.Context))
}

func criticalText(batch float64) string {
	if batch == 0 {
		return "none: decoding is bound by memory at any batch, or the compute peak is unknown"
	}
	return figures(batch) + ": from there on computing takes longer than reading the weights"
}

func ceilingText(c roofline.Ceiling) string {
	if c.Batch == 0 {
		return "none: " + c.Why
	}
	return fmt.Sprintf("%s output tok/s (%s to %s), %s requests/s, at batch %d (%s), TPOT %s ms", figures(c.OutputPer), figures(c.WorstPerS), figures(c.BestPerS),
		figures(c.RequestsS), c.Batch, c.Why, figures(c.Step.ExpectedMs))
}

func plainTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row(header))
	return t
}

// right aligns the columns from the given one on.
func right(t table.Writer, from, to int) {
	var columns []table.ColumnConfig
	for n := from; n <= to; n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
}

func timesTable(p roofline.Prediction) string {
	t := plainTable("ms", "floor", "low", "expected", "high", "output tok/s", "MBU", "")
	right(t, 2, 7)
	row := func(name string, b roofline.Bound, perS, mbu, note string) {
		t.AppendRow(table.Row{name, figures(b.FloorMs), figures(b.LowMs), figures(b.ExpectedMs), figures(b.HighMs), perS, mbu, note})
	}
	row("TTFT", p.TTFT, "", "", "")
	notes := []string{p.TTFT.Note}
	for _, d := range p.Decode {
		notes = append(notes, d.TPOT.Note)
		held := ""
		if !d.Fits {
			held = "more than the KV cache holds"
		}
		row(fmt.Sprintf("TPOT, batch %d", d.Batch), d.TPOT, figures(d.PerS), fmt.Sprintf("%.0f %%", 100*d.MBU), held)
		if d.ChunkedTTFT != nil {
			row("  TTFT in chunks", *d.ChunkedTTFT, "", "", count(d.ChunkedSteps, "step"))
			row("  TPOT meanwhile", *d.ChunkedTPOT, "", "", "")
		}
		if s := d.Speculated; s != nil {
			note := fmt.Sprintf("%s tokens a step, %s × as fast", figures(s.TokensPerStep), figures(s.Speedup))
			row("  speculative", s.TPOT, figures(1e3*float64(d.Batch)/s.TPOT.ExpectedMs), "", note)
		}
	}
	return t.Render() + notesText(notes)
}

// notesText has each note once.
func notesText(notes []string) string {
	var b strings.Builder
	said := map[string]bool{"": true}
	for _, all := range notes {
		for _, note := range strings.Split(all, "; ") {
			if !said[note] {
				b.WriteString("\nnote: " + note)
			}
			said[note] = true
		}
	}
	return b.String()
}

func termsTable(p roofline.Prediction) string {
	t := plainTable("", "term", "of", "amount", "rate", "ms")
	right(t, 4, 6)
	add := func(name string, b roofline.Bound) {
		for _, x := range b.Terms {
			ms := figures(x.Ms)
			if x.Hidden {
				ms = "(" + ms + ")"
			}
			t.AppendRow(table.Row{name, x.Name, x.Of, figures(x.Amount) + " " + x.Unit, figures(x.Rate) + " " + x.RateUnit, ms})
			name = ""
		}
	}
	add("TTFT", p.TTFT)
	for _, d := range p.Decode {
		add(fmt.Sprintf("TPOT, batch %d", d.Batch), d.TPOT)
		if d.ChunkedTTFT != nil {
			add("  TTFT in chunks", *d.ChunkedTTFT)
		}
		if d.Speculated != nil {
			add("  speculative step", d.Speculated.Step)
		}
	}
	return t.Render()
}

func fitText(f *roofline.Fit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fitted: overhead %s ms a step, %s of the memory bandwidth, ", figures(f.OverheadMs), unit.Format(f.Memory, "share"))
	if f.Compute != nil {
		fmt.Fprintf(&b, "%s of the compute peak", unit.Format(*f.Compute, "share"))
	} else {
		b.WriteString("compute as usual")
	}
	if f.Spread != nil {
		fmt.Fprintf(&b, "; residuals %s", unit.Format(*f.Spread, "share"))
	}
	b.WriteString("\n")
	for _, note := range f.Notes {
		b.WriteString("note: " + note + "\n")
	}
	t := plainTable("row", "measured ms", "fitted ms", "off", "held out ms", "off")
	right(t, 2, 6)
	for _, x := range f.Points {
		held, off := "–", "–"
		if x.HeldOutMs != nil {
			held, off = figures(*x.HeldOutMs), signed(*x.HeldOutOff)
		}
		t.AppendRow(table.Row{x.Name, figures(x.Ms), figures(x.FittedMs), signed(x.Off), held, off})
	}
	return b.String() + "\n" + t.Render()
}

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }
