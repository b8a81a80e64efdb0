package page

import (
	"bytes"
	"flag"
	"path/filepath"
	"testing"

	"bench/report"
)

var large = flag.String("large", "", "directory for two runs of a million requests with a hundred gaps each: 560 MB")

// TestWriteLarge writes the runs that benchmarks/performance.md measures bench report and bench compare with.
func TestWriteLarge(t *testing.T) {
	if *large == "" {
		t.Skip("-large is not given")
	}
	for i, side := range []string{"base", "new"} {
		writeLarge(t, filepath.Join(*large, side), uint64(i), size{Rows: 50, Requests: 20_000, Gaps: 100})
	}
}

// BenchmarkRuns writes the page of a run with 800,000 gaps.
func BenchmarkRuns(b *testing.B) {
	dir := b.TempDir()
	writeLarge(b, dir, 1, size{Rows: 8, Requests: 1000, Gaps: 100})
	b.ReportAllocs()
	for b.Loop() {
		run, err := report.Load(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := Runs(new(bytes.Buffer), run); err != nil {
			b.Fatal(err)
		}
	}
}
