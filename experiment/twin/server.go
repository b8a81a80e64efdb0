package twin

import (
	"cmp"
	"container/list"
	"math"
)

// ending is a running sequence and the step that gives its last token.
type ending struct{ step, request int }

// endings are a heap by step. That of container/heap would take a third of the time of a long run.
type endings []ending

func (e *endings) push(x ending) {
	*e = append(*e, x)
	h := *e
	for i := len(h) - 1; i > 0 && h[i].step < h[(i-1)/2].step; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (e *endings) pop() ending {
	h := *e
	first, n := h[0], len(h)-1
	h[0] = h[n]
	for i, child := 0, 1; child < n; child = 2*i + 1 {
		if child+1 < n && h[child+1].step < h[child].step {
			child++
		}
		if h[i].step <= h[child].step {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	*e = h[:n]
	return first
}

// server is a model at work on its own of the requests.
type server struct {
	m            *Model
	out          []Request // of all servers
	most, budget int       // sequences, and tokens of a step
	running      endings
	prefilling   []int // in this step or before it; only the last can have tokens left
	left         int   // of the last one's prompt
	context      int
	now          float64 // end of the last step
	step         int
	waiting      []int // its requests in the order of arrival
	next         int   // of them, to begin
	ended        int   // requests
	endedLast    int   // of them in the last step
	cache        cache
}

func newServer(m *Model, out []Request, cacheTokens int) *server {
	return &server{m: m, out: out, most: cmp.Or(m.MaxSequences, math.MaxInt), budget: cmp.Or(m.MaxStepTokens, math.MaxInt),
		cache: cache{most: cacheTokens}}
}

// begins is when the next step begins; +Inf: nothing is to be done.
func (s *server) begins() float64 {
	switch {
	case len(s.running) > 0 || s.left > 0:
		return s.now
	case s.next < len(s.waiting):
		return max(s.now, s.arrives(s.next))
	}
	return math.Inf(1)
}

// arrives is when a waiting request comes to the queue.
func (s *server) arrives(waiting int) float64 {
	return s.out[s.waiting[waiting]].Arrival + s.m.FrontEnd
}

// inFlight is the number of its requests that have not ended at a time, which is not before its last step.
func (s *server) inFlight(at float64) int {
	n := len(s.waiting) - s.ended
	if s.now > at {
		n += s.endedLast
	}
	return n
}

// decode runs steps that only add a token to each running sequence, before a time, and reports whether there were any:
// most of a long run's are of this kind, and take a fraction of advance.
func (s *server) decode(until float64) bool {
	n, latest := len(s.running), math.Inf(1) // that a step may begin without a waiting request
	if n == 0 || len(s.prefilling) > 0 {
		return false
	}
	if n < min(s.most, s.budget) && s.next < len(s.waiting) {
		latest = s.arrives(s.next)
	}
	was, last := s.step, s.running[0].step-1
	now, context := s.now, s.context
	for ; s.step < last && now < until && now <= latest; s.step++ {
		now += s.m.StepTime(n, context, 0)
		context += n
	}
	if s.step == was {
		return false
	}
	s.now, s.context, s.endedLast = now, context, 0
	return true
}

// advance runs the next step.
func (s *server) advance() {
	idle := false
	if len(s.running) == 0 && s.left == 0 {
		first := s.arrives(s.next)
		idle, s.now = first >= s.now, max(s.now, first)
	}
	decoding, room := len(s.running), s.budget-len(s.running)
	prefill := min(s.left, max(room, 0))
	s.left -= prefill
	room -= prefill
	active := decoding + len(s.prefilling)
	for ; s.left == 0 && room > 0 && active < s.most && s.next < len(s.waiting); s.next++ {
		// a request that comes as a step begins misses it
		if at := s.arrives(s.next); !(at < s.now || idle && at == s.now) {
			break
		}
		i := s.waiting[s.next]
		tokens := max(1, s.out[i].Prompt-s.out[i].Cached)
		share := min(tokens, room)
		s.left, room, prefill = tokens-share, room-share, prefill+share
		s.prefilling = append(s.prefilling, i)
		active++
	}
	s.now += s.m.StepTime(decoding, s.context, prefill)
	s.step++
	s.context += decoding
	s.endedLast = 0
	for len(s.running) > 0 && s.running[0].step <= s.step {
		r := &s.out[s.running.pop().request]
		s.context -= r.Prompt + r.steps()
		r.Last = s.now
		s.endedLast++
	}
	s.begin()
	s.ended += s.endedLast
}

// begin lets the requests decode whose prompts are computed.
func (s *server) begin() {
	ready := len(s.prefilling)
	if s.left > 0 {
		ready--
	}
	if ready <= 0 {
		return
	}
	for _, i := range s.prefilling[:ready] {
		r := &s.out[i]
		r.First, r.Last = s.now, s.now
		if n := r.steps(); n > 0 {
			s.running.push(ending{s.step + n, i})
			s.context += r.Prompt
		} else {
			s.endedLast++
		}
	}
	s.prefilling = append(s.prefilling[:0], s.prefilling[ready:]...)
}

// cache is the prefixes that a server keeps, the latest ones up to its number of tokens.
type cache struct {
	most, tokens int // 0 = it keeps all
	latest       list.List
	groups       map[int]*list.Element
}

type kept struct{ group, tokens int }

// keep keeps the tokens of a request of a prefix, and returns how many of them were kept before.
func (c *cache) keep(group, tokens int) (before int) {
	if c.groups == nil {
		c.groups = map[int]*list.Element{}
	}
	at, ok := c.groups[group]
	if ok {
		before = at.Value.(*kept).tokens
		c.latest.MoveToFront(at)
	} else {
		at = c.latest.PushFront(&kept{group: group})
		c.groups[group] = at
	}
	if k := at.Value.(*kept); tokens > k.tokens {
		c.tokens += tokens - k.tokens
		k.tokens = tokens
	}
	for c.most > 0 && c.tokens > c.most && c.latest.Len() > 1 {
		oldest := c.latest.Remove(c.latest.Back()).(*kept)
		c.tokens -= oldest.tokens
		delete(c.groups, oldest.group)
	}
	return before
}
