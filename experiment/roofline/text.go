package roofline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/unit"
)

// Text writes a prediction for people in lines of width columns: the setup, the times, and the terms that they are
// the sum of.
func Text(w io.Writer, p Prediction, width int) error {
	var b strings.Builder
	line := func(lead, format string, args ...any) {
		indent := strings.Repeat(" ", columns.Width(lead)+1)
		if lead == "" {
			indent = "   "
		}
		b.WriteString(strings.Join(columns.Wrap(lead, fmt.Sprintf(format, args...), indent, width), "\n") + "\n")
	}
	active := ""
	if p.ActiveParams != p.Params {
		active = fmt.Sprintf(", %s G of them active", unit.Digits(float64(p.ActiveParams)/1e9))
	}
	line("", "%s (%s G parameters%s; %s, KV %s) on %d × %s",
		p.Model, unit.Digits(float64(p.Params)/1e9), active, p.Precision, p.KVPrecision, p.GPUs, p.Hardware)
	line("", "input %s tokens, %s of them cached; output %s", tokens(p.Input), tokens(p.Cached), tokens(p.Output))
	b.WriteString("\n")
	line("rule of thumb  ", "%s GB / %s GB/s = %s ms per token, %s tokens/s",
		unit.Digits(p.Rule.WeightsGB), unit.Digits(p.Rule.GBs), unit.Digits(p.Rule.Ms), unit.Digits(p.Rule.PerS))
	line("KV cache       ", "%s bytes per token; %s", unit.Count(int(p.KVBytes)), capacityText(p.Capacity))
	line("critical batch ", "%s", criticalText(p.Critical))
	line("ceiling        ", "%s", ceilingText(p.Ceiling))
	b.WriteString("\n" + timesTable(p, width) + "\n")
	for _, note := range notesOf(p) {
		line("note:", "%s", note)
	}
	if f := p.Fit; f != nil {
		b.WriteString("\n")
		line("fitted:", "%s", fitText(f))
		for _, note := range f.Notes {
			line("note:", "%s", note)
		}
		b.WriteString("\n" + fitTable(f, width) + "\n")
	}
	b.WriteString("\n")
	line("", "terms of the expected times; those in brackets overlap with a longer one")
	b.WriteString("\n" + termsTable(p, width) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func tokens(n float64) string { return unit.Count(int(n)) }

func capacityText(c Capacity) string {
	if c.MemoryGB == 0 {
		return "the device's memory is unknown"
	}
	return fmt.Sprintf("%s GB beside %s GB of weights hold %s tokens, %s of %s", unit.Digits(c.KVGB), unit.Digits(c.WeightsGB),
		unit.Count(c.Tokens), unit.Plural(c.Sequences, "sequence"), tokens(c.Context))
}

func criticalText(batch float64) string {
	if batch == 0 {
		return "none: decode is memory-bound at any batch, or the compute peak is unknown"
	}
	return unit.Digits(batch) + ": above it, compute takes longer than reading the weights"
}

func ceilingText(c Ceiling) string {
	if c.Batch == 0 {
		return "none: " + c.Why
	}
	return fmt.Sprintf("%s output tok/s (%s to %s), %s requests/s, at batch %d (%s), TPOT %s ms",
		unit.Digits(c.OutputPer), unit.Digits(c.WorstPerS), unit.Digits(c.BestPerS), unit.Digits(c.RequestsS), c.Batch, c.Why, unit.Digits(c.Step.ExpectedMs))
}

func timesTable(p Prediction, width int) string {
	t := [][]string{{"ms", "floor", "low", "expected", "high", "output tok/s", "MBU"}}
	row := func(name string, b Bound, perS, mbu, note string) {
		t = append(t, []string{name, unit.Digits(b.FloorMs), unit.Digits(b.LowMs), unit.Digits(b.ExpectedMs), unit.Digits(b.HighMs), perS, mbu, note})
	}
	row("TTFT", p.TTFT, "", "", "")
	for _, d := range p.Decode {
		held := ""
		if !d.Fits {
			held = "exceeds the KV cache"
		}
		row(fmt.Sprintf("TPOT, batch %d", d.Batch), d.TPOT, unit.Digits(d.PerS), fmt.Sprintf("%.0f %%", 100*d.MBU), held)
		if d.ChunkedTTFT != nil {
			row("  TTFT in chunks", *d.ChunkedTTFT, "", "", unit.Plural(d.ChunkedSteps, "step"))
			row("  TPOT meanwhile", *d.ChunkedTPOT, "", "", "")
		}
		if s := d.Speculated; s != nil {
			note := fmt.Sprintf("%s tok/step, %s× as fast", unit.Digits(s.TokensPerStep), unit.Digits(s.Speedup))
			row("  speculative", s.TPOT, unit.Digits(1e3*float64(d.Batch)/s.TPOT.ExpectedMs), "", note)
		}
	}
	return columns.Table(t, width, 1, 2, 3, 4, 5, 6)
}

// notesOf are the notes of the times, each once.
func notesOf(p Prediction) []string {
	all := strings.Split(p.TTFT.Note, "; ")
	for _, d := range p.Decode {
		all = append(all, strings.Split(d.TPOT.Note, "; ")...)
	}
	var notes []string
	for _, note := range all {
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

func termsTable(p Prediction, width int) string {
	t := [][]string{{"", "term", "of", "amount", "rate", "ms"}}
	add := func(name string, b Bound) {
		for _, x := range b.Terms {
			ms := unit.Digits(x.Ms)
			if x.Hidden {
				ms = "(" + ms + ")"
			}
			t = append(t, []string{name, x.Name, x.Of, unit.Digits(x.Amount) + " " + x.Unit, unit.Digits(x.Rate) + " " + x.RateUnit, ms})
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
	return columns.Table(t, width, 3, 4, 5)
}

func fitText(f *Fit) string {
	text := fmt.Sprintf("overhead %s ms per step, %s of the memory bandwidth, ", unit.Digits(f.OverheadMs), unit.Format(f.Memory, "share"))
	if f.Compute != nil {
		text += unit.Format(*f.Compute, "share") + " of the compute peak"
	} else {
		text += "default compute efficiency"
	}
	if f.Spread != nil {
		text += "; residuals " + unit.Format(*f.Spread, "share")
	}
	return text
}

// fitTable is each row of the run beside the fit.
func fitTable(f *Fit, width int) string {
	t := [][]string{{"row", "measured ms", "fitted ms", "off", "held out ms", "off"}}
	for _, x := range f.Points {
		held, off := "–", "–"
		if x.HeldOutMs != nil {
			held, off = unit.Digits(*x.HeldOutMs), signed(*x.HeldOutOff)
		}
		t = append(t, []string{x.Name, unit.Digits(x.Ms), unit.Digits(x.FittedMs), signed(x.Off), held, off})
	}
	return columns.Table(t, width, 1, 2, 3, 4, 5)
}

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }
