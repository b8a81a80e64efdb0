package export

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/report"
)

// documentedColumns are the columns in the first cells of the table of docs/results.md.
func documentedColumns(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n## CSV\n")
	if !ok {
		t.Fatal("no section CSV")
	}
	for line := range strings.Lines(text) {
		first, _, ok := strings.Cut(line, " | ")
		if !ok {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			names = append(names, m[1])
		}
	}
	for place, values := range map[string][]string{"<metric>": metric.InCSV, "<percentile>": metric.Percentiles} {
		var all []string
		for _, n := range names {
			if !strings.Contains(n, place) {
				all = append(all, n)
				continue
			}
			for _, v := range values {
				all = append(all, strings.ReplaceAll(n, place, v))
			}
		}
		names = all
	}
	return names
}

// TestExportColumns holds docs/results.md to the columns that are written, both ways.
func TestExportColumns(t *testing.T) {
	page := documentedColumns(t)
	written := csvRow(&report.Run{Evaluated: &report.Evaluated{}}, &record.Row{}).heads
	for _, name := range written {
		if !slices.Contains(page, name) {
			t.Errorf("docs/results.md lacks %s", name)
		}
	}
	for _, name := range page {
		if !slices.Contains(written, name) {
			t.Errorf("docs/results.md has %s, which is not written", name)
		}
	}
}
