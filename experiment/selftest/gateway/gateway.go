// Package gateway is what gateways before a server add to its times: the result of `bench selftest --gateway`.
// Package runner sends the same load, with the same arrivals, to a server directly and through each gateway, in
// rounds. Each Round has the percentiles of one load on one Path. Measure takes, for each round, the difference of
// a percentile through the gateway and directly; the added time is the median of these differences. Its interval is
// between two of them, for any distribution: with six rounds the smallest and the largest. So one disturbed round
// widens the interval, but does not move the figure. Text prints a result.
//
// An added p99 is a difference of two p99s. It is not the p99 of the differences by request: that one also counts
// the requests that were slow directly, with the opposite sign, and so depends on the noise of both.
package gateway

import (
	"time"

	"bench/experiment/selftest"
	"bench/experiment/stats"
)

// Schema is the format of a result.
const Schema = "bench/selftest-gateway/v1"

// LimitUs is the limit of the time that a gateway adds to p99 of TTFT, µs.
const LimitUs = 1000

// confidence of the intervals.
const confidence = 0.95

// MinRounds is the smallest number of rounds with an interval.
const MinRounds = 6

// Result is what gateways add on this machine.
type Result struct {
	Schema    string           `json:"schema"`
	StartedAt time.Time        `json:"started_at"`
	EndedAt   time.Time        `json:"ended_at"`
	Machine   selftest.Machine `json:"machine"`
	TTFTMs    float64          `json:"server_ttft_ms"`
	ITLMs     float64          `json:"server_itl_ms"`
	LimitUs   float64          `json:"limit_us"` // of the time added to p99 of TTFT
	Steps     []Step           `json:"steps"`
}

// Step is one load, on every path.
type Step struct {
	selftest.Step
	Paths []Path `json:"paths"` // the first one is direct
}

// Path is a way to the server: directly, or through a gateway.
type Path struct {
	Name    string  `json:"name"`
	Problem string  `json:"problem,omitempty"` // why nothing was measured
	Rounds  []Round `json:"rounds"`
	Added   *Added  `json:"added,omitempty"` // absent: direct, or nothing was measured
}

// Round is one load on one path. Percentiles are of the requests in the window; a nil figure was not measured.
type Round struct {
	Requests     int    `json:"requests"` // completed
	Failed       int    `json:"failed"`
	Problem      string `json:"problem,omitempty"` // why the round does not count
	FirstFailure string `json:"first_failure,omitempty"`

	TTFT    *selftest.Delay `json:"ttft"`    // from send, as the client measures it
	Transit *selftest.Delay `json:"transit"` // TTFT without the server's own time; nil also if the gateway drops X-Request-Id
	E2E     *selftest.Delay `json:"e2e"`     // from send
	Gap     *selftest.Delay `json:"gap"`     // between tokens
	Lag     *selftest.Delay `json:"lag"`     // sent − ready: the client's own delay

	CPUUsPerRequest *float64 `json:"gateway_cpu_us_per_request"` // CPU time of the gateway's processes
	ClientCores     *float64 `json:"client_cores"`
	ServerCores     *float64 `json:"server_cores"`
	GatewayCores    *float64 `json:"gateway_cores"`
	OtherCores      *float64 `json:"other_cores"` // all other processes of the machine, and CPU steal
}

// Added is what a gateway adds to each time; nil: not measured.
type Added struct {
	Rounds  int      `json:"rounds"` // that count: measured on both paths
	TTFT    *Figures `json:"ttft"`
	Transit *Figures `json:"transit"`
	E2E     *Figures `json:"e2e"`
	Gap     *Figures `json:"gap"`
}

// Figures are what a gateway adds to the percentiles of a time.
type Figures struct {
	P50 Difference `json:"p50"`
	P99 Difference `json:"p99"`
}

// Difference is the median over the rounds of a percentile through the gateway minus the same one directly.
type Difference struct {
	Us   float64        `json:"us"`
	CI95 stats.Interval `json:"ci95_us"` // of the median; its ends are null with fewer than MinRounds
}

// maxLostShare is the largest share of failed requests of a round that counts.
const maxLostShare = 0.01

// Assess sets Problem.
func (r *Round) Assess() {
	switch {
	case r.Requests == 0 && r.Failed == 0:
		r.Problem = "no request was sent"
	case float64(r.Failed) > maxLostShare*float64(r.Requests+r.Failed):
		r.Problem = r.FirstFailure
	}
}

// Measure sets Added of every path but the first. A round counts if both paths were measured in it.
func (s *Step) Measure() {
	for i := range s.Paths {
		if i > 0 {
			s.Paths[i].measure(&s.Paths[0])
		}
	}
}

func (p *Path) measure(direct *Path) {
	var pairs [][2]*Round
	for k := range p.Rounds {
		if k < len(direct.Rounds) && p.Rounds[k].Problem == "" && direct.Rounds[k].Problem == "" {
			pairs = append(pairs, [2]*Round{&direct.Rounds[k], &p.Rounds[k]})
		} else if p.Problem == "" {
			p.Problem = p.Rounds[k].Problem
		}
	}
	if len(pairs) == 0 {
		return
	}
	p.Problem = ""
	p.Added = &Added{
		Rounds:  len(pairs),
		TTFT:    figures(pairs, func(r *Round) *selftest.Delay { return r.TTFT }),
		Transit: figures(pairs, func(r *Round) *selftest.Delay { return r.Transit }),
		E2E:     figures(pairs, func(r *Round) *selftest.Delay { return r.E2E }),
		Gap:     figures(pairs, func(r *Round) *selftest.Delay { return r.Gap }),
	}
}

// figures are the differences of one time; nil if a round of the pairs lacks it.
func figures(pairs [][2]*Round, of func(*Round) *selftest.Delay) *Figures {
	var p50, p99 []float64
	for _, pair := range pairs {
		direct, through := of(pair[0]), of(pair[1])
		if direct == nil || through == nil {
			return nil
		}
		p50 = append(p50, through.P50Us-direct.P50Us)
		p99 = append(p99, through.P99Us-direct.P99Us)
	}
	return &Figures{difference(p50), difference(p99)}
}

func difference(rounds []float64) Difference {
	median, within := stats.MedianInterval(rounds, confidence)
	return Difference{median, within}
}

// Verdicts on the limit.
const (
	Pass      = "PASS"
	Fail      = "FAIL"
	Undecided = "UNDECIDED"
)

// Verdict is whether the gateway adds less than the limit to p99 of TTFT: UNDECIDED if the limit is within the
// interval. Empty: nothing was measured.
func (p *Path) Verdict(limitUs float64) string {
	if p.Added == nil || p.Added.TTFT == nil {
		return ""
	}
	switch within := p.Added.TTFT.P99.CI95; {
	case within.Hi < limitUs:
		return Pass
	case within.Lo >= limitUs:
		return Fail
	}
	return Undecided
}

// Measured reports whether any gateway was measured.
func (r *Result) Measured() bool {
	for i := range r.Steps {
		for k := range r.Steps[i].Paths {
			if r.Steps[i].Paths[k].Added != nil {
				return true
			}
		}
	}
	return false
}

// median is the median of a figure over the rounds that count; ok is false if one lacks it.
func (p *Path) median(of func(*Round) *float64) (median float64, ok bool) {
	var values []float64
	for i := range p.Rounds {
		r := &p.Rounds[i]
		if r.Problem != "" {
			continue
		}
		x := of(r)
		if x == nil {
			return 0, false
		}
		values = append(values, *x)
	}
	if len(values) == 0 {
		return 0, false
	}
	median, _ = stats.MedianInterval(values, confidence)
	return median, true
}
