package collect

import (
	"strings"
	"testing"

	"bench/experiment/telemetry"
)

// A page that the matrix names must answer; one that is looked for may be missing.
func TestNamedPages(t *testing.T) {
	const nothing = "http://127.0.0.1:1/metrics"
	for _, tt := range []struct {
		config telemetry.Config
		want   string
	}{
		{telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: telemetry.Off}, ""},
		{telemetry.Config{GPU: telemetry.Off}, ""},
		{telemetry.Config{Server: telemetry.Pages{Source: nothing}, GPU: telemetry.Off}, "[telemetry] server " + nothing},
		{telemetry.Config{Server: telemetry.Pages{Parts: []telemetry.Page{{URL: nothing}}}, GPU: telemetry.Off}, "[telemetry] server " + nothing},
		{telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: nothing}, "[telemetry] gpu " + nothing},
	} {
		s := Open(t.Context(), tt.config, Endpoint{Bases: []string{"http://127.0.0.1:1/v1"}})
		err := s.Named(tt.config)
		if s.Close(); (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.config, err, tt.want)
		}
	}
}
