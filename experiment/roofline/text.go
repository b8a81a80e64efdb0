package roofline

import (
	"fmt"
	"io"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/unit"
)

// Text writes a prediction for people: the setup, the times, and the terms that they are the sum of.
func Text(w io.Writer, p Prediction) error {
	var b strings.Builder
	active := ""
	if p.ActiveParams != p.Params {
		active = fmt.Sprintf(", %s G of them active", unit.Digits(float64(p.ActiveParams)/1e9))
	}
	fmt.Fprintf(&b, "%s (%s G parameters%s; %s, KV %s) on %d × %s\n",
		p.Model, unit.Digits(float64(p.Params)/1e9), active, p.Precision, p.KVPrecision, p.GPUs, p.Hardware)
	fmt.Fprintf(&b, "input %s tokens, %s of them cached; output %s\n\n", tokens(p.Input), tokens(p.Cached), tokens(p.Output))
	fmt.Fprintf(&b, "rule of thumb   %s GB / %s GB/s = %s ms per token, %s tokens/s\n",
		unit.Digits(p.Rule.WeightsGB), unit.Digits(p.Rule.GBs), unit.Digits(p.Rule.Ms), unit.Digits(p.Rule.PerS))
	fmt.Fprintf(&b, "KV cache        %s bytes per token; %s\n", unit.Count(int(p.KVBytes)), capacityText(p.Capacity))
	fmt.Fprintf(&b, "critical batch  %s\n", criticalText(p.Critical))
	fmt.Fprintf(&b, "ceiling         %s\n\n", ceilingText(p.Ceiling))
	b.WriteString(timesTable(p))
	if p.Fit != nil {
		b.WriteString("\n\n" + fitText(p.Fit))
	}
	b.WriteString("\n\nterms of the expected times; those in brackets overlap with a longer one\n\n" + termsTable(p) + "\n")
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

func timesTable(p Prediction) string {
	t := [][]string{{"ms", "floor", "low", "expected", "high", "output tok/s", "MBU"}}
	row := func(name string, b Bound, perS, mbu, note string) {
		t = append(t, []string{name, unit.Digits(b.FloorMs), unit.Digits(b.LowMs), unit.Digits(b.ExpectedMs), unit.Digits(b.HighMs), perS, mbu, note})
	}
	row("TTFT", p.TTFT, "", "", "")
	notes := []string{p.TTFT.Note}
	for _, d := range p.Decode {
		notes = append(notes, d.TPOT.Note)
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
			note := fmt.Sprintf("%s tokens per step, speedup %s", unit.Digits(s.TokensPerStep), unit.Digits(s.Speedup))
			row("  speculative", s.TPOT, unit.Digits(1e3*float64(d.Batch)/s.TPOT.ExpectedMs), "", note)
		}
	}
	return columns.Table(t, 1, 2, 3, 4, 5, 6) + notesText(notes)
}

// notesText writes each note once.
func notesText(notes []string) string {
	var b strings.Builder
	seen := map[string]bool{"": true}
	for _, all := range notes {
		for _, note := range strings.Split(all, "; ") {
			if !seen[note] {
				b.WriteString("\nnote: " + note)
			}
			seen[note] = true
		}
	}
	return b.String()
}

func termsTable(p Prediction) string {
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
	return columns.Table(t, 3, 4, 5)
}

func fitText(f *Fit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fitted: overhead %s ms per step, %s of the memory bandwidth, ", unit.Digits(f.OverheadMs), unit.Format(f.Memory, "share"))
	if f.Compute != nil {
		fmt.Fprintf(&b, "%s of the compute peak", unit.Format(*f.Compute, "share"))
	} else {
		b.WriteString("default compute efficiency")
	}
	if f.Spread != nil {
		fmt.Fprintf(&b, "; residuals %s", unit.Format(*f.Spread, "share"))
	}
	b.WriteString("\n")
	for _, note := range f.Notes {
		b.WriteString("note: " + note + "\n")
	}
	t := [][]string{{"row", "measured ms", "fitted ms", "off", "held out ms", "off"}}
	for _, x := range f.Points {
		held, off := "–", "–"
		if x.HeldOutMs != nil {
			held, off = unit.Digits(*x.HeldOutMs), signed(*x.HeldOutOff)
		}
		t = append(t, []string{x.Name, unit.Digits(x.Ms), unit.Digits(x.FittedMs), signed(x.Off), held, off})
	}
	return b.String() + "\n" + columns.Table(t, 1, 2, 3, 4, 5)
}

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }
