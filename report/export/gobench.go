package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/stats"
	"bench/report"
)

// figures are the figures of the flat formats: OpenMetrics and Go benchmarks.
var figures = []struct {
	metric, unit string // name in bench; unit in the Go benchmark format
	more         bool   // more is better
	of           func(*record.Row) (float64, bool)
}{
	{"ttft_p50", "ttft-p50-ms", false, latency("ttft", "p50")}, {"ttft_p99", "ttft-p99-ms", false, latency("ttft", "p99")},
	{"tpot_p50", "tpot-p50-ms", false, latency("tpot", "p50")}, {"tpot_p99", "tpot-p99-ms", false, latency("tpot", "p99")},
	{"itl_p50", "itl-p50-ms", false, latency("itl", "p50")}, {"itl_p99", "itl-p99-ms", false, latency("itl", "p99")},
	{"e2e_p50", "e2e-p50-ms", false, latency("e2e", "p50")}, {"e2e_p99", "e2e-p99-ms", false, latency("e2e", "p99")},
	{"requests_per_s", "requests/s", true, func(r *record.Row) (float64, bool) { return r.Summary.Throughput.RequestsPerS, true }},
	{"prompt_tokens_per_s", "prompt-tokens/s", true, func(r *record.Row) (float64, bool) { return r.Summary.Throughput.PromptTokensPerS, true }},
	{"output_tokens_per_s", "output-tokens/s", true, func(r *record.Row) (float64, bool) { return r.Summary.Throughput.OutputTokensPerS, true }},
	{"output_tokens_per_s_per_gpu", "output-tokens/s/gpu", true, perGPU},
	{"error_rate", "error-rate", false, func(r *record.Row) (float64, bool) { return r.Summary.FailedShare(), r.Summary.ErrorRate != nil }},
}

func latency(metric, stat string) func(*record.Row) (float64, bool) {
	return func(r *record.Row) (float64, bool) {
		s := r.Summary.Latency(metric)
		x, ok := s.Get(stat)
		return x, ok && !math.IsNaN(x) && s.Grade(stat) != stats.NoBound // else it is a lower bound, no figure
	}
}

func perGPU(r *record.Row) (float64, bool) {
	if p := r.Summary.Throughput.OutputTokensPerSPerGPU; p != nil {
		return *p, true
	}
	return 0, false
}

// GoBenchmark writes the live rows in the Go benchmark format, for benchstat. Each repeat is a line, so that
// benchstat tests over repeats; the count of a line is its completed requests. benchstat compares only files with
// the same configuration lines, so there are none: a comment has them. Source:
// golang.org/design/14313-benchmark-format.
func GoBenchmark(w io.Writer, run *report.Run) error {
	b := bufio.NewWriter(w)
	rows := run.Live()
	m := &run.Manifest
	for _, x := range [][2]string{{"run", m.Run}, {"matrix", m.Matrix}, {"model", m.Target.Model},
		{"hardware", m.Target.Hardware},
		{"endpoint", m.Target.Endpoint}, {"bench", m.Client.Version}} {
		if x[1] != "" {
			fmt.Fprintf(b, "# %s: %s\n", x[0], safetext.Escape(x[1]))
		}
	}
	for _, f := range figures {
		better := "lower"
		if f.more {
			better = "higher"
		}
		fmt.Fprintf(b, "Unit %s better=%s\n", f.unit, better)
	}
	fmt.Fprintln(b, "Unit invalid better=lower")
	if m.Predicted != nil {
		fmt.Fprintln(b, "Unit predicted better=lower")
	}
	for i := range rows {
		row := &rows[i]
		fmt.Fprintf(b, "%s %d", benchmarkName(&row.Spec), row.Summary.Requests.Completed)
		for _, f := range figures {
			if x, ok := f.of(row); ok {
				fmt.Fprintf(b, " %s %s", strconv.FormatFloat(x, 'g', -1, 64), f.unit)
			}
		}
		if !row.Valid() {
			fmt.Fprint(b, " 1 invalid")
		}
		if m.Predicted != nil {
			fmt.Fprint(b, " 1 predicted") // comments are lost in benchstat's tables
		}
		fmt.Fprintln(b)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing the Go benchmark format: %w", err)
	}
	return nil
}

// benchmarkName is a name like BenchmarkA-short/concurrency=8. Spaces and slashes of its parts become
// underscores.
func benchmarkName(s *experiment.Spec) string {
	part := func(text string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(safetext.Escape(text), "/", "_")), "_")
	}
	first, size := utf8.DecodeRuneInString(part(s.Name))
	name := "Benchmark" + string(unicode.ToUpper(first)) + part(s.Name)[size:]
	for _, a := range s.Point {
		name += "/" + part(a.Key) + "=" + part(a.Value)
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		name += "_" // benchstat would take -8 at the end for GOMAXPROCS
	}
	return name
}
