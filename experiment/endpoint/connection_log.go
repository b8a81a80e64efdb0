package endpoint

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// connectionLog is what the client of a row, or of a worker's share of it, knows of its connections beside the records.
type connectionLog struct {
	connectionTotals
	ahead        int         // of Setups, opened before the first request: they come first
	kernel, user int         // timestamps by the kernel, by this process
	lost         map[int]int // by replica: failed connections since the last request that reached it
}

type connectionTotals struct {
	Setups     []openai.Setup    `json:"setups,omitempty"` // of connections: those opened ahead come first
	ReadLagSum time.Duration     `json:"read_lag_sum_ns"`
	ReadLagMax time.Duration     `json:"read_lag_max_ns"`
	Headers    map[string]string `json:"headers,omitempty"` // of one answer
	Gateway    GatewayHeaders    `json:"gateway,omitzero"`
	Abandoned  int               `json:"abandoned,omitempty"` // requests that were sent and given up
}

var givenUp = []openai.Outcome{openai.Unfinished, openai.Cancelled, openai.Timeout, openai.Left}

func (c *connectionLog) add(job *load.Job, r *record.Record) {
	result := &job.Result
	c.countLost(r, job)
	if result.Sent != openai.Never && slices.Contains(givenUp, result.Outcome) {
		c.Abandoned++
	}
	c.kernel += result.KernelStamps
	c.user += result.UserStamps
	c.ReadLagSum += result.ReadLagSum
	c.ReadLagMax = max(c.ReadLagMax, result.ReadLag)
	if result.Setup != (openai.Setup{}) {
		c.Setups = append(c.Setups, result.Setup)
	}
	c.addHeader(result.Header, r)
}

func (c *connectionLog) addHeader(h http.Header, r *record.Record) {
	if h == nil {
		return
	}
	if r.Phase == record.PhaseWindow {
		c.Gateway.add(h)
	}
	if c.Headers == nil {
		c.Headers = publicHeaders(h)
	}
}

func (c *connectionLog) countLost(r *record.Record, job *load.Job) {
	replica := 0
	if r.Endpoint != nil {
		replica = *r.Endpoint
	}
	switch {
	case job.Result.Outcome == openai.Connect:
		if c.lost == nil {
			c.lost = map[int]int{}
		}
		c.lost[replica]++
	case job.Result.Sent != openai.Never: // also one that the row's end interrupted
		delete(c.lost, replica)
	}
}

// fewestLost connections at a row's end, without a request between that arrived, mean that the server is gone.
const fewestLost = 3

func (c *connectionLog) serverLost() bool {
	for _, n := range c.lost {
		if n >= fewestLost {
			return true
		}
	}
	return false
}

func (l *connectionLog) clock() record.Clock {
	c := record.Clock{Stamps: "kernel", KernelStamps: l.kernel, UserStamps: l.user, ReadLagMaxMs: unit.Ms(l.ReadLagMax)}
	switch {
	case l.kernel == 0:
		c.Stamps = "user"
	case l.user > 0:
		c.Stamps = "mixed"
	}
	if l.kernel > 0 {
		c.ReadLagMeanMs = unit.Ms(l.ReadLagSum) / float64(l.kernel)
	}
	return c
}

func fillConnections(c *record.Connections, setups []openai.Setup, ahead int) {
	c.Ahead, c.During = ahead, len(setups)-ahead
	part := func(of func(openai.Setup) time.Duration) *stats.Summary {
		var took []float64
		for _, s := range setups {
			if d := of(s); d > 0 {
				took = append(took, unit.Ms(d))
			}
		}
		return stats.Summarize(took)
	}
	c.DNS = part(func(s openai.Setup) time.Duration { return s.DNS })
	c.TCP = part(func(s openai.Setup) time.Duration { return s.TCP })
	c.TLS = part(func(s openai.Setup) time.Duration { return s.TLS })
}

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
