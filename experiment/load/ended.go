package load

import (
	"sync"
	"time"
)

// restTime is how long the collector rests: waking it for each request would cost more than what it does.
const restTime = 2 * time.Millisecond

type ended struct {
	mu    sync.Mutex
	jobs  []*Job
	added chan struct{} // has an element after a change
	over  chan struct{} // closed: no other will come
}

func newEnded() *ended {
	return &ended{added: make(chan struct{}, 1), over: make(chan struct{})}
}

func (e *ended) add(job *Job) {
	e.mu.Lock()
	e.jobs = append(e.jobs, job)
	e.mu.Unlock()
	signal(e.added)
}

func (e *ended) each(f func(*Job)) {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for last := false; !last; {
		select {
		case <-e.added:
		case <-e.over:
			last = true
		}
		e.mu.Lock()
		jobs := e.jobs
		e.jobs = nil
		e.mu.Unlock()
		for _, job := range jobs {
			f(job)
		}
		rest.Reset(restTime)
		select {
		case <-rest.C:
		case <-e.over:
		}
	}
}
