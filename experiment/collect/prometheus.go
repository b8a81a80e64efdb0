package collect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bench/experiment/telemetry"
)

// Limits of a page: a misbehaving server must not disturb the client.
const (
	maxPageBytes = 16 << 20
	maxLineBytes = 64 << 10 // longer lines are skipped
	maxKeptBytes = 1 << 20  // of the wanted lines
	pageTimeout  = 2 * time.Second
)

type metricsPage struct {
	series []series
	help   map[string]string // by name
}

type series struct {
	name   string // canonical, see canonicalName
	labels map[string]string
	value  float64 // never NaN or infinite
}

type scraper struct {
	url    string // user info is sent as basic authentication
	header http.Header
	client *http.Client
	wanted map[string]bool
}

// newScraper reads the wanted names. Like the requests of a row, it ignores proxy variables.
func newScraper(url string, header http.Header, wanted map[string]bool) *scraper {
	return &scraper{url: url, header: header, wanted: wanted, client: &http.Client{
		Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		// No redirects: the header may contain a key.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       pageTimeout,
	}}
}

func (s *scraper) close() { s.client.CloseIdleConnections() }

func (s *scraper) read(ctx context.Context) (metricsPage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return metricsPage{}, errors.New("invalid URL")
	}
	for name, values := range s.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := s.client.Do(req)
	if err != nil {
		return metricsPage{}, plainError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return metricsPage{}, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	kept, err := filter(resp.Body, s.wanted)
	if err != nil {
		return metricsPage{}, plainError(err)
	}
	return parsePage(kept)
}

// plainError is an error of net/http without the URL, which may contain a password.
func plainError(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("no complete response within %v", pageTimeout)
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// filter keeps the lines of the wanted names. The parser takes a hundred times as long as this scan, and
// fails at the first unreadable line of any metric.
func filter(body io.Reader, wanted map[string]bool) ([]byte, error) {
	limited := &io.LimitedReader{R: body, N: maxPageBytes + 1}
	r := bufio.NewReaderSize(limited, maxLineBytes)
	var kept []byte
	helped := map[string]bool{} // the parser rejects a second help text
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = nil, skipLine(r)
		}
		switch {
		case limited.N <= 0 || len(kept) > maxKeptBytes:
			return nil, fmt.Errorf("the page is larger than %d MiB", maxPageBytes>>20)
		case errors.Is(err, io.EOF): // a last line without newline may be truncated
			return kept, nil
		case err != nil:
			return nil, err
		case isWanted(line, wanted, helped):
			kept = append(kept, line...)
		}
	}
}

func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// isWanted accepts series and help texts. Without TYPE lines each series is untyped, also a histogram's sum.
func isWanted(line []byte, wanted, helped map[string]bool) bool {
	var room [64]byte
	if rest, help := bytes.CutPrefix(line, []byte("# HELP ")); help {
		name, _, _ := bytes.Cut(rest, []byte(" "))
		if !wanted[string(canonicalName(&room, name))] || helped[string(name)] {
			return false
		}
		helped[string(name)] = true
		return true
	}
	if len(line) == 0 || line[0] == '#' {
		return false
	}
	end := bytes.IndexAny(line, "{ \t")
	return end > 0 && wanted[string(canonicalName(&room, line[:end]))]
}

// canonicalName replaces colons by underscores, as some exporters do, and removes Ray's prefix. The result is
// in room, to avoid an allocation per line; nil: the name is too long to be a wanted one.
func canonicalName(room *[64]byte, name []byte) []byte {
	name = bytes.TrimPrefix(name, []byte("ray_"))
	if len(name) > len(room) {
		return nil
	}
	out := room[:copy(room[:], name)]
	for i, c := range out {
		if c == ':' {
			out[i] = '_'
		}
	}
	return out
}

func parsePage(text []byte) (metricsPage, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return metricsPage{}, fmt.Errorf("reading the page: %w", err)
	}
	p := metricsPage{help: map[string]string{}}
	for _, f := range families {
		name := string(canonicalName(new([64]byte), []byte(f.GetName())))
		p.help[name] = f.GetHelp()
		for _, m := range f.GetMetric() {
			if v := m.GetUntyped().GetValue(); !math.IsNaN(v) && !math.IsInf(v, 0) {
				p.series = append(p.series, series{name, labelsOf(m), v})
			}
		}
	}
	return p, nil
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := make(map[string]string, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

func (s *scraper) readServer(ctx context.Context) (*telemetry.ServerReading, error) {
	page, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return readServer(page)
}

// newPartsPoller polls the pages of a server's parts, all at one moment: their sum is a state of the server.
func newPartsPoller(parts []telemetry.Page, header http.Header) *poller {
	pages := make([]*scraper, len(parts))
	names := make([]string, len(parts))
	for i, part := range parts {
		pages[i], names[i] = newScraper(part.URL, header, serverNames), telemetry.Redact(part.URL)
	}
	return &poller{
		name: strings.Join(names, ", "), source: telemetry.SourceServer,
		close: func() {
			for _, page := range pages {
				page.close()
			}
		},
		read: func(ctx context.Context, s *telemetry.Sample) error {
			readings := make([]telemetry.RoleReading, len(parts))
			failures := make([]error, len(parts))
			var all sync.WaitGroup
			for i, part := range parts {
				all.Go(func() {
					r, err := pages[i].readServer(ctx)
					if err != nil {
						failures[i] = fmt.Errorf("%s %s: %w", cmp.Or(part.Role, "replica"), names[i], err)
					}
					readings[i] = telemetry.RoleReading{Role: part.Role, Source: names[i], Server: r}
				})
			}
			all.Wait()
			for _, err := range failures {
				if err != nil {
					return err
				}
			}
			s.Roles, s.Server = readings, telemetry.Combine(readings)
			return nil
		},
	}
}
