package why

import (
	"fmt"
	"io"
	"math"
	"strings"

	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report"
)

// smallest is the share of a change that is explained, and of a part that is shown.
const smallest, smallestPart = 0.02, 0.005

// Text writes the figures that changed, each with its causes.
func (r *Result) Text(w io.Writer, s report.Screen) error {
	var b strings.Builder
	line := func(format string, a ...any) {
		for _, part := range text.Wrap("", text.Escape(fmt.Sprintf(format, a...)), "    ", s.Columns()) {
			b.WriteString(part + "\n")
		}
	}
	shown := 0
	for _, row := range r.Rows {
		for _, f := range row.Figures {
			if f.Change.Low <= 0 && f.Change.High >= 0 || math.Abs(f.Change.Share) < smallest {
				continue
			}
			shown++
			name, p, _ := strings.Cut(f.Metric, "_")
			line("%s: %s %s %s (%s to %s)", row.Name, strings.ToUpper(name), p, f.Change.percent(),
				unit.Format(f.A, "ms"), unit.Format(f.B, "ms"))
			if f.Rejected != "" {
				line("  not explained: %s", f.Rejected)
				continue
			}
			for _, part := range f.Parts {
				if part.Cause == Unexplained || math.Abs(part.Share) >= smallestPart {
					fmt.Fprintf(&b, "  %-34s %s\n", part.Cause, part.percent())
				}
			}
		}
	}
	if shown == 0 {
		line("no figure changed by more than its interval and %.0f %%", 100*smallest)
	}
	for _, x := range r.LeftOut {
		line("left out: %s", x)
	}
	for _, c := range r.Facts {
		line("changed: %s", c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// percent is "+9.1 % [8, 10]".
func (p *Part) percent() string {
	return fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", 100*p.Share, 100*p.Low, 100*p.High)
}
