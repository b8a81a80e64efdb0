package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/verdict"
	"bench/report"
)

// OpenMetrics writes the figures of the live rows as gauges for a push gateway, with the row, its settings
// and the target as labels. Times are in seconds, as is usual there. There are no timestamps: push gateways
// refuse them. A family is written by hand, as expfmt needs a metric object per line for the same three lines
// of text.
func OpenMetrics(w io.Writer, run *report.Run) error {
	b := bufio.NewWriter(w)
	rows := run.Live()
	family := func(name, help string, value func(*record.Row) (labels, value string)) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for i := range rows {
			if labels, x := value(&rows[i]); x != "" {
				fmt.Fprintf(b, "%s{%s%s} %s\n", name, rowLabels(run, &rows[i]), labels, x)
			}
		}
	}
	for _, f := range figures {
		name, scale := "bench_"+f.metric, 1.0
		if strings.HasSuffix(f.unit, "-ms") {
			name, scale = name+"_seconds", 1e-3
		}
		family(name, f.metric+" of a row, as docs/metrics.md defines it.", func(row *record.Row) (string, string) {
			if x, ok := f.of(row); ok {
				return "", strconv.FormatFloat(x*scale, 'g', -1, 64)
			}
			return "", ""
		})
	}
	family("bench_valid", "1 if no finding of the row is invalid, else 0.", func(row *record.Row) (string, string) {
		if row.Valid() {
			return "", "1"
		}
		return "", "0"
	})
	family("bench_cautions", "Number of cautions of the row.", func(row *record.Row) (string, string) {
		return "", strconv.Itoa(len(row.Codes(record.Caution)))
	})
	family("bench_slo", "The SLO of the row, with its verdict as a label.", func(row *record.Row) (string, string) {
		if v, _ := verdict.OfRows(row); v != "" {
			return ",verdict=" + quote(string(v)), "1"
		}
		return "", ""
	})
	family("bench_run_start_seconds", "Start of the row in Unix time.", func(row *record.Row) (string, string) {
		if row.StartedAt.IsZero() {
			return "", ""
		}
		return "", strconv.FormatFloat(float64(row.StartedAt.UnixMilli())/1e3, 'f', 3, 64)
	})
	fmt.Fprintln(b, "# EOF")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing OpenMetrics: %w", err)
	}
	return nil
}

func rowLabels(run *report.Run, row *record.Row) string {
	m := run.Manifest
	var parts []string
	for _, x := range [][2]string{{"matrix", m.Matrix}, {"row", row.Spec.Name}, {"point", row.Spec.Label()}, {"repeat", strconv.Itoa(row.Spec.Repeat)},
		{"model", m.Target.Model}, {"hardware", m.Target.Hardware}, {"simulated", simulated(row)}} {
		parts = append(parts, x[0]+"="+quote(x[1]))
	}
	return strings.Join(parts, ",")
}

// quote escapes the value of a label. Control characters become text first: the format would let them pass.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(safetext.Escape(s)) + `"`
}
