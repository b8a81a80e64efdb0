package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Spec is one point of a row, expanded: everything that decides what is sent, when, and how it is
// judged. Its canonical JSON is what a point's hash is made of.
type Spec struct {
	Name   string `toml:"name" json:"name"`
	Point  []Axis `toml:"-" json:"point,omitempty"` // the axes' values, in the order of the row's keys
	Repeat int    `toml:"-" json:"repeat"`          // counts from 1
	Expect string `toml:"expect" json:"expect,omitempty"`
	Kind   string `toml:"kind" json:"kind,omitempty"` // load (also when empty), or cold_start: from an idle server to the first token, one request at a time

	Variant string `toml:"-" json:"variant,omitempty"` // the server's knobs, or its endpoint; empty: there is one server

	workload.Workload
	workload.Load

	Stream *bool `toml:"stream" json:"stream"` // nil = true
	// Connections is "reuse" (also when empty, but for cold starts): connections stay open from request to request, and are
	// opened before the row; or "new": one for each request, its set-up inside of the request's latency.
	Connections string `toml:"connections" json:"connections,omitempty"`

	Stop     string  `toml:"stop" json:"stop"`                   // forced (default): the server is made to write every token; natural: it may stop
	API      string  `toml:"api" json:"api"`                     // empty = the target's
	Scenario string  `toml:"scenario" json:"scenario,omitempty"` // of MLPerf: SingleStream, Server, Offline; empty = as the load says
	Isolate  bool    `toml:"isolate" json:"isolate,omitempty"`   // run each class alone too, at its share of the rate
	Alone    string  `toml:"-" json:"alone,omitempty"`           // the class that runs alone here
	Until    string  `toml:"until" json:"until,omitempty"`       // decided: the row ends when its SLO is; stopped: when it is told to (bench tile); empty = at its end
	Search   *Search `toml:"-" json:"search,omitempty"`          // the point is a probe of it; absent: its load is stated
	Repeats  int     `toml:"repeats" json:"-"`                   // 0 = 1
	SLO      SLO     `toml:"slo" json:"slo"`
}

// Files are the files that points name, each read once; see Look.
type Files = workload.Files

// Axis is one value of one list of the row.
type Axis struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as it is written in file names
}

// Streams says whether tokens are streamed.
func (s *Spec) Streams() bool { return s.Stream == nil || *s.Stream }

// mostRequests of one row: their records stay in memory until the row is summarised.
const mostRequests = 5_000_000

// Check reports what is wrong or impossible in the point.
func (s *Spec) Check(bad func(key, problem, hint string)) {
	if s.Stop != "" && s.Stop != "forced" && s.Stop != "natural" {
		bad("stop", "unknown stop "+strconv.Quote(s.Stop), `write "forced" or "natural"`)
	}
	if s.Connections != "" && s.Connections != "reuse" && s.Connections != "new" {
		bad("connections", "unknown connections "+strconv.Quote(s.Connections), `write "reuse" or "new"`)
	}
	if s.API != "" && s.API != "completions" && s.API != "chat" {
		bad("api", "unknown api "+strconv.Quote(s.API), `write "completions" or "chat"`)
	}
	if s.Repeats < 0 {
		bad("repeats", "repeats is negative", "write repeats = 3")
	}
	if n := s.InWindow(); n > mostRequests && s.Requests == 0 {
		bad("rate", fmt.Sprintf("%s requests in one window are more than can be kept", unit.Brief(n, 3)), "make duration shorter, or write requests = 100000")
	}
	s.Workload.Check(bad)
	s.sizedLoad().Check(s.Rate > 0, s.Rate.IsInf(), bad)
	s.checkCold(bad)
	s.checkClasses(bad)
	s.checkSLO(bad)
	s.checkUntil(bad)
	s.checkIsolate(bad)
	if s.Search != nil {
		s.Search.Check(s, func(key, problem, hint string) { bad(s.Search.Axis+"."+key, problem, hint) })
	}
}

func (s *Spec) checkSLO(bad func(key, problem, hint string)) {
	check := func(prefix string, c SLO) {
		for _, l := range c.All() {
			if !s.Streams() && l.NeedsStream() {
				bad("stream", "without streaming "+prefix+l.Key+" can't be measured",
					"set stream = true, or limit e2e instead ([slo] goes for every row)")
			}
		}
	}
	check("slo.", s.SLO)
	if len(s.Mix) == 0 && len(s.SLO.EachRequest()) == 0 {
		for _, l := range s.SLO.Limits {
			if l.Metric == "min_goodput_requests_per_s" {
				bad("slo."+l.Key, l.Key+" without a limit for each request", `write [slo.each] and below it ttft = "1s"`)
			}
		}
	}
	for i, class := range s.Mix {
		if class.SLO == nil {
			continue
		}
		at := fmt.Sprintf("mix[%d].slo.", i)
		var c SLO
		c.DecodeTOML(class.SLO, func(key, problem, hint string) { bad(at+key, problem, hint) })
		check(at, c)
	}
}

// InWindow is how many requests should arrive in a window of the stated duration; 0 where that is no matter of time.
func (s *Spec) InWindow() float64 {
	start := time.Duration(s.Warmup.Time)
	return s.Arriving(start, start+time.Duration(s.Duration)) * s.Turns()
}

// Pretty is the point as people read it: "D-saturation concurrency=8".
func (s *Spec) Pretty() string {
	parts := []string{s.Name}
	for _, a := range s.Point {
		parts = append(parts, a.Key+"="+a.Value)
	}
	return strings.Join(parts, " ")
}

// Expected is how long the point takes at best: warm-up and window by time, or by the rate for a
// number of requests; 0 = not known before it ran (a number of requests in a closed loop).
func (s *Spec) Expected() (d time.Duration, known bool) {
	rate := float64(s.Rate)
	if s.Converses() {
		rate = 0 // when turns arrive, the answers decide
	}
	d, known = s.Phases().Expected(rate)
	if _, span, ends := s.AtMost(); ends {
		d = min(d, span)
	}
	return d, known
}

// planSeed gives each repeat lengths and arrivals of its own.
func (s *Spec) PlanSeed() uint64 { return s.Seed ^ uint64(s.Repeat)*0x9e3779b97f4a7c15 }

// loadAxis tells the axis of the load from the others. A rate that varies is the load even where
// the cap varies too: each cap is a series then.
func LoadAxis(s *Spec) (axis string, others []Axis) {
	axis = "concurrency"
	if s.Varies("rate") || (s.Rate > 0 && !s.Varies("concurrency")) {
		axis = "rate"
	}
	return axis, slices.DeleteFunc(slices.Clone(s.Point), func(a Axis) bool { return a.Key == axis })
}

// varies says that the matrix has several values of a key for the row.
func (s *Spec) Varies(key string) bool {
	return slices.ContainsFunc(s.Point, func(a Axis) bool { return a.Key == key })
}
