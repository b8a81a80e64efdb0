package record

import (
	"net/http"
	"slices"
	"strings"
	"syscall"

	"gonum.org/v1/gonum/floats"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// Service is how the classes of a mix shared the server in the window.
type Service struct {
	Classes []ClassService `json:"classes"` // in the order of the mix
	// of the tokens that each class got over its fair share; absent = no rate: none asks for more than it gets
	Jain *Bounded `json:"jain,omitempty"`
}

// ClassService is a class's part of the tokens that came in the window.
type ClassService struct {
	Class  string  `json:"class"`
	Tokens Bounded `json:"token_share"`        // of prompts, at their first output token, and of outputs
	Output Bounded `json:"output_token_share"` // of outputs alone
	// tokens over the fair share: all classes get the same, none more than it asks for; absent as jain
	OfFair *float64 `json:"of_fair_share,omitempty"`
}

type Bounded struct {
	Value float64        `json:"value"`
	CI95  stats.Interval `json:"ci95"`
}

// ServiceOf is nil without several classes, or if one of them sent next to nothing in the window.
func ServiceOf(records []*Record, w Window, s *experiment.Spec) *Service {
	if len(s.Mix) < 2 || w.Seconds() <= 0 {
		return nil
	}
	own := map[string][]*Record{}
	for _, r := range records {
		own[r.Class] = append(own[r.Class], r)
	}
	var output, all, asked [][]float64 // tokens by class and part of the window
	sum := 0.0
	for i, c := range s.Mix {
		demand, requests := askedInParts(own[c.Name], w)
		if requests < stats.LeastPairs {
			return nil
		}
		output, all = append(output, nil), append(all, nil)
		asked = append(asked, demand)
		for _, n := range countInParts(own[c.Name], w, stats.PartsOfShare) {
			output[i], all[i] = append(output[i], n.output), append(all[i], n.prompt+n.output)
			sum += n.output
		}
	}
	if sum == 0 {
		return nil
	}
	out := &Service{}
	for i, c := range s.Mix {
		out.Classes = append(out.Classes, ClassService{c.Name, partOf(all, i), partOf(output, i), nil})
	}
	if f, ok := stats.FairnessOf(all, asked, 0.95); ok && s.Timed() {
		out.Jain = &Bounded{f.Index, f.Within}
		for i := range out.Classes {
			out.Classes[i].OfFair = &f.OfShare[i]
		}
	}
	return out
}

// askedInParts are the tokens that requests ask for when they arrive; of a complete one those that it got.
func askedInParts(own []*Record, w Window) (tokens []float64, requests int) {
	tokens = make([]float64, stats.PartsOfShare)
	for _, r := range own {
		if !w.has(r.Arrival) {
			continue
		}
		requests++
		output := r.OutputRequested
		if r.OK() {
			output = r.OutputTokens
		}
		tokens[w.part(r.Arrival, stats.PartsOfShare)] += float64(r.Prompt() + output)
	}
	return tokens, requests
}

func partOf(tokens [][]float64, class int) Bounded {
	rest := make([]float64, stats.PartsOfShare)
	for i, own := range tokens {
		if i != class {
			floats.Add(rest, own)
		}
	}
	share, within := stats.ShareOf(tokens[class], rest, 0.95)
	return Bounded{share, within}
}

// Leavers are the users of a row who left before their answer had ended, and what the server did with their requests.
type Leavers struct {
	Requests    int `json:"requests"`           // of the window
	BeforeFirst int `json:"before_first_token"` // of them without any token
	Tokens      int `json:"tokens"`             // that they received
	// Aborted are the requests of the whole row that the server counted as aborted, and LeftInRow the ones whose users
	// left; absent = not reported.
	Aborted   *float64 `json:"server_aborted,omitempty"`
	LeftInRow int      `json:"left_in_row"`
	// Kept is the mean number of requests that the server had beyond those that the client had in flight; absent = the
	// server does not report its requests, or less than fewestReadings readings.
	Kept *float64 `json:"kept_requests,omitempty"`
	// FreedAfter is the mean time from a user's leaving until the server has no such request: Kept divided by the rate
	// of leaving (Little's law).
	FreedAfter *Estimate `json:"freed_after_s,omitempty"`
}

type Estimate struct {
	Mean float64        `json:"mean"`
	CI95 stats.Interval `json:"ci95"`
}

const fewestReadings = 10

// LeaversOf is nil if no user left. samples are the row's; usage is what the server reported in it, nil = nothing.
func LeaversOf(records []*Record, w Window, samples []telemetry.Sample, usage *telemetry.ServerUsage) *Leavers {
	l, inside := Leavers{}, 0
	for _, r := range records {
		if !r.Left() {
			continue
		}
		l.LeftInRow++
		if w.has(r.End) {
			inside++
		}
		if r.Phase != PhaseWindow {
			continue
		}
		l.Requests++
		l.Tokens += r.OutputTokens
		if r.First.IsZero() {
			l.BeforeFirst++
		}
	}
	if l.LeftInRow == 0 {
		return nil
	}
	if usage != nil && usage.Whole != nil {
		l.Aborted = usage.Whole.Aborted
	}
	beyond := beyondClient(records, w, samples)
	if len(beyond) < fewestReadings || inside == 0 {
		return &l
	}
	iv := stats.BatchMeans(beyond, 0.95)
	rate := float64(inside) / w.Seconds()
	kept := max(0, mean(beyond)) // a request that ends at the same time can be missing in the server's count
	l.Kept = &kept
	l.FreedAfter = &Estimate{Mean: kept / rate, CI95: stats.Interval{Lo: max(0, iv.Lo/rate), Hi: max(0, iv.Hi/rate)}}
	return &l
}

func mean(values []float64) (m float64) {
	for _, x := range values {
		m += x / float64(len(values))
	}
	return m
}

func beyondClient(records []*Record, w Window, samples []telemetry.Sample) (out []float64) {
	inFlight := OverlapOf(inServer(records))
	for i := range samples {
		s := &samples[i]
		if s.Source != telemetry.SourceServer || s.Server == nil || s.Server.Running == nil || s.TUs < w.StartUs ||
			s.TUs >= w.EndUs {
			continue
		}
		has := *s.Server.Running
		if s.Server.Waiting != nil {
			has += *s.Server.Waiting
		}
		out = append(out, has-float64(inFlight.At(s.TUs)))
	}
	return out
}

// Failure is the first request of a row, of any phase, that the server failed.
type Failure struct {
	Outcome     string  `json:"outcome"`
	Status      int     `json:"status,omitempty"` // of HTTP; absent = no answer
	Error       string  `json:"error"`
	AtS         float64 `json:"at_s"`                   // its end, s from the row's start
	Later       int     `json:"completed_later"`        // requests that completed after it
	ClientLimit bool    `json:"client_limit,omitempty"` // this machine could not open the connection
}

var ServerFailures = []string{"connect", "timeout", "status", "protocol", "truncated"}

func FirstFailure(records []*Record) *Failure {
	var first *Record
	for _, r := range records {
		if slices.Contains(ServerFailures, r.Outcome) && (first == nil || r.End.us < first.End.us) {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	f := &Failure{Outcome: first.Outcome, Status: first.Status, Error: unit.ClipBytes(first.Error, 200),
		AtS:         float64(first.End.us) / 1e6,
		ClientLimit: first.FilesExhausted() || first.PortsExhausted()}
	for _, r := range records {
		if r.OK() && r.End.us > first.End.us {
			f.Later++
		}
	}
	return f
}

// RefusesLoad reports whether the server refused the request because it has too many.
func (f *Failure) RefusesLoad() bool {
	return f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable
}

func (r *Record) RateLimited() bool { return r.Status == http.StatusTooManyRequests }

func (f *Failure) RateLimited() bool { return f.Status == http.StatusTooManyRequests }

// AtAnyLoad reports whether a lower load would fail as well: the server was gone, or refuses the request itself.
func (f *Failure) AtAnyLoad() bool {
	return f.Later == 0 || f.Status >= 400 && f.Status < 500 && !f.RefusesLoad()
}

func (r *Record) FilesExhausted() bool { return r.refusedBy(syscall.EMFILE) }

func (r *Record) PortsExhausted() bool { return r.refusedBy(syscall.EADDRNOTAVAIL) }

// refusedBy finds the error in the text: a record has no other trace of it.
func (r *Record) refusedBy(e syscall.Errno) bool {
	return r.Outcome == "connect" && strings.Contains(r.Error, e.Error())
}

// Stall is a time in which the server sent nothing although requests were in flight, µs from the row's start.
type Stall struct {
	FromUs   int64 `json:"from_us"`
	ToUs     int64 `json:"to_us"`
	InFlight int   `json:"in_flight"` // requests that were sent before it and ended after it
}

func (s Stall) Seconds() float64 { return float64(s.ToUs-s.FromUs) / 1e6 }
