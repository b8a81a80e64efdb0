package trace

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"math"
	"slices"
)

// defaultTextBytes is what a token of English text has, about, in the vocabularies of today's models.
const defaultTextBytes = 4

// fingerprints number pieces of text in the order of their first appearance. What is equal gets equal numbers, and nothing else
// about the text can be learnt from them: between text and number stands a hash under a random key that dies with the
// reader, so that not even a guessed text can be confirmed.
type fingerprints struct {
	mac         hash.Hash
	ids         map[[16]byte]uint64
	blockTokens int
	tokenBytes  float64
}

func newFingerprints(o Options, blockTokens int) *fingerprints {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	f := &fingerprints{mac: hmac.New(sha256.New, key), ids: map[[16]byte]uint64{}, blockTokens: blockTokens, tokenBytes: o.BytesPerToken}
	if o.BlockTokens > 0 {
		f.blockTokens = o.BlockTokens
	}
	if f.tokenBytes == 0 {
		f.tokenBytes = defaultTextBytes
	}
	return f
}

func (f *fingerprints) info(format string, timed bool) Info {
	return Info{Format: format, Timed: timed, BlockTokens: f.blockTokens, Estimated: true}
}

// tokens estimates how many a text of n bytes has.
func (f *fingerprints) tokens(n int) int { return int(math.Ceil(float64(n) / f.tokenBytes)) }

// prompt is a text that grows, and the hashes of its blocks, each of the block before it and the bytes of its own: one number
// stands for all the text up to its end.
type prompt struct {
	f      *fingerprints
	blocks []uint64 // that are full
	last   [32]byte // the hash of the last of them
	rest   []byte   // text behind it
	bytes  int
	parts  map[string]bool // kinds of what is no text in it are noted here
}

func (p *prompt) add(text string) {
	p.rest = append(p.rest, text...)
	p.bytes += len(text)
	// Cut at multiples of the block's size in bytes, rounded down: the same places in every prompt.
	begin := p.bytes - len(p.rest)
	done := 0
	for {
		end := int(p.f.tokenBytes * float64(p.f.blockTokens) * float64(len(p.blocks)+1))
		if end > p.bytes {
			break
		}
		var id uint64
		id, p.last = p.f.number(p.last, p.rest[done:end-begin])
		p.blocks = append(p.blocks, id)
		done = end - begin
	}
	p.rest = append(p.rest[:0], p.rest[done:]...)
}

// number is that of a block behind another, and its hash.
func (f *fingerprints) number(before [32]byte, text []byte) (uint64, [32]byte) {
	f.mac.Reset()
	f.mac.Write(before[:])
	f.mac.Write(text)
	var sum [32]byte
	f.mac.Sum(sum[:0])
	id, ok := f.ids[[16]byte(sum[:16])]
	if !ok {
		id = uint64(len(f.ids))
		f.ids[[16]byte(sum[:16])] = id
	}
	return id, sum
}

// fill gives e the prompt's length and blocks as they are now.
func (p *prompt) fill(e *Entry) {
	size := p.f.blockTokens
	e.Blocks = slices.Clone(p.blocks)
	if len(p.rest) > 0 {
		id, _ := p.f.number(p.last, p.rest)
		e.Blocks = append(e.Blocks, id)
	}
	n := len(e.Blocks)
	e.Input = min(max(p.f.tokens(p.bytes), (n-1)*size+1), n*size) // where rounding would disagree with the blocks
	if n == 0 {
		e.Input = 0
	}
}
