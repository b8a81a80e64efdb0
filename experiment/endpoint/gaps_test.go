package endpoint

import (
	"runtime"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/verdict"
	fixture "bench/internal/fixturetest"
)

// A row of a million gaps: in memory, on disk, and while its figures are made. A slice of all gaps, even
// once, has 8 MB.
func TestGapsAreSmall(t *testing.T) {
	n, most := 1000, uint64(8<<20) // requests, and bytes to conclude
	if testing.Short() {
		n, most = 250, 4<<20 // of which 3 are none of the gaps', whose slice has 2
	}
	gaps := float64(1000 * n)
	before := heap()
	records := newStreamed(1000, 0.1).measured(n)
	if kept := float64(heap().HeapAlloc-before.HeapAlloc) / gaps; kept > 2.8 {
		t.Errorf("%.2f bytes a gap in memory", kept)
	}
	if disk := float64(len(fixture.Encode(t, records))) / gaps; disk > 2.3 {
		t.Errorf("%.2f bytes a gap on disk", disk)
	}
	slo := fixture.SLO(t, `itl_p99 = "40ms"`)
	e := &verdict.Measured{Row: &record.Row{Spec: experiment.Spec{SLO: slo}, Window: record.Window{EndUs: 1_000_000}}, Records: records}
	before = heap()
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	if n := e.Summary.ITL.N; float64(n) != gaps || e.SLO[0].Verdict != "PASS" {
		t.Errorf("%d gaps, verdict %s", n, fixture.Verdict(e.SLO[0]))
	}
	if made := heap().TotalAlloc - before.TotalAlloc; made > most {
		t.Errorf("concluding takes %d KiB", made>>10)
	}
}

// heap is the state of the heap after a collection.
func heap() runtime.MemStats {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
