package collect

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"bench/experiment/telemetry"
)

func (s *scraper) readServer(ctx context.Context) (*telemetry.ServerReading, error) {
	page, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return readServer(page)
}

func (s *scraper) readGPUs(ctx context.Context) ([]telemetry.GPUReading, error) {
	page, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return readExporter(page)
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
