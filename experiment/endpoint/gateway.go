package endpoint

import (
	"cmp"
	"net/http"
	"strconv"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// Headers of LiteLLM's proxy: the time that a request spent in it is all of it less the server's.
const (
	litellmVersion  = "X-Litellm-Version"
	litellmOverhead = "X-Litellm-Overhead-Duration-Ms"
)

// GatewayHeaders collects what a gateway reports of itself with each answer; the zero value: none has.
type GatewayHeaders struct {
	Version  string    `json:"version,omitempty"`
	Overhead []float64 `json:"overhead_ms,omitempty"`
}

func (g *GatewayHeaders) join(other GatewayHeaders) {
	g.Version = cmp.Or(g.Version, other.Version)
	g.Overhead = append(g.Overhead, other.Overhead...)
}

func (g *GatewayHeaders) add(h http.Header) {
	version := h.Get(litellmVersion)
	if version == "" {
		return
	}
	g.Version = version
	if ms, err := strconv.ParseFloat(h.Get(litellmOverhead), 64); err == nil && ms >= 0 && ms < 1e9 {
		g.Overhead = append(g.Overhead, ms)
	}
}

func (g *GatewayHeaders) summary() *record.Gateway {
	if g.Version == "" {
		return nil
	}
	return &record.Gateway{Name: "LiteLLM", Version: clipHeader(g.Version), Overhead: stats.Summarize(g.Overhead)}
}
