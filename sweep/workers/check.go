package workers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// records are those of a row so far, by index: of each word of 64 a bit for those that came.
type records map[int]uint64

// add reports whether a record is the first with its index.
func (r records) add(i int) bool {
	word, bit := i>>6, uint64(1)<<(i&63)
	if r[word]&bit != 0 {
		return false
	}
	r[word] |= bit
	return true
}

// slack is how far a time may lie behind the leader's: clocks run differently.
const slack = time.Minute

// checkRecord reports why a record of a worker can't be true. now is the time since the common start.
func checkRecord(r *record.Record, now time.Duration) error {
	if r.I < 0 || r.I > math.MaxInt32 {
		return fmt.Errorf("a record has the index %d", r.I)
	}
	if !slices.Contains([]string{record.PhaseWarmup, record.PhaseWindow, record.PhaseCooldown}, r.Phase) {
		return fmt.Errorf("record %d is of the phase %.20q", r.I, r.Phase)
	}
	for _, text := range []string{r.ServerID, r.Class, r.Model, r.Category, r.PromptHash, r.Outcome, r.Error, r.Finish, r.Invalid} {
		if len(text) > mostTexts {
			return fmt.Errorf("record %d has a text of %d bytes", r.I, len(text))
		}
	}
	most := (now + slack).Microseconds()
	for _, at := range []record.Micros{r.Ready, r.Sent, r.FirstEvent, r.First, r.FirstAnswer, r.Last, r.End} {
		if us, ok := at.Get(); ok && (us < -slack.Microseconds() || us > most) {
			return fmt.Errorf("record %d has a time of %d µs, %d µs after the start", r.I, us, now.Microseconds())
		}
	}
	return nil
}

// checkSample reports why a sample of a worker can't be true.
func checkSample(s *telemetry.Sample) error {
	if s.Source != telemetry.SourceClient {
		return fmt.Errorf("a sample is of the source %.20q", s.Source)
	}
	if s.Server != nil || s.GPUs != nil || s.Roles != nil {
		return errors.New("a sample of the client is of a server, too")
	}
	return nil
}

// checkResult reports why the result of a worker can't be true. now is the time since the common start.
func checkResult(r *endpoint.ShareResult, now time.Duration) error {
	if w := r.Window; w != nil && (w.Start < 0 || w.End < w.Start || w.Last < 0 || w.Requests < 0 || max(w.End, w.Last) > now+slack) {
		return fmt.Errorf("its window goes from %v to %v, %v after the start", w.Start, w.End, now)
	}
	return nil
}
