package endpoint

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// TestRunSamplesTheClient: the samples count from the row's epoch, cover the window, and count every
// request that ended; also those that went to a file on the way.
func TestRunSamplesTheClient(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { testSamples(t, nil) })
	t.Run("in a file", func(t *testing.T) {
		f, err := os.Create(filepath.Join(t.TempDir(), "samples"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		testSamples(t, f)
		if at, err := f.Seek(0, io.SeekCurrent); err != nil || at == 0 {
			t.Errorf("nothing was read from the file: %d, %v", at, err)
		}
	})
}

func testSamples(t *testing.T, scratch io.ReadWriteSeeker) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond}, experiment.Target{}, target.Completions)
	spec := point()
	spec.Concurrency, spec.Warmup, spec.Requests, spec.Duration = 2, workload.Extent{Requests: 2}, 0, workload.Span(700*time.Millisecond)
	var samples []telemetry.Sample
	records := 0
	row, err := s.Run(t.Context(), RunConfig{Spec: &spec,
		Each: func(*record.Record) error { records++; return nil }, SampleFile: scratch,
		Sample: func(s *telemetry.Sample) error { samples = append(samples, *s); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if row.Client == nil || row.Client.Samples < 1 || len(samples) < 2 {
		t.Fatalf("%d samples, %+v", len(samples), row.Client)
	}
	ended, at := 0, samples[0].TUs-samples[0].Span
	if at > 0 {
		t.Errorf("the first sample begins %d µs behind the load", at)
	}
	for i, x := range samples {
		if d := x.TUs - x.Span - at; d < -2 || d > 2 { // rounded
			t.Errorf("sample %d begins %d µs off the end of the one before", i, d)
		}
		at = x.TUs
		ended += *x.Ended
		// Those that are over and not handed on yet count: on a busy machine some more than the two slots.
		if *x.InFlight < 0 || *x.InFlight > 16 || *x.Ended > 0 && (x.LagMax == nil || *x.LagMax < 0) {
			t.Errorf("sample %d: %d in flight, %d ended, lag %v", i, *x.InFlight, *x.Ended, x.LagMax)
		}
	}
	if at < row.Window.EndUs || ended != records {
		t.Errorf("the last sample is of %d µs, the window ends at %d; %d of %d requests ended", at, row.Window.EndUs, ended, records)
	}
	if _, err := s.Run(t.Context(), RunConfig{Spec: &spec, Each: func(*record.Record) error { return nil }, Sample: func(*telemetry.Sample) error { return fixture.ErrFull }}); !errors.Is(err, fixture.ErrFull) {
		t.Errorf("an error of Sample is lost: %v", err)
	}
}

func TestAddLag(t *testing.T) {
	m := &measurement{t: RunConfig{Progress: new(Progress)}}
	m.maxLag.Store(noLag)
	if l := m.load(); l.LagMax >= 0 {
		t.Errorf("a lag of %s before any request", l.LagMax)
	}
	m.addLag(5, 25)
	m.addLag(5, 10)
	m.addLag(5, openai.Never)
	m.addLag(openai.Never, openai.Never)
	if l := m.load(); l.LagMax != 20 {
		t.Errorf("the largest is %d ns, want 20", l.LagMax)
	}
	if l := m.load(); l.LagMax >= 0 {
		t.Errorf("it is reported twice: %s", l.LagMax)
	}
}
