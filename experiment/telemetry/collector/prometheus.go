package collector

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// What a page may be: a server that misbehaves must not disturb the client.
const (
	pageBytes   = 16 << 20
	lineBytes   = 64 << 10 // longer lines are left out
	keptBytes   = 1 << 20  // of the lines that are looked for
	pageTimeout = 2 * time.Second
)

// page is what was looked for on a page in Prometheus' text format.
type page struct {
	series []series
	help   map[string]string // by name
}

// series is one metric with its labels.
type series struct {
	name   string // as plainName gives it
	labels map[string]string
	value  float64 // never NaN or infinite
}

// scraper reads one page again and again, over a connection of its own.
type scraper struct {
	url    string // user info in it is sent as basic authentication
	header http.Header
	client *http.Client
	wanted map[string]bool
}

// newScraper looks for the wanted names. It obeys no proxy of the environment, as the requests of a row don't.
func newScraper(url string, header http.Header, wanted map[string]bool) *scraper {
	return &scraper{url: url, header: header, wanted: wanted, client: &http.Client{
		Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		// The header may hold a key: it goes nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       pageTimeout,
	}}
}

func (s *scraper) close() { s.client.CloseIdleConnections() }

// read gets the page once.
func (s *scraper) read(ctx context.Context) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return page{}, errors.New("the URL can't be asked")
	}
	for name, values := range s.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := s.client.Do(req)
	if err != nil {
		return page{}, plainError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return page{}, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	kept, err := filter(resp.Body, s.wanted)
	if err != nil {
		return page{}, plainError(err)
	}
	return parsePage(kept)
}

// plainError is an error of net/http without the URL, which may hold a password.
func plainError(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("no whole answer within %v", pageTimeout)
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// filter keeps the lines about the wanted names. The parser takes a hundred times as long as this scan, and stops at the
// first line that it can't read, whosever that is.
func filter(body io.Reader, wanted map[string]bool) ([]byte, error) {
	limited := &io.LimitedReader{R: body, N: pageBytes + 1}
	r := bufio.NewReaderSize(limited, lineBytes)
	var kept []byte
	helped := map[string]bool{} // a second text for a name is an error to the parser
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = nil, skipLine(r)
		}
		switch {
		case limited.N <= 0 || len(kept) > keptBytes:
			return nil, fmt.Errorf("the page is larger than %d MiB", pageBytes>>20)
		case errors.Is(err, io.EOF): // a last line without its end may be cut
			return kept, nil
		case err != nil:
			return nil, err
		case wantedLine(line, wanted, helped):
			kept = append(kept, line...)
		}
	}
}

// skipLine reads to the end of a line.
func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// wantedLine takes series and help texts. Without TYPE lines each series stands for itself: a histogram's sum is a number
// like any other.
func wantedLine(line []byte, wanted, helped map[string]bool) bool {
	var room [64]byte
	if rest, help := bytes.CutPrefix(line, []byte("# HELP ")); help {
		name, _, _ := bytes.Cut(rest, []byte(" "))
		if !wanted[string(plainName(&room, name))] || helped[string(name)] {
			return false
		}
		helped[string(name)] = true
		return true
	}
	if len(line) == 0 || line[0] == '#' {
		return false
	}
	end := bytes.IndexAny(line, "{ \t")
	return end > 0 && wanted[string(plainName(&room, line[:end]))]
}

// plainName is a metric's name as it is looked for: colons, which some exporters turn into underscores, are those, and Ray's
// mark at the front is gone. It stands in room, so that a line costs no memory; a name that does not fit is nobody's.
func plainName(room *[64]byte, name []byte) []byte {
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

// parsePage reads filtered lines.
func parsePage(text []byte) (page, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return page{}, fmt.Errorf("reading the page: %w", err)
	}
	p := page{help: map[string]string{}}
	for _, f := range families {
		name := string(plainName(new([64]byte), []byte(f.GetName())))
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
