package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	"bench/experiment/openai"
	"bench/experiment/selftest"
	"bench/experiment/stats"
)

// differences compare both sides of a step, in µs.
type differences struct {
	first, gap   []float64 // client's time − server's time before its write; client's gap − server's gap
	lag, arrival []float64 // sent − ready; server had read the headers − sent
	late, width  []float64 // of the server: written − due; written − writing

	joined, failed, missing int // requests in the window
	problem                 string
}

// join compares both logs. A request is missing without a server's record, or with another number of events.
func join(o *clientLog, truth map[string]*serverRecord) differences {
	var c differences
	for i := range o.samples {
		s := &o.samples[i]
		if !s.window {
			continue
		}
		if s.sent != openai.Never && s.ready != openai.Never {
			c.lag = append(c.lag, us(s.sent-s.ready))
		}
		if s.outcome.Failed() {
			c.failed++
			c.problem = cmp.Or(c.problem, string(s.outcome)+": "+s.err)
			continue
		}
		t := truth[s.id]
		if t == nil || s.first == openai.Never || len(t.WritingNS) != 1+len(s.gaps) {
			c.missing++
			continue
		}
		c.add(s, t, o.epoch)
	}
	return c
}

func (c *differences) add(s *clientRecord, t *serverRecord, epoch time.Time) {
	c.joined++
	c.arrival = append(c.arrival, nanos(t.sinceEpoch(t.ArrivalNS, epoch)-int64(s.sent)))
	c.first = append(c.first, nanos(int64(s.first)-t.sinceEpoch(t.WritingNS[0], epoch)))
	for k, gap := range s.gaps {
		c.gap = append(c.gap, nanos(int64(gap)-(t.WritingNS[k+1]-t.WritingNS[k])))
	}
	for k, written := range t.WrittenNS {
		c.late = append(c.late, nanos(written-t.DueNS[k]))
		c.width = append(c.width, nanos(written-t.WritingNS[k]))
	}
}

func us(d time.Duration) float64 { return nanos(int64(d)) }

func nanos(ns int64) float64 { return float64(ns) / 1e3 }

func errorOf(values []float64) *selftest.Error {
	sizes := make([]float64, len(values))
	for i, v := range values {
		sizes[i] = math.Abs(v)
	}
	d := delayOf(sizes)
	if d == nil {
		return nil
	}
	return &selftest.Error{N: d.N, P50Us: d.P50Us, P99Us: d.P99Us, MinUs: slices.Min(values), MaxUs: slices.Max(values)}
}

func delayOf(values []float64) *selftest.Delay {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &selftest.Delay{N: len(values), P50Us: stats.Quantile(sorted, 0.5), P99Us: stats.Quantile(sorted, 0.99),
		MaxUs: sorted[len(sorted)-1]}
}

func measure(m *selftest.Measured, o *clientLog, truth map[string]*serverRecord) {
	c := join(o, truth)
	m.Load = o.load()
	m.Requests, m.Failed, m.Missing, m.FirstFailure = c.joined, c.failed, c.missing, c.problem
	m.First, m.Gap = errorOf(c.first), errorOf(c.gap)
	m.Lag, m.Arrival = delayOf(c.lag), delayOf(c.arrival)
	m.ServerLate, m.TruthWidth = delayOf(c.late), delayOf(c.width)
	m.KernelStamps, m.UserStamps = o.kernel, o.user
	if o.kernel > 0 {
		m.ReadLagMeanUs, m.ReadLagMaxUs = new(us(o.lagSum)/float64(o.kernel)), new(us(o.lagMax))
	}
	seconds := o.cores.elapsed.Seconds()
	if all, _ := o.events(); o.cores.client > 0 && seconds > 0 && all > 0 {
		m.CPUUsPerEvent, m.CPUCores = new(us(o.cores.client)/float64(all)), new(o.cores.client.Seconds()/seconds)
	}
	if o.cores.machine > 0 && o.cores.server > 0 && seconds > 0 {
		m.ServerCores, m.OtherCores = new(o.cores.server.Seconds()/seconds), new(o.cores.others().Seconds()/seconds)
	}
}

// serverRecord is the server's record of one request: a line of its /debug/requests. Times are ns of its own
// clock; the arrival is also given by the wall clock, which client and server share.
type serverRecord struct {
	RequestID     string  `json:"request_id"`
	ArrivalUnixNS int64   `json:"arrival_unix_ns"`
	ArrivalNS     int64   `json:"arrival_ns"` // request headers read
	DueNS         []int64 `json:"due_ns"`     // of each event with tokens
	WritingNS     []int64 `json:"writing_ns"` // start of its write
	WrittenNS     []int64 `json:"written_ns"` // end of its write
}

// sinceEpoch is right unless the clock was set during the step, whose second try then counts.
func (r *serverRecord) sinceEpoch(at int64, epoch time.Time) int64 {
	return at - r.ArrivalNS + r.ArrivalUnixNS - epoch.UnixNano()
}

func readTimes(r io.Reader) (map[string]*serverRecord, error) {
	truth := map[string]*serverRecord{}
	lines := json.NewDecoder(r)
	for {
		one := new(serverRecord)
		switch err := lines.Decode(one); {
		case errors.Is(err, io.EOF):
			return truth, nil
		case err != nil:
			return nil, fmt.Errorf("reading the server's records: %w", err)
		}
		if n := len(one.DueNS); len(one.WritingNS) != n || len(one.WrittenNS) != n {
			return nil, fmt.Errorf("reading the server's records: request %s has %d due, %d writing and %d written",
				one.RequestID, n, len(one.WritingNS), len(one.WrittenNS))
		}
		truth[one.RequestID] = one
	}
}

// directClient ignores proxies.
var directClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// serverTimes gets the server's records by request, or deletes them.
func serverTimes(ctx context.Context, method, url string) (map[string]*serverRecord, error) {
	req, err := http.NewRequestWithContext(ctx, method, url+"/debug/requests", nil)
	if err != nil {
		return nil, fmt.Errorf("requesting the server's records: %w", err)
	}
	resp, err := directClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("requesting the server's records: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("requesting the server's records: HTTP %d", resp.StatusCode)
	}
	return readTimes(resp.Body)
}
