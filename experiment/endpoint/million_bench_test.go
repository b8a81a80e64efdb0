package endpoint

import (
	"testing"

	"bench/experiment/record"
)

// BenchmarkMillionRequests summarises a million requests of 100 gaps each, with every interval. Its memory is
// the whole process's, the records included: run it alone, once,
//
//	go test -run '^$' -bench MillionRequests -benchtime 1x ./experiment
func BenchmarkMillionRequests(b *testing.B) {
	const requests, gaps = 1_000_000, 100
	records := newStreamed(gaps, 0.1).measured(requests)
	resetPeak()
	b.ResetTimer()
	for b.Loop() {
		s := record.Summarize(records, record.Window{EndUs: int64(requests)*1000 + 1}, record.Mode{Streams: true}, nil, 1)
		if s.ITL.N != requests*gaps || len(s.ITL.CI95) != 6 {
			b.Fatalf("%+v", s.ITL)
		}
	}
	perGap(b, requests*gaps)
	if mib, ok := peak(); ok {
		b.ReportMetric(mib, "MiB-peak")
	}
}
