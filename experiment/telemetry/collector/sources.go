package collector

import (
	"bench/experiment/telemetry"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Endpoint is the server under test.
type Endpoint struct {
	Base      string      // URL of its API; user info is sent to its own metrics page only
	Header    http.Header // authentication, sent to its own metrics page only; may be nil
	Local     bool        // the server and its GPUs are on this machine
	Simulated bool        // the server has no GPU
	Foreign   string      // hardware other than NVIDIA GPUs; empty: NVIDIA, or not specified
}

// Sources are the sources of server and GPU samples. Observe reports why one is missing.
type Sources struct {
	server, gpu telemetry.Source
	pages       []*poller  // metrics pages among them
	smi         *nvidiaSMI // for GPU processes, and for GPU figures without an exporter; nil: not used
}

// Observe summarizes the samples of a window, µs from the samples' epoch.
func (s *Sources) Observe(samples []telemetry.Sample, startUs, endUs int64) (*telemetry.ServerUsage, *telemetry.GPUUsage) {
	return telemetry.SummarizeServer(s.server, samples, startUs, endUs), telemetry.SummarizeGPUs(s.gpu, samples, startUs, endUs)
}

// poller samples one page.
type poller struct {
	*scraper
	source string                                     // of its samples
	parse  func(metricsPage, *telemetry.Sample) error // reads the page into the sample
}

// Open finds the available sources.
func Open(ctx context.Context, c telemetry.Config, e Endpoint) *Sources {
	s := &Sources{}
	s.openServer(ctx, c.Server, e)
	s.openGPU(ctx, c.GPU, e)
	return s
}

// Close closes idle connections.
func (s *Sources) Close() {
	for _, p := range s.pages {
		p.close()
	}
}

func (s *Sources) openServer(ctx context.Context, from string, e Endpoint) {
	switch from {
	case telemetry.Off:
		s.server = telemetry.Source{Name: telemetry.Off, Missing: `[telemetry] server = "off"`}
	case "", telemetry.Auto:
		// trtllm-serve serves JSON at the usual path.
		for _, path := range []string{"/metrics", "/prometheus/metrics"} {
			p := newPoller(telemetry.SourceServer, serverRoot(e.Base)+path, e.Header)
			first := s.server
			if s.server = s.add(ctx, p); s.server.Missing == "" {
				return
			}
			if first.Name != "" {
				s.server = first // report the error of the usual path
			}
		}
	default:
		s.server = s.add(ctx, newPoller(telemetry.SourceServer, from, nil))
	}
}

// serverRoot is the base URL without /v1: servers have /metrics below it.
func serverRoot(base string) string { return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") }

// localDCGM is the default address of an exporter.
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

// findGPU finds the GPU source of a local endpoint.
func (s *Sources) findGPU(ctx context.Context, e Endpoint) {
	switch {
	case e.Simulated:
		s.gpu.Missing = "the server is simulated and has no GPU"
		return
	case e.Foreign != "":
		s.gpu.Missing = "the hardware is " + e.Foreign + ": only NVIDIA GPUs are supported"
		return
	case !e.Local:
		s.gpu.Missing = "the endpoint is on another machine: set [telemetry] gpu to the URL of its DCGM exporter"
		return
	}
	exporter := s.add(ctx, newPoller(telemetry.SourceGPU, localDCGM, nil))
	if s.openSMI(ctx); exporter.Missing == "" { // it reports more than nvidia-smi
		s.gpu = exporter
	}
}

func (s *Sources) openSMI(ctx context.Context) {
	var err error
	s.gpu = telemetry.Source{Name: telemetry.NvidiaSMI}
	if s.smi, err = findSMI(ctx); err != nil {
		s.gpu.Missing = err.Error()
	}
}

// newPoller polls the page at a URL.
func newPoller(source, at string, header http.Header) *poller {
	p := &poller{source: source}
	if source == telemetry.SourceServer {
		p.scraper = newScraper(at, header, serverNames)
		p.parse = func(page metricsPage, s *telemetry.Sample) (err error) {
			s.Server, err = readServer(page)
			return err
		}
		return p
	}
	p.scraper = newScraper(at, header, gpuNames)
	p.parse = func(page metricsPage, s *telemetry.Sample) (err error) {
		s.GPUs, err = readGPUs(page)
		return err
	}
	return p
}

// add adds a page if its first reading succeeds.
func (s *Sources) add(ctx context.Context, p *poller) telemetry.Source {
	at := telemetry.Source{Name: telemetry.Redact(p.url)}
	if first := p.sample(ctx); first.Error != "" {
		p.close()
		at.Missing = first.Error
		return at
	}
	s.pages = append(s.pages, p)
	return at
}

// sample reads the page once.
func (p *poller) sample(ctx context.Context) telemetry.Sample {
	before := time.Now()
	page, err := p.read(ctx)
	took := time.Since(before)
	s := telemetry.Sample{Source: p.source, At: before.Add(took / 2), Span: took.Microseconds()}
	if err == nil {
		err = p.parse(page, &s)
	}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// Watch samples all sources once, calls begun, and samples until ctx ends, and then once more. Calls of each
// and begun do not overlap; samples of one source are in order. each may keep the samples.
func (s *Sources) Watch(ctx context.Context, begun func(), each func(telemetry.Sample)) {
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
		watch(func(begun func()) { p.watch(ctx, begun, alone) })
	}
	if s.smi != nil {
		watch(func(begun func()) { s.watchSMI(ctx, begun, alone) })
	}
	first.Wait()
	mu.Lock()
	begun()
	mu.Unlock()
	all.Wait()
}

const (
	// pageInterval is the shortest interval: a server builds the page between two steps of its engine.
	pageInterval = time.Second
	// pageShare is the largest share of the server's time for building the page: slow pages are read less
	// often.
	pageShare       = 0.01
	pageMaxInterval = 10 * time.Second
)

// nextPageInterval is the wait after a reading with this duration.
func nextPageInterval(took time.Duration) time.Duration {
	return min(max(pageInterval, time.Duration(float64(took)/pageShare)), pageMaxInterval)
}

func (p *poller) watch(ctx context.Context, begun func(), each func(telemetry.Sample)) {
	last := p.sample(ctx)
	each(last)
	begun()
	for ctx.Err() == nil {
		wait := time.NewTimer(nextPageInterval(time.Duration(last.Span) * time.Microsecond))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		last = p.sample(context.WithoutCancel(ctx)) // the last sample follows the end of ctx
		each(last)
	}
}

// watchSMI samples with nvidia-smi: processes at both ends, and figures if it is the GPU source.
func (s *Sources) watchSMI(ctx context.Context, begun func(), each func(telemetry.Sample)) {
	figures := s.gpu.Name == telemetry.NvidiaSMI
	each(s.smi.sample(ctx, figures))
	begun()
	if figures {
		err := s.smi.loop(ctx, pageInterval, func(gpus []telemetry.GPUReading, at time.Time) {
			each(telemetry.Sample{Source: telemetry.SourceGPU, At: at, GPUs: gpus})
		})
		if err != nil {
			each(telemetry.Sample{Source: telemetry.SourceGPU, At: time.Now(), Error: err.Error()})
		}
	}
	<-ctx.Done()
	each(s.smi.sample(context.WithoutCancel(ctx), figures))
}

// sample queries the processes and, if wanted, the figures.
func (t *nvidiaSMI) sample(ctx context.Context, figures bool) telemetry.Sample {
	before := time.Now()
	s := telemetry.Sample{Source: telemetry.SourceGPU}
	var err1, err2 error
	if figures {
		s.GPUs, err1 = t.read(ctx)
	}
	took := time.Since(before)
	s.At, s.Span = before.Add(took/2), took.Microseconds()
	s.Processes, err2 = t.processes(ctx)
	if err := errors.Join(err1, err2); err != nil {
		s.Error = err.Error()
	}
	return s
}
