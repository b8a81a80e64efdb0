package export

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/report"
)

// documented are the columns in the first cells of the tables of a section of docs/exports.md.
func documented(t *testing.T, section string) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/exports.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		first, _, ok := strings.Cut(line, " | ")
		if !ok {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			names = append(names, m[1])
		}
	}
	for place, values := range map[string][]string{"<metric>": {"ttft", "ttfo", "tpot", "itl", "e2e", "lag"}, "<percentile>": record.PercentileNames} {
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

// TestExportColumns holds docs/exports.md to the columns that are written, both ways.
func TestExportColumns(t *testing.T) {
	var parquet []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Request]()) {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		parquet = append(parquet, name)
	}
	csv := csvRow(&report.Run{Evaluated: &report.Evaluated{}}, &record.Row{}).heads
	for section, written := range map[string][]string{"Parquet": parquet, "CSV": csv} {
		page := documented(t, section)
		for _, name := range written {
			if !slices.Contains(page, name) {
				t.Errorf("%s: docs/exports.md lacks %s", section, name)
			}
		}
		for _, name := range page {
			if !slices.Contains(written, name) {
				t.Errorf("%s: docs/exports.md has %s, which is not written", section, name)
			}
		}
	}
}
