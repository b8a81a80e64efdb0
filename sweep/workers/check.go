package workers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// slack is how far a time may lie behind the leader's: clocks run differently.
const slack = time.Minute

// mostCount bounds every count of a record: a sum over a row is no overflow.
const mostCount = 1 << 40

// allowed is what the records of a worker's share can have.
type allowed struct {
	share    workload.Share // zero: of a row with conversations, whose requests have other numbers than arrivals
	replicas int
}

// check reports why a record can't be true. now is the time since the common start.
func (a *allowed) check(r *record.Record, now time.Duration) error {
	if r.I < 0 || r.I > math.MaxInt32 {
		return fmt.Errorf("a record has the index %d", r.I)
	}
	if !a.share.Owns(r.I) {
		return fmt.Errorf("record %d is not of its share", r.I)
	}
	if r.Endpoint != nil && (*r.Endpoint < 0 || *r.Endpoint >= a.replicas) {
		return fmt.Errorf("record %d is of replica %d of %d", r.I, *r.Endpoint, a.replicas)
	}
	if !openai.Outcome(r.Outcome).Known() {
		return fmt.Errorf("record %d has the outcome %.20q", r.I, r.Outcome)
	}
	if !slices.Contains([]string{record.PhaseWarmup, record.PhaseWindow, record.PhaseCooldown}, r.Phase) {
		return fmt.Errorf("record %d is of the phase %.20q", r.I, r.Phase)
	}
	counts := []int{r.Turns, r.Agent, r.PromptRequested, r.OutputRequested, r.OutputTokens, r.Status, r.TurnsLost}
	for _, n := range []*int{r.Session, r.Turn, r.PromptTokens, r.CachedTokens, r.ReasoningTokens, r.Drafts,
		r.DraftTokens, r.AcceptedTokens} {
		if n != nil {
			counts = append(counts, *n)
		}
	}
	for _, n := range counts {
		if n < 0 || n > mostCount {
			return fmt.Errorf("record %d has a count of %d", r.I, n)
		}
	}
	most := (now + slack).Microseconds()
	for _, at := range []record.Micros{r.Arrival, r.Ready, r.Sent, r.FirstEvent, r.First, r.FirstAnswer, r.Last,
		r.End} {
		if us, ok := at.Get(); ok && (us < -slack.Microseconds() || us > most) {
			return fmt.Errorf("record %d has a time of %d µs, %d µs after the start", r.I, us, now.Microseconds())
		}
	}
	return nil
}

// checkTexts reports a text that is too long. It comes before all else, so that none is kept.
func checkTexts(r *record.Record) error {
	for _, text := range []string{r.ServerID, r.Class, r.Model, r.Category, r.PromptHash, r.Outcome, r.Error, r.Finish,
		r.Invalid} {
		if len(text) > mostTexts {
			return fmt.Errorf("record %d has a text of %d bytes", r.I, len(text))
		}
	}
	return nil
}

func checkSample(s *telemetry.Sample) error {
	if s.Source != telemetry.SourceClient {
		return fmt.Errorf("a sample is of the source %.20q", s.Source)
	}
	if s.Server != nil || s.GPUs != nil || s.Roles != nil {
		return errors.New("a sample of the client is of a server, too")
	}
	return nil
}

func checkResult(r *endpoint.ShareResult, now time.Duration) error {
	if n := r.Worker.Connections.Ahead; n < 0 {
		return fmt.Errorf("it opened %d connections ahead", n)
	}
	if w := r.Window; w != nil && (w.Start < 0 || w.End < w.Start || w.Last < 0 || w.Requests < 0 ||
		max(w.End, w.Last) > now+slack) {
		return fmt.Errorf("its window goes from %v to %v, %v after the start", w.Start, w.End, now)
	}
	return nil
}
