package collector

import (
	"bench/experiment/telemetry"
	"context"
)

// ReadServer reads the server's metrics once. The reading is nil if that failed; ok is false if there is no source
// of server metrics.
func (s *Sources) ReadServer(ctx context.Context) (reading *telemetry.ServerReading, ok bool) {
	for _, p := range s.pages {
		if p.source == telemetry.SourceServer {
			return p.sample(ctx).Server, true
		}
	}
	return nil, false
}
