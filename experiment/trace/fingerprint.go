package trace

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
)

// defaultTextBytes is about the mean number of bytes in a token of English text.
const defaultTextBytes = 4

// fingerprints numbers pieces of text in order of first appearance. Equal pieces get equal numbers. The
// numbers reveal nothing else about the text: they stand for hashes under a random key that exists only in
// this process, so that even a guessed text cannot be confirmed.
type fingerprints struct {
	mac         hash.Hash
	ids         map[[16]byte]uint64 // nil: a number is the first 53 bits of its hash
	blockTokens int
	tokenBytes  float64
}

func newFingerprints(o Options) *fingerprints {
	return &fingerprints{mac: hmac.New(sha256.New, randomKey()), ids: map[[16]byte]uint64{},
		tokenBytes: cmp.Or(o.BytesPerToken, defaultTextBytes), blockTokens: cmp.Or(o.BlockTokens, textBlocks)}
}

func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

func (f *fingerprints) info(format string, timed bool) Info {
	return Info{Format: format, Timed: timed, BlockTokens: f.blockTokens, Estimated: true}
}

func (f *fingerprints) tokens(n int) int { return int(math.Ceil(float64(n) / f.tokenBytes)) }

// prompt is a growing text and the hashes of its blocks. Each hash covers the previous hash and the block's
// own bytes, so that one number stands for all the text up to the end of its block.
type prompt struct {
	f      *fingerprints
	blocks []uint64 // full blocks
	last   [32]byte // hash of the last full block
	rest   []byte   // text after the last full block
	bytes  int
	media  int // parts that are not text
}

func (p *prompt) add(text string) {
	p.rest = append(p.rest, text...)
	p.bytes += len(text)
	// Blocks end at multiples of the block's size in bytes, rounded down: at the same places in every prompt.
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

func (f *fingerprints) number(before [32]byte, text []byte) (uint64, [32]byte) {
	f.mac.Reset()
	f.mac.Write(before[:])
	f.mac.Write(text)
	var sum [32]byte
	f.mac.Sum(sum[:0])
	if f.ids == nil {
		return binary.LittleEndian.Uint64(sum[:]) >> (64 - printBits), sum
	}
	return number(&f.ids, [16]byte(sum[:16]), uint64(len(f.ids))), sum
}

func (p *prompt) fill(e *Entry) {
	size := p.f.blockTokens
	e.Blocks = slices.Clone(p.blocks)
	if len(p.rest) > 0 {
		id, _ := p.f.number(p.last, p.rest)
		e.Blocks = append(e.Blocks, id)
	}
	if e.Input = 0; len(e.Blocks) > 0 {
		e.Input = e.inBlocks(p.f.tokens(p.bytes), size)
	}
}

// inBlocks is a rounded number of tokens that does not contradict the number of blocks.
func (e *Entry) inBlocks(tokens, size int) int {
	n := len(e.Blocks)
	return min(max(tokens, (n-1)*size+1), n*size)
}
