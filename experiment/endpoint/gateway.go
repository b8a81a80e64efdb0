package endpoint

import (
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

// gatewayHeaders collects what a gateway reports of itself with each answer.
type gatewayHeaders struct {
	version  string
	overhead []float64 // ms
}

func (g *gatewayHeaders) add(h http.Header) {
	version := h.Get(litellmVersion)
	if version == "" {
		return
	}
	g.version = version
	if ms, err := strconv.ParseFloat(h.Get(litellmOverhead), 64); err == nil && ms >= 0 && ms < 1e9 {
		g.overhead = append(g.overhead, ms)
	}
}

// summary is nil without a gateway.
func (g *gatewayHeaders) summary() *record.Gateway {
	if g.version == "" {
		return nil
	}
	return &record.Gateway{Name: "LiteLLM", Version: clipHeader(g.version), Overhead: stats.Summarize(g.overhead)}
}
