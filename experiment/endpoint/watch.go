package endpoint

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/telemetry/collector"
	"bench/experiment/verdict"
)

// NewTelemetryWriter writes the samples of a row to w, which stays the caller's to close.
func NewTelemetryWriter(w io.Writer) (*telemetry.Writer, error) { return telemetry.NewWriter(w) }

// watch samples the client, and the server and its GPUs where there is a source, until stop is called, which gives the
// samples.
func (m *measurement) watch(ctx context.Context, s *Server) (stop func() ([]telemetry.Sample, error), err error) {
	ctx, cancel := context.WithCancel(ctx)
	after := sampleHost(m.e, s)
	taken, err := newSamples(m.t.Scratch)
	if err != nil {
		cancel()
		return nil, err
	}
	rest := observed(ctx, s.sources, taken)
	begun, done := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	m.lag.Store(noLag)
	go func() {
		defer close(done)
		load := func() collector.Load {
			begin()
			return m.load()
		}
		collector.WatchClient(ctx, load, taken.add)
	}()
	<-begun // the first interval begins before the load
	return func() ([]telemetry.Sample, error) {
		cancel()
		<-done
		rest()
		after()
		all, err := taken.all()
		slices.SortStableFunc(all, func(a, b telemetry.Sample) int { return a.At.Compare(b.At) })
		return all, err
	}, nil
}

// observed samples the sources until ctx ends. It returns when each has been asked once: what they count is then known from
// before the load.
func observed(ctx context.Context, sources *collector.Sources, taken *samples) (rest func()) {
	if sources == nil {
		return func() {}
	}
	begun, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		sources.Watch(ctx, func() { close(begun) }, taken.add)
	}()
	<-begun
	return func() { <-done }
}

const noLag = -1

// load is what the requests do now; for the watch.
func (m *measurement) load() collector.Load {
	done := m.t.Progress.Done.Load()
	return collector.Load{
		InFlight: int(max(0, m.t.Progress.Sent.Load()-done)), Ended: int(done),
		LagMax: time.Duration(m.lag.Swap(noLag)),
	}
}

// late notes the lag of a request that is over.
func (m *measurement) late(ready, sent time.Duration) {
	if ready == openai.Never || sent == openai.Never {
		return
	}
	lag := int64(sent - ready)
	for old := m.lag.Load(); lag > old && !m.lag.CompareAndSwap(old, lag); old = m.lag.Load() {
	}
}

// sampled gives the samples their offsets, the row what they say of its window, and the caller the samples.
func fillSamples(e *verdict.Measured, samples []telemetry.Sample, epoch time.Time, t RunConfig, sources *collector.Sources) error {
	for i := range samples {
		samples[i].TUs = record.RoundMicros(samples[i].At.Sub(epoch))
		if t.Sample == nil {
			continue
		}
		if err := t.Sample(&samples[i]); err != nil {
			return err
		}
	}
	e.Client = telemetry.Summarize(samples, e.Window.StartUs, e.Window.EndUs)
	if sources != nil {
		e.Server.Metrics, e.GPU = sources.Observe(samples, e.Window.StartUs, e.Window.EndUs)
	}
	return nil
}
