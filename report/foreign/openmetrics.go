package foreign

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/verdict"
)

// OpenMetrics writes the figures as gauges for a push gateway, with a series for each row: what it was and how it went are labels.
// There are no timestamps, which push gateways refuse. In seconds, as is the custom there.
func OpenMetrics(w io.Writer, s Source) error {
	b := bufio.NewWriter(w)
	for _, f := range shown {
		name, scale := "bench_"+f.metric, 1.0
		if strings.HasSuffix(f.unit, "-ms") {
			name, scale = name+"_seconds", 1e-3
		}
		fmt.Fprintf(b, "# HELP %s %s of a row, as docs/metrics.md defines it.\n# TYPE %s gauge\n", name, f.metric, name)
		for i := range s.Rows {
			if x, ok := f.of(&s.Rows[i]); ok {
				fmt.Fprintf(b, "%s{%s} %s\n", name, s.labels(&s.Rows[i]), strconv.FormatFloat(x*scale, 'g', -1, 64))
			}
		}
	}
	s.states(b)
	fmt.Fprintln(b, "# EOF")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing OpenMetrics: %w", err)
	}
	return nil
}

// states are what a figure is worth: alarms must look at these first.
func (s *Source) states(b *bufio.Writer) {
	fmt.Fprint(b, "# HELP bench_valid Whether no check of the row failed.\n# TYPE bench_valid gauge\n")
	for i := range s.Rows {
		fmt.Fprintf(b, "bench_valid{%s} %d\n", s.labels(&s.Rows[i]), one(s.Rows[i].Checks.Valid()))
	}
	fmt.Fprint(b, "# HELP bench_slo The row's SLO, its verdict as a label.\n# TYPE bench_slo gauge\n")
	for i := range s.Rows {
		if v, _ := verdict.SLOOf(&s.Rows[i]); v != "" {
			fmt.Fprintf(b, "bench_slo{%s,verdict=%s} 1\n", s.labels(&s.Rows[i]), quote(string(v)))
		}
	}
	fmt.Fprint(b, "# HELP bench_run_start_seconds When the row began, by Unix time.\n# TYPE bench_run_start_seconds gauge\n")
	for i := range s.Rows {
		if t := s.Rows[i].StartedAt; !t.IsZero() {
			fmt.Fprintf(b, "bench_run_start_seconds{%s} %s\n", s.labels(&s.Rows[i]), strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64))
		}
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (s *Source) labels(row *record.Row) string {
	m := s.Manifest
	var b strings.Builder
	for _, x := range [][2]string{{"matrix", m.Matrix}, {"row", row.Spec.Name}, {"point", row.Spec.Pretty()}, {"repeat", strconv.Itoa(row.Spec.Repeat)},
		{"model", m.Target.Model}, {"hardware", m.Target.Hardware}, {"simulated", strconv.FormatBool(row.Simulated)}} {
		fmt.Fprintf(&b, "%s=%s,", x[0], quote(x[1]))
	}
	return strings.TrimSuffix(b.String(), ",")
}

// quote escapes a label's value as the format asks: no more than these three.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}
