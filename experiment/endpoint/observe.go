package endpoint

import (
	"context"
	"net/http"
	"runtime"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/telemetry/collector"
	"bench/experiment/verdict"
)

// Telemetry is the [telemetry] table.
type Telemetry = telemetry.Config

// Observe finds what the server and its GPUs can be asked while rows run; Close gives it back. Without it rows have samples of
// the client alone. b knows the hardware.
func (s *Server) Observe(ctx context.Context, c Telemetry, b record.RooflineSource) {
	header := http.Header{}
	for name, value := range s.options.Headers {
		header.Set(name, value)
	}
	if s.options.APIKey != "" && header.Get("Authorization") == "" {
		header.Set("Authorization", "Bearer "+s.options.APIKey)
	}
	s.sources = collector.Open(ctx, c, collector.Endpoint{
		Base: s.options.BaseURL, Header: header, Local: s.Info.Vantage.Place == "same host", Simulated: s.Info.Simulated, Foreign: b.Foreign(),
	})
}

// around notes what is known only before and after the load.
func sampleHost(e *verdict.Measured, s *Server) (after func()) {
	e.Host.Server = s.Info.Vantage.Place == "same host" && !s.inProcess()
	e.Host.Before, e.Host.Cores = collector.HostLoad(), runtime.NumCPU()
	lines := 0
	if s.LogLines != nil {
		lines = s.LogLines()
	}
	return func() {
		e.Host.After = collector.HostLoad()
		if s.LogLines != nil {
			e.Server.LogLines = new(s.LogLines() - lines)
		}
	}
}
