package load

import (
	"maps"
	"sync"
	"time"

	"bench/experiment/workload"
)

// session is a conversation or a run of an agent in flight. Its worker belongs to it until its last turn has ended.
type session struct {
	then func(last *Job, freed time.Duration) // what the worker does next

	mu    sync.Mutex
	first workload.Request
	walk  *workload.Walk
	freed time.Duration // end of its last response so far
	sent  map[int]turn  // ended turns that another may continue
}

type turn struct {
	job  *Job
	body []byte
}

func newSession(first *Job, then func(*Job, time.Duration)) *session {
	s := &session{then: then, first: first.Request}
	s.walk = workload.NewWalk(&s.first)
	return s
}

// end notes the end of a turn, sets job.Lost and job.SessionOver, and returns the turns that are due now.
func (s *session) end(job *Job, body []byte) (due []int, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed = max(s.freed, job.Result.Free)
	if !job.Result.Outcome.Completed() { // failed, or its user left
		job.Lost = s.walk.Fail(job.Request.Turn)
		maps.DeleteFunc(s.sent, func(before int, _ turn) bool { return !s.walk.Needed(before) })
		job.SessionOver = s.walk.Over()
		return nil, job.SessionOver
	}
	if s.walk.Needed(job.Request.Turn) {
		if s.sent == nil {
			s.sent = map[int]turn{}
		}
		s.sent[job.Request.Turn] = turn{job, body}
	}
	due = s.walk.End(job.Request.Turn, job.At, job.Result.End)
	job.SessionOver = s.walk.Over()
	return due, job.SessionOver
}

// before is the turn that next continues; the zero turn: none. Bodies are large: the last to continue it frees it.
func (s *session) before(next int) turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.walk.Make(next)
	if !ok {
		return turn{}
	}
	before := s.sent[t]
	if !s.walk.Needed(t) {
		delete(s.sent, t)
	}
	return before
}

func (s *session) follow(c *Config, next int) turn {
	t := s.later(c, next)
	s.mu.Lock()
	t.job.At = s.walk.Due(next, t.job.Request.Think)
	s.mu.Unlock()
	t.job.Ready = t.job.At
	return t
}

func (s *session) later(c *Config, next int) turn {
	before := s.before(next)
	job, body := c.Follow(&s.first, next, before.job, before.body)
	job.session = s
	return turn{job, body}
}

func (s *session) begin(c *Config, first *Job, next int) turn {
	t := s.later(c, next)
	t.job.At = first.Ready + t.job.Request.Think
	t.job.Ready = t.job.At
	return t
}
