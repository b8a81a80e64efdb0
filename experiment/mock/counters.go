package mock

import (
	"sort"
	"time"

	"bench/experiment/mock/kv"
)

// Buckets of vLLM's histograms, in seconds and in tokens (vllm/v1/metrics/loggers.py).
var (
	firstTokenBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBuckets      = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets    = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	stepBuckets       = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	lengthBuckets     = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
)

// ledger counts what the engine does, for /metrics, and collects the tokens for their readers. It is used under the server's lock.
type counters struct {
	waiting, running           int
	queried, hit               int // prompt tokens looked up in the prefix cache, and found
	offloadQueried, offloadHit int // those that were not, looked up in the second tier, and found there
	preemptions                int
	prompt, generated          int // tokens
	finished                   map[string]int
	ready                      []*seq // have fresh tokens, by the time of the first; the pacer's alone

	ttft, itl, tpot, e2e, queue, prefill, decode, inference histogram
	promptLen, outputLen, stepTokens                        histogram
}

func newCounters() *counters {
	return &counters{
		finished: map[string]int{"stop": 0, "length": 0, "abort": 0},
		ttft:     newHistogram(firstTokenBuckets), itl: newHistogram(tokenBuckets), tpot: newHistogram(tokenBuckets),
		e2e: newHistogram(requestBuckets), queue: newHistogram(requestBuckets), prefill: newHistogram(requestBuckets),
		decode: newHistogram(requestBuckets), inference: newHistogram(requestBuckets),
		promptLen: newHistogram(lengthBuckets), outputLen: newHistogram(lengthBuckets), stepTokens: newHistogram(stepBuckets),
	}
}

// lookedUp notes what q has found in the cache. As in vLLM, one that comes back from a preemption does not count again.
func (l *counters) countLookup(q *seq, two bool) {
	if q.preemptions > 0 {
		return
	}
	local, loads := q.computed, q.loading*kv.BlockTokens
	q.cached = local + loads
	l.queried += len(q.prompt)
	l.hit += local
	if two {
		l.offloadQueried += len(q.prompt) - local
		l.offloadHit += loads
	}
}

// admitted notes that q has left the queue.
func (l *counters) countAdmission(q *seq, at time.Duration) {
	q.stage = running
	l.waiting--
	l.running++
	if q.preemptions == 0 {
		q.admitted = at
		l.queue.observe((at - q.arrival).Seconds())
	}
}

// preempted notes that q is back in the queue.
func (l *counters) countPreemption(q *seq) {
	q.stage = waiting
	q.preemptions++
	l.preemptions++
	l.running--
	l.waiting++
}

// stepped notes that a step computes so many tokens.
func (l *counters) countStep(tokens int) { l.stepTokens.observe(float64(tokens)) }

// token gives q its next token.
func (l *counters) token(q *seq, due time.Duration) {
	if q.out == 0 {
		q.first = due
		l.prompt += len(q.prompt)
		l.ttft.observe((due - q.arrival).Seconds())
		l.prefill.observe((due - q.admitted).Seconds())
	} else {
		l.itl.observe((due - q.last).Seconds())
	}
	l.generated++
	q.out++
	q.last = due
	if q.out == q.want {
		l.countCompletion(q)
	}
	if len(q.emitted) == 0 {
		l.ready = append(l.ready, q)
	}
	q.emitted = append(q.emitted, due)
}

func (l *counters) countCompletion(q *seq) {
	q.stage = over
	l.running--
	l.finished[q.finish]++
	l.e2e.observe((q.last - q.arrival).Seconds())
	l.decode.observe((q.last - q.first).Seconds())
	l.inference.observe((q.last - q.admitted).Seconds())
	if q.out > 1 {
		l.tpot.observe((q.last - q.first).Seconds() / float64(q.out-1))
	}
	l.promptLen.observe(float64(len(q.prompt)))
	l.outputLen.observe(float64(q.out))
}

// abandoned notes that q has ended before its time.
func (l *counters) countAbort(q *seq) {
	switch q.stage {
	case waiting:
		l.waiting--
	case running:
		l.running--
	}
	q.stage = over
	l.finished["abort"]++
}

// histogram counts values in buckets by their upper ends, inclusive.
type histogram struct {
	bounds []float64
	counts []int // one more than bounds: the last is what is above all
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
}
