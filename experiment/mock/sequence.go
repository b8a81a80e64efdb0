package mock

import (
	"fmt"
	"math"
	"time"

	"bench/experiment/kv"
)

// seq is one request inside the engine. Times are durations since the server's start.
type seq struct {
	prompt    []int32
	hash      uint64 // of the seed and the prompt; the source of all randomness of the request
	vocab     vocab
	want      int    // output tokens
	finish    string // finish reason: "length" or "stop"
	arrival   time.Duration
	cacheSalt string  // of the request, as in vLLM; empty: none
	tenant    string  // empty: without a name
	adapter   string  // empty: the base model
	factor    float64 // of its times; 0: 1
	drafter   drafter

	script   []int32 // ids of the output tokens from number scripted on; the others are random
	scripted int

	// Engine state, under the server's lock.
	stage       stage
	gone        bool          // the client has disconnected
	queued      time.Duration // behind the front end; 0: there is none
	admitted    time.Duration
	first       time.Duration
	last        time.Duration
	out         int           // tokens emitted
	cached      int           // prompt tokens found in either cache tier at its first admission
	preemptions int           // number of preemptions
	computed    int           // tokens with KV entries
	scheduled   int           // tokens computed for it in the current step
	drafted     int           // of these, the last ones: drafts to verify
	named       int           // blocks that the prefix cache can find
	loading     int           // blocks being loaded from the second tier
	loadedAt    time.Duration // when that load ends
	chain       []uint64
	held        []*kv.Block
	block       int // tokens in a block

	// due times of tokens that advance has emitted and deliver has not passed on; only the pacer uses it
	emitted []time.Duration
	mail    mailbox
}

type stage int

const (
	waiting stage = iota
	running
	over
)

func (q *seq) waited() time.Duration { return q.admitted - max(q.queued, q.arrival) }

func newSeq(seed uint64, v vocab, prompt []int32, arrival time.Duration) *seq {
	root := mix(seed)
	for _, id := range prompt {
		root = mix(root ^ uint64(uint32(id)))
	}
	return &seq{prompt: prompt, hash: root, vocab: v, arrival: arrival, mail: mailbox{ready: make(chan struct{}, 1)}}
}

// natural is the output length with natural EOS: exponential around mean, at least 1.
func (q *seq) natural(mean int) int {
	u := (float64(mix(q.hash^0x6c656e)>>11) + 0.5) / (1 << 53)
	return 1 + int(-math.Log(u)*float64(mean-1))
}

// chosen reports whether q is one of a share of the requests. Each matter draws for itself.
func (q *seq) chosen(matter string, share float64) bool {
	h := q.hash
	for _, c := range []byte(matter) {
		h = mix(h ^ uint64(c))
	}
	return float64(h>>11)/(1<<53) < share
}

func (q *seq) generated(i int) int32 {
	if k := i - q.scripted; k >= 0 && k < len(q.script) {
		return q.script[k]
	}
	return idFirst + int32(mix(q.hash+uint64(i)+1)%uint64(q.vocab-idFirst))
}

func (q *seq) token(i int) int32 {
	if i < len(q.prompt) {
		return q.prompt[i]
	}
	return q.generated(i - len(q.prompt))
}

// total is the number of tokens by now. When all are computed, the next one is emitted.
func (q *seq) total() int { return len(q.prompt) + q.out }

func (q *seq) decoding() bool { return q.out > 0 && q.computed == q.total()-1 }

// salt separates the cached blocks of adapters, and of requests with a cache_salt.
func (q *seq) salt() uint64 {
	h := uint64(0)
	for _, c := range []byte(q.adapter + q.cacheSalt) {
		h = mix(h ^ uint64(c))
	}
	return h
}

// next is the number of tokens that the next step computes at most: what is missing, or the last token and drafts.
func (q *seq) next(maxLen int) int {
	n := q.total() - q.computed
	if q.decoding() {
		n += q.drafter.tokens
	}
	return min(n, maxLen-q.computed)
}

// hashes are the hashes of the first n full blocks. Each covers its tokens and all tokens before them.
func (q *seq) hashes(n int) []uint64 {
	for b := len(q.chain); b < n; b++ {
		h := mix(q.salt())
		if b > 0 {
			h = q.chain[b-1]
		}
		for i := b * q.block; i < (b+1)*q.block; i++ {
			h = mix(h ^ uint64(uint32(q.token(i))))
		}
		q.chain = append(q.chain, h)
	}
	return q.chain[:n]
}

func (q *seq) name(pool *kv.Pool, n int) {
	for ; q.named < n; q.named++ {
		pool.Name(q.held[q.named], q.hashes(n)[q.named])
	}
}

// drafter is the speculative decoding of one sequence. The zero drafter is none.
type drafter struct {
	tokens     int     // drafted in each decode step
	acceptance float64 // probability that a draft is accepted after those before it
	drafted    int     // tokens so far
	steps      []int   // number of steps that accepted exactly i drafts
}

func newDrafter(s Speculation) drafter {
	if s.Tokens == 0 {
		return drafter{}
	}
	return drafter{tokens: s.Tokens, acceptance: s.Acceptance, steps: make([]int, s.Tokens+1)}
}

// accept is the number of the next drafts of q that are accepted: each by its own draw, until the first rejection.
func (q *seq) accept(drafted int) (accepted int) {
	for accepted < drafted {
		draw := mix(q.hash ^ mix(uint64(q.out)<<8|uint64(accepted)))
		if float64(draw>>11)/(1<<53) >= q.drafter.acceptance {
			break
		}
		accepted++
	}
	return accepted
}

func (d *drafter) count(drafted, accepted int) {
	d.drafted += drafted
	d.steps[accepted]++
}

func (d *drafter) verified() (steps, accepted int) {
	for i, n := range d.steps {
		steps += n
		accepted += n * i
	}
	return steps, accepted
}

// metrics is d in the form of vLLM's metrics of a request; empty: no step had drafts.
func (d *drafter) metrics() string {
	steps, accepted := d.verified()
	if steps == 0 {
		return ""
	}
	return fmt.Sprintf(`{"mean_acceptance_length":%g,"draft_acceptance_rate":%g,"acceptance_histogram":%s,"num_spec_steps":%d,`+
		`"num_accepted_draft_tokens":%d,"num_draft_tokens":%d,"num_spec_tokens":%d}`,
		1+float64(accepted)/float64(steps), float64(accepted)/float64(d.drafted), marshal(d.steps), steps, accepted,
		d.drafted, d.tokens)
}
