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

// Endpoint is the thing under test, as far as its telemetry depends on it.
type Endpoint struct {
	Base      string      // of its API; user info in it goes to its own metrics page only
	Header    http.Header // authentication, for its own metrics page only; may be nil
	Local     bool        // it is on this machine, and so are its GPUs
	Simulated bool        // it has none
	Foreign   string      // what it runs on, where that is no NVIDIA GPU; empty: it is, or nobody told
}

// Sources are where the samples of a server and its GPUs come from. What is not there is said in Observe.
type Sources struct {
	server, gpu telemetry.Source
	pages       []*poller // those of the two that are pages
	smi         *smiTool  // for the processes on the GPUs, and for the figures where no exporter tells them; nil: there is none
}

// Observe summarizes the samples of a window, µs from the samples' epoch.
func (s *Sources) Observe(samples []telemetry.Sample, startUs, endUs int64) (*telemetry.ServerUsage, *telemetry.GPUUsage) {
	return telemetry.SummarizeServer(s.server, samples, startUs, endUs), telemetry.SummarizeGPUs(s.gpu, samples, startUs, endUs)
}

// poller samples one page.
type poller struct {
	*scraper
	source string                              // of its samples
	into   func(page, *telemetry.Sample) error // what is found on the page
}

// Open finds out which sources there are.
func Open(ctx context.Context, c telemetry.Config, e Endpoint) *Sources {
	s := &Sources{}
	s.openServer(ctx, c.Server, e)
	s.openGPU(ctx, c.GPU, e)
	return s
}

// Close gives the connections back.
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
		// trtllm-serve answers JSON at the usual path.
		for _, path := range []string{"/metrics", "/prometheus/metrics"} {
			p := newPoller(telemetry.SourceServer, root(e.Base)+path, e.Header)
			first := s.server
			if s.server = s.add(ctx, p); s.server.Missing == "" {
				return
			}
			if first.Name != "" {
				s.server = first // the usual path is the one that people know
			}
		}
	default:
		s.server = s.add(ctx, newPoller(telemetry.SourceServer, from, nil))
	}
}

// root is the base of an API without its version, below which servers have their metrics.
func root(base string) string { return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") }

// dcgmHere is where an exporter is as a rule.
const dcgmHere = "http://127.0.0.1:9400/metrics"

func (s *Sources) openGPU(ctx context.Context, from string, e Endpoint) {
	switch from {
	case telemetry.Off:
		s.gpu = telemetry.Source{Name: telemetry.Off, Missing: `[telemetry] gpu = "off"`}
	case telemetry.NvidiaSMI:
		s.askSMI(ctx)
	case "", telemetry.Auto:
		s.findGPU(ctx, e)
	default:
		s.gpu = s.add(ctx, newPoller(telemetry.SourceGPU, from, nil))
		if e.Local {
			s.smi, _ = findSMI(ctx) // for the processes
		}
	}
}

// findGPU looks on this machine, where the endpoint is.
func (s *Sources) findGPU(ctx context.Context, e Endpoint) {
	switch {
	case e.Simulated:
		s.gpu.Missing = "the server is simulated: it has no GPU"
		return
	case e.Foreign != "":
		s.gpu.Missing = "the hardware is " + e.Foreign + ": only NVIDIA's GPUs are read"
		return
	case !e.Local:
		s.gpu.Missing = "the endpoint is on another machine: give the URL of a DCGM exporter there in [telemetry] gpu"
		return
	}
	exporter := s.add(ctx, newPoller(telemetry.SourceGPU, dcgmHere, nil))
	if s.askSMI(ctx); exporter.Missing == "" { // it knows more than nvidia-smi
		s.gpu = exporter
	}
}

func (s *Sources) askSMI(ctx context.Context) {
	var err error
	s.gpu = telemetry.Source{Name: telemetry.NvidiaSMI}
	if s.smi, err = findSMI(ctx); err != nil {
		s.gpu.Missing = err.Error()
	}
}

// newPoller is for the page at a URL.
func newPoller(source, at string, header http.Header) *poller {
	p := &poller{source: source}
	if source == telemetry.SourceServer {
		p.scraper = newScraper(at, header, serverNames)
		p.into = func(page page, s *telemetry.Sample) (err error) {
			s.Server, err = readServer(page)
			return err
		}
		return p
	}
	p.scraper = newScraper(at, header, gpuNames)
	p.into = func(page page, s *telemetry.Sample) (err error) {
		s.GPUs, err = readGPUs(page)
		return err
	}
	return p
}

// add takes a page in that tells something.
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
		err = p.into(page, &s)
	}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// Watch samples all sources before it calls begun, until ctx ends, and then once more. each and begun are called one at
// a time, each for every source in order; it may keep the samples.
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
	// pageEvery is how often a page is read at most: a server builds it between two steps of its own work.
	pageEvery = time.Second
	// pageShare of the server's time is what building it may take: a page that comes slowly is read more rarely.
	pageShare  = 0.01
	pageRarest = 10 * time.Second
)

// pagePause is how long to wait after an answer that took so long.
func pagePause(took time.Duration) time.Duration {
	return min(max(pageEvery, time.Duration(float64(took)/pageShare)), pageRarest)
}

func (p *poller) watch(ctx context.Context, begun func(), each func(telemetry.Sample)) {
	last := p.sample(ctx)
	each(last)
	begun()
	for ctx.Err() == nil {
		wait := time.NewTimer(pagePause(time.Duration(last.Span) * time.Microsecond))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		last = p.sample(context.WithoutCancel(ctx)) // the last one is behind the end
		each(last)
	}
}

// watchSMI samples by nvidia-smi: what runs on the GPUs at both ends, and the figures where nobody else tells them.
func (s *Sources) watchSMI(ctx context.Context, begun func(), each func(telemetry.Sample)) {
	figures := s.gpu.Name == telemetry.NvidiaSMI
	each(s.smi.sample(ctx, figures))
	begun()
	if figures {
		err := s.smi.loop(ctx, pageEvery, func(gpus []telemetry.GPUReading, at time.Time) {
			each(telemetry.Sample{Source: telemetry.SourceGPU, At: at, GPUs: gpus})
		})
		if err != nil {
			each(telemetry.Sample{Source: telemetry.SourceGPU, At: time.Now(), Error: err.Error()})
		}
	}
	<-ctx.Done()
	each(s.smi.sample(context.WithoutCancel(ctx), figures))
}

// sample asks for the processes, and for the figures too.
func (t *smiTool) sample(ctx context.Context, figures bool) telemetry.Sample {
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
