package mock

import (
	"sort"
	"time"
)

// Buckets of vLLM's histograms, in seconds and in tokens (vllm/v1/metrics/loggers.py).
var (
	firstTokenBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
		160, 640, 2560}
	tokenBuckets   = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920,
		7680}
	stepBuckets   = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	lengthBuckets = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
)

// counters are the figures of /metrics, and the tokens to deliver. The server's lock guards them.
type counters struct {
	waiting, running           int
	queried, hit               int // prompt tokens looked up and found in the prefix cache
	offloadQueried, offloadHit int // the others: looked up and found in the second tier
	preemptions                int
	prompt, generated          int // tokens
	finished                   map[string]int
	adapters                   map[string]*adapterLoad // by name
	drafts, drafted            int                     // verifications of drafts, and tokens in them
	accepted                   []int                   // drafted tokens that were accepted, by position
	// sequences with undelivered tokens, by the time of the first; only the pacer uses it
	ready []*seq

	ttft, itl, tpot, e2e, queue, prefill, decode, inference histogram
	promptLen, outputLen, stepTokens                        histogram
}

type adapterLoad struct{ waiting, running int }

func newCounters(c Config) *counters {
	l := &counters{
		adapters: map[string]*adapterLoad{}, accepted: make([]int, c.Speculation.Tokens),
		finished: map[string]int{"stop": 0, "length": 0, "abort": 0},
		ttft:     newHistogram(firstTokenBuckets), itl: newHistogram(tokenBuckets), tpot: newHistogram(tokenBuckets),
		e2e: newHistogram(requestBuckets), queue: newHistogram(requestBuckets), prefill: newHistogram(requestBuckets),
		decode: newHistogram(requestBuckets), inference: newHistogram(requestBuckets),
		promptLen: newHistogram(lengthBuckets), outputLen: newHistogram(lengthBuckets),
		stepTokens: newHistogram(stepBuckets),
	}
	for _, name := range c.adapterNames() {
		l.adapters[name] = new(adapterLoad)
	}
	return l
}

func (l *counters) wait(q *seq, n int) {
	l.waiting += n
	if a := l.adapters[q.adapter]; a != nil {
		a.waiting += n
	}
}

func (l *counters) run(q *seq, n int) {
	l.running += n
	if a := l.adapters[q.adapter]; a != nil {
		a.running += n
	}
}

// countLookup counts the cache hits of q. As in vLLM, a preempted request counts only once.
func (l *counters) countLookup(q *seq, two bool) {
	if q.preemptions > 0 {
		return
	}
	local, loads := q.computed, q.loading*q.block
	q.cached = local + loads
	l.queried += len(q.prompt)
	l.hit += local
	if two {
		l.offloadQueried += len(q.prompt) - local
		l.offloadHit += loads
	}
}

func (l *counters) countAdmission(q *seq, at time.Duration) {
	q.stage = running
	l.wait(q, -1)
	l.run(q, 1)
	if q.preemptions == 0 {
		q.admitted = at
	}
}

func (l *counters) countPreemption(q *seq) {
	q.stage = waiting
	q.preemptions++
	l.preemptions++
	l.run(q, -1)
	l.wait(q, 1)
}

// verify decides how many of q's drafts are accepted. As in vLLM, those behind the answer's end count as well.
func (l *counters) verify(q *seq, drafted int) (accepted int) {
	if drafted == 0 {
		return 0
	}
	accepted = q.accept(drafted)
	q.drafter.count(drafted, accepted)
	l.drafts++
	l.drafted += drafted
	for i := range accepted {
		l.accepted[i]++
	}
	return accepted
}

func (l *counters) tokens(q *seq, due time.Duration, n int) {
	if q.out == 0 {
		q.first = due
		l.prompt += len(q.prompt)
		l.ttft.observe((due - q.arrival).Seconds())
	} else {
		l.itl.observe((due - q.last).Seconds())
	}
	n = min(n, q.want-q.out)
	l.generated += n
	q.out += n
	q.last = due
	if q.out == q.want {
		l.countCompletion(q)
	}
	if len(q.emitted) == 0 {
		l.ready = append(l.ready, q)
	}
	for range n {
		q.emitted = append(q.emitted, due)
	}
}

// countCompletion: as in vLLM, an aborted request is in the histogram of the first token alone.
func (l *counters) countCompletion(q *seq) {
	q.stage = over
	l.run(q, -1)
	l.finished[q.finish]++
	l.queue.observe(q.waited().Seconds())
	l.prefill.observe((q.first - q.admitted).Seconds())
	l.e2e.observe((q.last - q.arrival).Seconds())
	l.decode.observe((q.last - q.first).Seconds())
	l.inference.observe((q.last - q.admitted).Seconds())
	if q.out > 1 {
		l.tpot.observe((q.last - q.first).Seconds() / float64(q.out-1))
	}
	l.promptLen.observe(float64(len(q.prompt)))
	l.outputLen.observe(float64(q.out))
}

func (l *counters) countAbort(q *seq) {
	switch q.stage {
	case waiting:
		l.wait(q, -1)
	case running:
		l.run(q, -1)
	}
	q.stage = over
	l.finished["abort"]++
}

type histogram struct {
	bounds []float64
	counts []int // one more than bounds: the last is +Inf
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
}
