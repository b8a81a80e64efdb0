package collect

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bench/experiment/telemetry"
)

type Endpoint struct {
	Bases     []string    // URLs of its API, of several replicas; user info is sent to its own metrics page only
	Header    http.Header // authentication, sent to its own metrics page only; may be nil
	Local     bool        // the server and its GPUs are on this machine
	Simulated bool        // the server has no GPU
	Foreign   string      // hardware other than NVIDIA's and AMD's GPUs; empty: theirs, or not specified
}

type Sources struct {
	server, gpu telemetry.Source
	pages       []*poller  // metrics pages among them
	smi         *nvidiaSMI // for GPU processes, and for GPU figures without an exporter; nil: not used
	block       int        // by the first reading of the server's page
}

// CacheBlock is the size in tokens of the blocks of the server's prefix cache; 0: not reported.
func (s *Sources) CacheBlock() int { return s.block }

// ReadServer reads the server's metrics once: nil if that failed; ok is false without a source.
func (s *Sources) ReadServer(ctx context.Context) (reading *telemetry.ServerReading, ok bool) {
	for _, p := range s.pages {
		if p.source == telemetry.SourceServer {
			return p.sample(ctx).Server, true
		}
	}
	return nil, false
}

// Observe summarizes the samples of a window, µs from the samples' epoch.
func (s *Sources) Observe(samples []telemetry.Sample, startUs,
	endUs int64) (*telemetry.ServerUsage, *telemetry.GPUUsage) {
	return telemetry.SummarizeServer(s.server, samples, startUs, endUs), telemetry.SummarizeGPUs(s.gpu, samples,
		startUs, endUs)
}

type poller struct {
	name   string // URL without user info
	source string // of its samples
	read   func(context.Context, *telemetry.Sample) error
	close  func()
}

func Open(ctx context.Context, c telemetry.Config, e Endpoint) *Sources {
	s := &Sources{}
	s.openServer(ctx, c.Server, e)
	s.openGPU(ctx, c.GPU, e)
	return s
}

func (s *Sources) Named(c telemetry.Config) error {
	switch {
	case s.server.Missing != "" && (len(c.Server.Parts) > 0 ||
		!slices.Contains([]string{"", telemetry.Auto, telemetry.Off}, c.Server.Source)):
		return fmt.Errorf("[telemetry] server %s: %s\nhint: correct the URL; server = \"auto\" finds the page of the endpoint", s.server.Name, s.server.Missing)
	case s.gpu.Missing != "" && !slices.Contains([]string{"", telemetry.Auto, telemetry.Off}, c.GPU):
		return fmt.Errorf("[telemetry] gpu %s: %s\nhint: correct it; gpu = \"off\" measures without", s.gpu.Name,
			s.gpu.Missing)
	}
	return nil
}

func (s *Sources) Close() {
	for _, p := range s.pages {
		p.close()
	}
}

func (s *Sources) openServer(ctx context.Context, from telemetry.Pages, e Endpoint) {
	if len(from.Parts) > 0 {
		s.server = s.add(ctx, newPartsPoller(from.Parts, nil))
		return
	}
	switch from.Source {
	case telemetry.Off:
		s.server = telemetry.Source{Name: telemetry.Off, Missing: `[telemetry] server = "off"`}
	case "", telemetry.Auto:
		// trtllm-serve serves JSON at the usual path.
		for _, path := range []string{"/metrics", "/prometheus/metrics"} {
			p := ownPoller(e, path)
			first := s.server
			if s.server = s.add(ctx, p); s.server.Missing == "" {
				return
			}
			if first.Name != "" {
				s.server = first // report the error of the usual path
			}
		}
	default:
		s.server = s.add(ctx, newPoller(telemetry.SourceServer, from.Source, nil))
	}
}

func ownPoller(e Endpoint, path string) *poller {
	if len(e.Bases) == 1 {
		return newPoller(telemetry.SourceServer, serverRoot(e.Bases[0])+path, e.Header)
	}
	var parts []telemetry.Page
	for _, base := range e.Bases {
		parts = append(parts, telemetry.Page{URL: serverRoot(base) + path})
	}
	return newPartsPoller(parts, e.Header)
}

// serverRoot is the base URL without /v1: servers have /metrics below it.
func serverRoot(base string) string { return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") }

const localDCGM = "http://127.0.0.1:9400/metrics"

func (s *Sources) openGPU(ctx context.Context, from string, e Endpoint) {
	switch from {
	case telemetry.Off:
		s.gpu = telemetry.Source{Name: telemetry.Off, Missing: `[telemetry] gpu = "off"`}
	case telemetry.NvidiaSMI:
		s.openSMI(ctx)
	case "", telemetry.Auto:
		s.findGPU(ctx, e)
	default:
		s.gpu = s.add(ctx, newPoller(telemetry.SourceGPU, from, nil))
		if e.Local {
			s.smi, _ = findSMI(ctx) // for the processes
		}
	}
}

func (s *Sources) findGPU(ctx context.Context, e Endpoint) {
	switch {
	case e.Simulated:
		s.gpu.Missing = "the server is simulated and has no GPU"
		return
	case e.Foreign != "":
		s.gpu.Missing = "the hardware is " + e.Foreign + ": only NVIDIA and AMD GPUs are supported"
		return
	case !e.Local:
		s.gpu.Missing = "the endpoint is on another machine: set [telemetry] gpu to the URL of its exporter"
		return
	}
	exporter := s.add(ctx, newPoller(telemetry.SourceGPU, localDCGM, nil))
	if s.openSMI(ctx); exporter.Missing == "" { // it reports more than nvidia-smi
		s.gpu = exporter
	}
	if s.gpu.Missing == "" {
		return
	}
	if amd := s.add(ctx, newPoller(telemetry.SourceGPU, localAMD, nil)); amd.Missing == "" {
		s.gpu = amd
	} else {
		s.gpu.Missing += "; no AMD exporter at " + localAMD
	}
}

func (s *Sources) openSMI(ctx context.Context) {
	var err error
	s.gpu = telemetry.Source{Name: telemetry.NvidiaSMI}
	if s.smi, err = findSMI(ctx); err != nil {
		s.gpu.Missing = err.Error()
	}
}

func newPoller(source, at string, header http.Header) *poller {
	page := newScraper(at, header, exporterNames)
	if source == telemetry.SourceServer {
		page.wanted = serverNames
	}
	return &poller{name: telemetry.Redact(at), source: source, close: page.close,
		read: func(ctx context.Context, s *telemetry.Sample) error {
			text, err := page.read(ctx)
			switch {
			case err != nil:
			case source == telemetry.SourceServer:
				s.Server, err = readServer(text)
			default:
				s.GPUs, err = readExporter(text)
			}
			return err
		}}
}

func (s *Sources) add(ctx context.Context, p *poller) telemetry.Source {
	at := telemetry.Source{Name: p.name}
	first := p.sample(ctx)
	if first.Error != "" {
		p.close()
		at.Missing = first.Error
		return at
	}
	if first.Server != nil && first.Server.CacheBlock != nil {
		s.block = int(*first.Server.CacheBlock)
	}
	s.pages = append(s.pages, p)
	return at
}

func (p *poller) sample(ctx context.Context) telemetry.Sample {
	before := time.Now()
	s := telemetry.Sample{Source: p.source}
	err := p.read(ctx, &s)
	took := time.Since(before)
	s.At, s.Span = before.Add(took/2), took.Microseconds()
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// Watch samples all sources once, calls begun, and samples until ctx ends, and then once more. window is the
// expected length of the measurement window; 0: not known. Calls of each and begun do not overlap; samples of one
// source are in order. each may keep the samples.
func (s *Sources) Watch(ctx context.Context, window time.Duration, begun func(), each func(telemetry.Sample)) {
	var mu sync.Mutex
	alone := func(x telemetry.Sample) {
		mu.Lock()
		defer mu.Unlock()
		each(x)
	}
	var first, all sync.WaitGroup
	watch := func(of func(begun func())) {
		first.Add(1)
		all.Go(func() { of(sync.OnceFunc(first.Done)) })
	}
	for _, p := range s.pages {
		watch(func(begun func()) { p.watch(ctx, window, begun, alone) })
	}
	if s.smi != nil {
		watch(func(begun func()) { s.smi.watch(ctx, s.gpu.Name == telemetry.NvidiaSMI, begun, alone) })
	}
	first.Wait()
	mu.Lock()
	begun()
	mu.Unlock()
	all.Wait()
}

func (p *poller) watch(ctx context.Context, window time.Duration, begun func(), each func(telemetry.Sample)) {
	plan := &pace{window: window, began: time.Now()}
	last := p.readEdge(ctx, telemetry.EdgeBefore, plan, each)
	begun()
	for {
		wait := time.NewTimer(pause(time.Duration(last.Next)*time.Microsecond,
			time.Duration(last.Span)*time.Microsecond))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			p.readEdge(context.WithoutCancel(ctx), telemetry.EdgeAfter, plan, each)
			return
		}
		s := p.sample(ctx)
		if ctx.Err() != nil && s.Error != "" {
			continue // the end of the load interrupted it
		}
		planNext(&s, plan)
		each(s)
		last = s
	}
}

func (p *poller) readEdge(ctx context.Context, edge string, plan *pace, each func(telemetry.Sample)) telemetry.Sample {
	s := p.sample(ctx)
	if s.Error != "" {
		s = p.sample(ctx)
	}
	s.Edge = edge
	planNext(&s, plan)
	each(s)
	return s
}

func planNext(s *telemetry.Sample, plan *pace) {
	s.Next = plan.next(time.Duration(s.Span)*time.Microsecond, time.Since(plan.began)).Microseconds()
}

const (
	// pageInterval is the usual interval between readings of a page: a server builds it between two steps of its
	// engine.
	pageInterval = time.Second
	// pageShare is the largest share of the server's time for building the page in a long window: costly pages
	// are read less often.
	pageShare       = 0.01
	pageMaxInterval = 10 * time.Second
	// pageReadings are taken in a window, however short it is and whatever they cost.
	pageReadings = 4
	// pageMinInterval bounds that in windows of less than 0.2 s.
	pageMinInterval = 50 * time.Millisecond
	// pageGrowth: in a row of unknown length the interval is this share of the time since its beginning, so that a
	// window that is at least as long as the warm-up before it has four readings.
	pageGrowth       = 0.2
	pageFirstUnknown = 100 * time.Millisecond
)

type pace struct {
	window time.Duration // expected length of the measurement window; 0: not known
	began  time.Time
	cost   time.Duration // shortest time to answer so far: on a busy machine a page answers late and costs no more
}

// next is the interval from the beginning of a reading to the next one. took is how long the page took to answer.
func (p *pace) next(took, elapsed time.Duration) time.Duration {
	if p.cost == 0 || took < p.cost {
		p.cost = max(took, 1)
	}
	usual := min(max(pageInterval, time.Duration(float64(p.cost)/pageShare)), pageMaxInterval)
	if p.window > 0 {
		return min(usual, max(p.window/pageReadings, pageMinInterval))
	}
	return min(usual, max(time.Duration(pageGrowth*float64(elapsed)), pageFirstUnknown))
}

// pause is the wait after a reading that took this long: a late page gets half of the interval to itself.
func pause(interval, took time.Duration) time.Duration { return max(interval-took, interval/2) }
