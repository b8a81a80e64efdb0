package why

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/report"
)

// smallest is the share of a change that is explained, and of a part that is shown.
const smallest, smallestPart = 0.02, 0.005

// Text writes what the causes explain in all, then the figures that changed, each with its causes: the medians, and a
// p95 whose median did not change.
func (r *Result) Text(w io.Writer, s report.Screen) error {
	var b strings.Builder
	line := func(format string, a ...any) {
		for _, part := range text.Wrap("", text.Escape(fmt.Sprintf(format, a...)), "    ", s.Columns()) {
			b.WriteString(part + "\n")
		}
	}
	shares := map[string][]float64{} // of the explained changes, by cause
	changed, figures := 0, 0
	var details strings.Builder
	for _, row := range r.Rows {
		for i := range row.Figures {
			f := &row.Figures[i]
			figures++
			if !f.changed() {
				continue
			}
			changed++
			for _, p := range f.Parts {
				if f.Rejected == "" && (p.Low > 0 || p.High < 0) && math.Abs(p.Share) >= smallestPart {
					shares[p.Cause] = append(shares[p.Cause], p.Share/f.Change.Share)
				}
			}
			if !strings.HasSuffix(f.Metric, "p95") || i == 0 || !row.Figures[i-1].changed() {
				f.details(&details, text.Escape(row.Name))
			}
		}
	}
	switch {
	case figures == 0:
	case changed == 0:
		line("no figure changed by more than its interval and %.0f %%", 100*smallest)
	default:
		line("%d of %d figures changed", changed, figures)
	}
	for _, cause := range causes {
		if x := shares[cause]; len(x) > 0 {
			least, most := fmt.Sprintf("%.0f", 100*slices.Min(x)), fmt.Sprintf(" to %.0f", 100*slices.Max(x))
			if most == " to "+least {
				most = ""
			}
			fmt.Fprintf(&b, "  %s explains %s%s %% of %s\n", cause, least, most, unit.Plural(len(x), "change"))
		}
	}
	for _, c := range r.Facts {
		line("changed: %s", c)
	}
	for _, c := range r.GPUs {
		line("changed: %s", c)
	}
	for _, x := range r.LeftOut {
		line("left out: %s", x)
	}
	b.WriteString(details.String())
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Figure) changed() bool {
	return (f.Change.Low > 0 || f.Change.High < 0) && math.Abs(f.Change.Share) >= smallest
}

func (f *Figure) details(b *strings.Builder, row string) {
	fmt.Fprintf(b, "\n%s: %s %s (%s to %s)\n", row, verdict.LimitName(f.Metric, ""), f.Change.percent(),
		unit.Format(f.A, "ms"), unit.Format(f.B, "ms"))
	if f.Rejected != "" {
		fmt.Fprintf(b, "  not explained: %s\n", f.Rejected)
		return
	}
	for _, part := range f.Parts {
		if part.Cause == Unexplained || math.Abs(part.Share) >= smallestPart {
			fmt.Fprintf(b, "  %-28s %s\n", part.Cause, part.percent())
		}
	}
}

// percent is "+9.1 % [+8.0, +10.2]".
func (p *Part) percent() string {
	return fmt.Sprintf("%s [%+.1f, %+.1f]", p.short(), hundred(p.Low), hundred(p.High))
}

// short is "+9.1 %".
func (p *Part) short() string { return fmt.Sprintf("%+.1f %%", hundred(p.Share)) }

func hundred(share float64) float64 {
	const smallestShown = 0.0005
	if math.Abs(share) < smallestShown { // no −0.0
		return 0
	}
	return 100 * share
}
