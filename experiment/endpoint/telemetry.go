package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment"
	"bench/experiment/collect"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

const sameHost = "same host" // openai.Vantage.Place

type Telemetry = telemetry.Config

// OpenTelemetry finds the sources of server and GPU metrics; Close closes them. Without it rows have samples
// of the client only. b knows the hardware.
// An error is a source that [telemetry] names, and that gives no reading.
func (s *Server) OpenTelemetry(ctx context.Context, c Telemetry, b record.RooflineSource) error {
	if s.simulator != nil {
		return nil
	}
	header := http.Header{}
	for name, value := range s.options.Headers {
		header.Set(name, value)
	}
	if s.options.APIKey != "" && header.Get("Authorization") == "" {
		header.Set("Authorization", "Bearer "+s.options.APIKey)
	}
	bases := []string{s.options.BaseURL}
	for _, o := range s.others() {
		bases = append(bases, o.options.BaseURL)
	}
	s.sources = collect.Open(ctx, c, collect.Endpoint{
		Bases: bases, Header: header, Local: s.Info.Vantage.Place == sameHost, Simulated: s.Info.Simulated,
		Foreign: b.UnsupportedHardware(),
	})
	return s.sources.Named(c)
}

// watch samples the client, and the server and its GPUs if they have sources, until stop is called, which
// returns the samples. The first sample of each source is taken before watch returns, so before the load. Workers
// sample their machines themselves.
func (m *measurement) watch(ctx context.Context, s *Server) (stop func() ([]telemetry.Sample, error), err error) {
	if m.samples, err = newSamples(m.t.SampleFile); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	linesAfter := m.countLogLines(s)
	if s.sources != nil {
		first := make(chan struct{})
		each := func(sample telemetry.Sample) {
			if sample.Server != nil {
				m.t.Progress.change(func(s *Snapshot) { s.Server = sample.Server })
			}
			m.samples.add(sample)
		}
		running.Go(func() { s.sources.Watch(ctx, expectedWindow(m.t.Spec), func() { close(first) }, each) })
		<-first
	}
	hostAfter := func() {}
	if m.t.Workers == nil {
		hostAfter = sampleHost(s, &m.e.Host)
		m.watchClient(ctx, s, &running, m.samples.add)
	}
	return func() ([]telemetry.Sample, error) {
		m.ended.Store(true)
		cancel()
		running.Wait()
		hostAfter()
		linesAfter()
		all, err := m.samples.all()
		slices.SortStableFunc(all, func(a, b telemetry.Sample) int { return a.At.Compare(b.At) })
		return all, err
	}, nil
}

// watchClient samples this process and its machine until ctx ends. The first sample is taken before it returns.
func (m *measurement) watchClient(ctx context.Context, s *Server, running *sync.WaitGroup, add func(telemetry.Sample)) {
	m.maxLag.Store(noLag)
	first := make(chan struct{})
	once := sync.OnceFunc(func() { close(first) })
	clients, _ := m.encoders.clients()
	sockets := socketReadings{clients: clients, ended: &m.ended}
	load := func() collect.Load {
		now := m.load()
		now.Sockets = sockets.read()
		once()
		return now
	}
	local := s.localProcesses()
	running.Go(func() { collect.WatchClient(ctx, local, load, add) })
	<-first
}

// localProcesses are the server's, if it runs on this machine; nil: elsewhere, in this process, or not found.
func (s *Server) localProcesses() *collect.ServerProcesses {
	var ports []int
	for _, o := range append(s.others(), s) {
		u, err := url.Parse(o.options.BaseURL)
		if err != nil || o.inProcess() || o.Info.Vantage.Place != sameHost {
			return nil
		}
		port, err := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
		if err != nil {
			return nil
		}
		ports = append(ports, port)
	}
	return collect.FindServer(ports)
}

// expectedWindow is the expected length of the measurement window; 0: it depends on the server.
func expectedWindow(s *experiment.Spec) time.Duration {
	l, rate := s.EffectiveLoad(), float64(s.Rate)
	if s.HasConversations() {
		rate = 0 // a turn arrives after the previous answer
	}
	l.Warmup = workload.Extent{}
	d, known := l.Expected(rate)
	if !known {
		return 0
	}
	if _, most, ends := s.AtMost(); ends {
		d = min(d, most)
	}
	return d
}

func sampleHost(s *Server, h *telemetry.Host) (after func()) {
	h.Server = s.Info.Vantage.Place == sameHost && !s.inProcess()
	h.Before, h.Cores = collect.HostLoad(), runtime.NumCPU()
	return func() { h.After = collect.HostLoad() }
}

func (m *measurement) countLogLines(s *Server) (after func()) {
	if s.LogLines == nil {
		return func() {}
	}
	lines := s.LogLines()
	return func() { m.e.Server.LogLines = new(s.LogLines() - lines) }
}

// noLag: no request was sent since the last sample.
const noLag = -1

func (m *measurement) load() collect.Load {
	done := m.t.Progress.Done.Load()
	return collect.Load{
		InFlight: int(max(0, m.t.Progress.Sent.Load()-done)), Ended: int(done),
		LagMax: time.Duration(m.maxLag.Swap(noLag)),
	}
}

func (m *measurement) addLag(ready, sent time.Duration) {
	if ready == openai.Never || sent == openai.Never {
		return
	}
	lag := int64(sent - ready)
	for old := m.maxLag.Load(); lag > old && !m.maxLag.CompareAndSwap(old, lag); old = m.maxLag.Load() {
	}
}

// fillSamples counts the samples' times from the row's epoch, stores them, and summarizes the window's.
func (m *measurement) fillSamples(samples []telemetry.Sample, epoch time.Time, sources *collect.Sources) error {
	e := m.e
	for i := range samples {
		samples[i].TUs = record.RoundMicros(samples[i].At.Sub(epoch))
		if m.t.Sample == nil {
			continue
		}
		if err := m.t.Sample(&samples[i]); err != nil {
			return err
		}
	}
	if m.t.Workers == nil {
		e.Client = telemetry.Summarize(samples, e.Window.StartUs, e.Window.EndUs)
		e.Connections.Sockets = telemetry.SummarizeSockets(samples, e.Window.StartUs, e.Window.EndUs)
	}
	m.fillWorkers(samples)
	if sources != nil {
		e.Server.Metrics, e.GPU = sources.Observe(samples, e.Window.StartUs, e.Window.EndUs)
	}
	e.Left = record.LeaversOf(e.Records, e.Window, samples, e.Server.Metrics)
	return nil
}

type socketReadings struct {
	clients []*openai.Client
	base    *openai.SocketCounts // at the first reading; nil: none yet
	last    time.Time
	took    time.Duration // of the last reading
	ended   *atomic.Bool  // the row is over: the next reading is the last one
}

// socketShare is the largest share of a core for reading the counters: with many connections samples lack them.
const socketShare = 0.005

// read is nil if there are no counters, or if it is too early for another reading.
func (s *socketReadings) read() *telemetry.Sockets {
	start := time.Now()
	if !s.ended.Load() && start.Sub(s.last) < time.Duration(float64(s.took)/socketShare) {
		return nil
	}
	var now openai.SocketCounts
	for _, c := range s.clients {
		now = now.Plus(c.Sockets())
	}
	s.last, s.took = start, time.Since(start)
	if s.base == nil {
		s.base = &now
	}
	if now.Connections == 0 {
		return nil
	}
	b := s.base
	out := &telemetry.Sockets{Open: now.Open, Segments: telemetry.Segments{
		SegmentsOut: now.SegmentsOut - b.SegmentsOut, SegmentsIn: now.SegmentsIn - b.SegmentsIn,
		Retransmits: now.Retransmits - b.Retransmits, Needless: now.Needless - b.Needless,
		OutOfOrder: now.OutOfOrder - b.OutOfOrder, WindowLimitedMs: unit.Ms(now.WindowLimited - b.WindowLimited),
	}}
	if now.Open > 0 {
		out.MinRTT, out.RTT = new(unit.Ms(now.MinRTT)), new(unit.Ms(now.RTT))
	}
	return out
}

// samples are the telemetry of a running row. They are kept in memory, since writing would load the client;
// those of a row that may be very long go to a file, and are read back when the load is over.
type samples struct {
	mu   sync.Mutex
	kept []telemetry.Sample

	file  io.ReadWriteSeeker // nil: they are kept in memory
	w     *telemetry.Writer
	since time.Time // zero of the times in the file
	err   error     // the first failed write
}

func newSamples(file io.ReadWriteSeeker) (*samples, error) {
	s := &samples{file: file, since: time.Now()}
	if file == nil {
		return s, nil
	}
	var err error
	s.w, err = telemetry.NewWriter(file)
	return s, err
}

func (s *samples) add(sample telemetry.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		s.kept = append(s.kept, sample)
		return
	}
	sample.TUs = record.RoundMicros(sample.At.Sub(s.since))
	if err := s.w.Write(&sample); s.err == nil {
		s.err = err
	}
}

// all returns the samples; none can be added after it. Those of a file are rounded to microseconds.
func (s *samples) all() ([]telemetry.Sample, error) {
	if s.file == nil {
		return s.kept, nil
	}
	if err := errors.Join(s.err, s.w.Close()); err != nil {
		return nil, err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the samples again: %w", err)
	}
	err := record.ReadSamples(s.file, func(sample *telemetry.Sample) error {
		sample.Schema, sample.At = "", s.since.Add(time.Duration(sample.TUs)*time.Microsecond)
		s.kept = append(s.kept, *sample)
		return nil
	})
	return s.kept, err
}
