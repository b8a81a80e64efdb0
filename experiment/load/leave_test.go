package load

import (
	"testing"
	"testing/synctest"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// A user who leaves frees the worker at once, however many do, and the later turns of the conversation do not come.
func TestUsersWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(milli), leaves: func(*Job) bool { return true }}
		if _, err := r.run(t.Context(), workload.Load{Concurrency: 1, Duration: workload.Span(sec)}, workload.Workload{}); err != nil {
			t.Fatal(err)
		}
		if got := r.outcomes(Window); got[openai.Left] != 1000 {
			t.Errorf("all leave after 1 ms: %v", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := &rig{service: always(sec), leaves: func(j *Job) bool { return j.Request.Turn == 1 }}
		if _, err := r.run(t.Context(), workload.Load{Concurrency: 1, Duration: workload.Span(9*sec - milli)}, conversations(4, sec)); err != nil {
			t.Fatal(err)
		}
		for session, turns := range r.turns() {
			if len(turns) != 2 || turns[1].Lost != 2 {
				t.Errorf("conversation %d: %d turns, %d lost", session, len(turns), turns[len(turns)-1].Lost)
			}
		}
	})
}
