package record

import (
	"net/http"
	"slices"
	"strings"
	"syscall"

	"bench/experiment/unit"
)

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
