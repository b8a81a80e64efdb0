package proxy

import (
	"errors"
	"math"
	"net/http"
	"time"

	"bench/experiment/openai"
	"bench/live/recording"
)

const (
	stoppedErrors   = "errors"   // the candidate fails more often than the primary, or always
	stoppedOperator = "operator" // by hand
)

// stop ends copying for one of the words above, and cancels copies in flight. The first reason stays.
func (s *shadow) stop(reason string) {
	if s != nil {
		s.locked(func() { s.stopLocked(reason, time.Now()) })
	}
}

func (s *shadow) stopLocked(reason string, at time.Time) {
	if s.copies.Stopped != "" {
		return
	}
	s.copies.Stopped = reason
	s.copies.AtUs = at.Sub(s.started).Microseconds()
	s.dismissWaiting()
	s.cancelFlying()
}

func (s *shadow) dismissWaiting() {
	for _, c := range s.waiting {
		s.dismiss(c)
	}
	s.waiting = nil
}

func (s *shadow) cancelFlying() {
	for _, cancel := range s.flying {
		cancel(errStopped)
	}
}

func (s *shadow) counts() *recording.Copies {
	if s == nil {
		return nil
	}
	var out recording.Copies
	s.locked(func() { out = s.copies })
	return &out
}

// ended counts a pair whose answers have both ended, for the rules that end copying. Call it once for a pair, after
// Done had the exchange; candidate may be nil. Nothing is kept.
func (s *shadow) ended(primary, candidate *openai.Result) {
	if s == nil || primary == nil || candidate == nil || primary.Outcome == openai.Left ||
		candidate.Outcome == openai.Left {
		return
	}
	s.locked(func() {
		if s.rules.ended(primary, candidate) {
			s.stopLocked(stoppedErrors, time.Now())
		}
	})
}

type stopRules struct {
	errors excess
	row    int // failures of the candidate in a row
}

const maxRow = 20 // failures in a row end copying at once

func newStopRules() stopRules { return stopRules{errors: newExcess(0.05)} }

// landed notes the end of a copy, and reports whether copying must end. A status that blames the request fails the
// candidate only if the primary took the request: ended finds out.
func (r *stopRules) landed(m measurement) bool {
	switch {
	case errors.Is(m.end, openai.ErrCallerLeft):
	case m.failed() && !blamesRequest(m.result):
		r.row++
	case m.result != nil && m.result.Outcome.Completed():
		r.row = 0
	}
	return r.row >= maxRow
}

func blamesRequest(r *openai.Result) bool {
	return r != nil && r.Outcome == openai.Status && r.Status >= 400 && r.Status < 500 &&
		r.Status != http.StatusTooManyRequests && r.Status != http.StatusRequestTimeout
}

func (r *stopRules) ended(primary, candidate *openai.Result) bool {
	if primary.Outcome == "" || candidate.Outcome == "" { // it could not be read
		return false
	}
	failedA, failedB := primary.Outcome.Failed(), candidate.Outcome.Failed()
	if !failedA && failedB && blamesRequest(candidate) {
		r.row++
	}
	return r.errors.add(failedA, failedB) || r.row >= maxRow
}

// excess tests, after every pair, whether the candidate's error rate exceeds the primary's by more than a limit, with
// at most 5 % risk of a false alarm however long it runs: a bet against "by at most the limit" whose capital is then a
// supermartingale, so that it seldom grows 20-fold (Ville's inequality; Waudby-Smith and Ramdas, Estimating means of
// bounded random variables by betting, JRSS B 86, 2024, section 4). The stakes are a mixture, since the excess is not
// known.
//
// A candidate that was good for days must not have credit for hours of errors: when four fifths of the capital are lost
// the test begins again, with a part of the risk: 6/π²k² of it for the k-th, which sum to 1.
type excess struct {
	limit   float64
	capital [len(stakes)]float64
	round   float64 // from 1
}

// stakes are parts of the largest stake that a pair cannot ruin.
var stakes = [...]float64{0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9}

const (
	alarmRisk   = 0.05
	ruinedBelow = 0.2
)

func newExcess(limit float64) excess {
	e := excess{limit: limit}
	e.begin()
	return e
}

func (e *excess) begin() {
	e.round++
	for i := range e.capital {
		e.capital[i] = 1.0 / float64(len(stakes))
	}
}

func (e *excess) add(primaryFailed, candidateFailed bool) bool {
	difference := 0.0
	if candidateFailed {
		difference++
	}
	if primaryFailed {
		difference--
	}
	total := 0.0
	for i, stake := range stakes {
		e.capital[i] *= 1 + stake/(1+e.limit)*(difference-e.limit)
		total += e.capital[i]
	}
	if total < ruinedBelow {
		e.begin()
	}
	return total >= math.Pi*math.Pi/6*e.round*e.round/alarmRisk
}
