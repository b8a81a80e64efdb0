package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// The stages that an event goes through once it is stamped. ns/event counts a gap as an event, and B/event is
// what it takes on disk.

// streamed makes requests that ended well, each with so many gaps: lognormal around 10 ms, as an engine's
// steps are. The gaps grow as a client's do, one by one.
type streamed struct {
	rng   *rand.Rand
	gaps  int
	sigma float64
	made  int
}

func newStreamed(gaps int, sigma float64) *streamed {
	return &streamed{rng: rand.New(rand.NewPCG(1, 2)), gaps: gaps, sigma: sigma}
}

func (s *streamed) next() *load.Job {
	at := time.Duration(s.made) * time.Millisecond
	j := &load.Job{Request: workload.Request{Index: s.made, Input: 256, Output: s.gaps + 1}, Phase: load.Window, At: at, Ready: at}
	s.made++
	r := &j.Result
	*r = openai.Result{
		Sent: at + 20*time.Microsecond, First: at + 50*time.Millisecond, PromptTokens: 256, OutputTokens: s.gaps + 1, HasUsage: true, Events: s.gaps + 1,
		Outcome: openai.OK, Status: 200, Finish: "length", ServerID: fmt.Sprintf("cmpl-%016x%016x", s.rng.Uint64(), s.rng.Uint64()), KernelStamps: s.gaps + 1,
	}
	r.FirstEvent, r.Last = r.First, r.First
	for range s.gaps {
		gap := time.Duration(1e7 * math.Exp(s.sigma*s.rng.NormFloat64()))
		r.Gaps = append(r.Gaps, gap)
		r.Last += gap
	}
	r.End = r.Last + 100*time.Microsecond
	return j
}

// measured is n such requests as records.
func (s *streamed) measured(n int) []*record.Record {
	records := make([]*record.Record, n)
	for i := range records {
		records[i] = requestRecord(s.next())
	}
	return records
}

// jitters are how much the gaps of a request differ: a quiet engine, one that takes prompts in between, a
// loaded one.
var jitters = []float64{0.02, 0.1, 0.3}

func perGap(b *testing.B, gaps int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(gaps), "ns/event")
}

func BenchmarkRecord(b *testing.B) {
	job := newStreamed(1000, 0.1).next()
	b.ReportAllocs()
	for b.Loop() {
		requestRecord(job)
	}
	perGap(b, 1000)
}

func BenchmarkEncode(b *testing.B) {
	r := newStreamed(1000, 0.1).measured(1)[0]
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = r.AppendJSON(line[:0])
	}
	perGap(b, 1000)
	b.ReportMetric(float64(len(line))/1000, "B/event")
}

// BenchmarkWrite is Encode and the compression.
func BenchmarkWrite(b *testing.B) {
	for _, sigma := range jitters {
		b.Run(fmt.Sprintf("sigma=%g", sigma), func(b *testing.B) {
			records := newStreamed(1000, sigma).measured(1000)
			size := 0
			b.ReportAllocs()
			for b.Loop() {
				size = len(fixture.Encode(b, records))
			}
			perGap(b, 1_000_000)
			b.ReportMetric(float64(size)/1e6, "B/event")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	file := fixture.Encode(b, newStreamed(1000, 0.1).measured(1000))
	b.ReportAllocs()
	for b.Loop() {
		if err := record.ReadRecords(bytes.NewReader(file), func(*record.Record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	perGap(b, 1_000_000)
}

func BenchmarkSummarize(b *testing.B) {
	records := newStreamed(1000, 0.1).measured(1000)
	b.ReportAllocs()
	for b.Loop() {
		record.Summarize(records, record.Window{EndUs: 11_000_000}, record.Mode{Streams: true}, nil, 1)
	}
	perGap(b, 1_000_000)
}

// BenchmarkTenMillionGaps is a row from its jobs to its files: records written, summary, verdicts and
// findings made and written. Its memory is the whole process's, the making of the jobs included: run it
// alone, once,
//
//	go test -run '^$' -bench TenMillionGaps/gaps=1000 -benchtime 1x ./experiment
func BenchmarkTenMillionGaps(b *testing.B) {
	for _, gaps := range []int{1000, 125} {
		b.Run(fmt.Sprintf("gaps=%d", gaps), func(b *testing.B) {
			var disk int64
			resetPeak()
			for b.Loop() {
				disk = longRow(b, 10_000_000/gaps, gaps)
			}
			perGap(b, 10_000_000)
			b.ReportMetric(float64(disk)/1e7, "B/event")
			if mib, ok := peak(); ok {
				b.ReportMetric(mib, "MiB-peak")
			}
		})
	}
}

// longRow collects and concludes a row, and gives the size of its records on disk.
func longRow(t testing.TB, requests, gaps int) int64 {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "row.requests.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := record.NewRecordWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	slo := fixture.SLO(t, "itl_p99 = \"40ms\"\nttft_p95 = \"1s\"\ne2e_p99 = \"30s\"\neach = { ttft = \"1s\" }")
	e := &verdict.Measured{Row: &record.Row{Spec: experiment.Spec{SLO: slo}, Window: record.Window{EndUs: int64(requests)*1000 + 1}}}
	collect := measurement{t: RunConfig{Spec: &e.Spec, Each: w.Write, Progress: new(Progress)}, e: e}
	for jobs := newStreamed(gaps, 0.1); jobs.made < requests; {
		if err := collect.each(jobs.next()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	e.Clock = collect.sent.clock()
	e.Conclude(experiment.Target{}, record.RooflineSource{})
	if err := json.NewEncoder(io.Discard).Encode(e.Row); err != nil {
		t.Fatal(err)
	}
	if n := e.Summary.ITL.N; n != requests*gaps || len(e.SLO) != 3 || e.SLO[0].Verdict != "PASS" {
		t.Fatalf("%d gaps, verdicts %+v", n, e.SLO)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// resetPeak makes the peak of resident memory begin anew, where the system can.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peak is the most memory that was resident, in MiB; Linux alone tells.
func peak() (mib float64, ok bool) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib float64
		if _, err := fmt.Sscanf(strings.TrimSpace(lines.Text()), "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024, true
		}
	}
	return 0, false
}
