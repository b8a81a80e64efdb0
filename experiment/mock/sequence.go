package mock

import (
	"math"
	"time"

	"bench/experiment/mock/kv"
)

// seq is one request inside the engine. Times are durations since the server's start.
type seq struct {
	prompt  []int32
	hash    uint64 // stands for the seed and the prompt; everything random about the request comes from it
	vocab   vocab
	want    int    // tokens that it will get
	finish  string // why it will end: "length" or "stop"
	arrival time.Duration

	// The engine's part, under the server's lock.
	stage       stage
	gone        bool // the client has left
	admitted    time.Duration
	first       time.Duration
	last        time.Duration
	out         int           // tokens emitted
	cached      int           // prompt tokens that were found when it was first admitted, in either tier
	preemptions int           // how often its blocks were taken from it
	computed    int           // tokens whose KV exists
	scheduled   int           // tokens computed for it in the step that is running
	loading     int           // blocks on their way from the second tier
	loadedAt    time.Duration // when they are there
	chain       []uint64
	held        []*kv.Block

	emitted []time.Duration // due times of tokens that advance has emitted and deliver has not passed on yet; the pacer's alone
	mail    mailbox
}

type stage int

const (
	waiting stage = iota
	running
	over
)

// newSeq makes a sequence with its randomness drawn from the seed and the prompt.
func newSeq(seed uint64, v vocab, prompt []int32, arrival time.Duration) *seq {
	root := mix(seed)
	for _, id := range prompt {
		root = mix(root ^ uint64(uint32(id)))
	}
	return &seq{prompt: prompt, hash: root, vocab: v, arrival: arrival, mail: mailbox{ready: make(chan struct{}, 1)}}
}

// natural is the number of tokens after which the sequence would end by itself: exponential around the mean, one at the least.
func (q *seq) natural(mean int) int {
	u := (float64(mix(q.hash^0x6c656e)>>11) + 0.5) / (1 << 53)
	return 1 + int(-math.Log(u)*float64(mean-1))
}

// generated is the id of output token i.
func (q *seq) generated(i int) int32 {
	return idFirst + int32(mix(q.hash+uint64(i)+1)%uint64(q.vocab-idFirst))
}

// token is the id at a position of prompt and output together.
func (q *seq) token(i int) int32 {
	if i < len(q.prompt) {
		return q.prompt[i]
	}
	return q.generated(i - len(q.prompt))
}

// total is how many tokens there are by now; when all are computed there is one more.
func (q *seq) total() int { return len(q.prompt) + q.out }

// decoding tells whether only the token that came last is still to be computed.
func (q *seq) decoding() bool { return q.out > 0 && q.computed == q.total()-1 }

// hashes returns the chain of hashes of the first n full blocks: each stands for its tokens and all before them.
func (q *seq) hashes(n int) []uint64 {
	for b := len(q.chain); b < n; b++ {
		h := mix(uint64(b))
		if b > 0 {
			h = q.chain[b-1]
		}
		for i := b * kv.BlockTokens; i < (b+1)*kv.BlockTokens; i++ {
			h = mix(h ^ uint64(uint32(q.token(i))))
		}
		q.chain = append(q.chain, h)
	}
	return q.chain[:n]
}
