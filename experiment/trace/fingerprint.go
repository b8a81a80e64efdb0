package trace

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
	"math"
	"slices"
	"strings"
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

// texts fingerprints the prompts of a format that counts tokens, and may store messages too. Blocks are cut
// at equal numbers of bytes; how many tokens a block has is known at the end, from all prompts that have both.
type texts struct {
	*fingerprints
	set     bool    // the options set the tokens of a block
	bytes   float64 // of those prompts
	counted float64 // tokens of prompts with text and a token count
	texts   int     // prompts with text
	prompts int     // prompts without a token count
	answers int     // answers without a token count
}

func newTexts(o Options) *texts {
	return &texts{fingerprints: newFingerprints(o), set: o.BlockTokens > 0 || o.BytesPerToken > 0}
}

// fill sets the blocks of e to those of the prompt, and its length if no token count is known.
func (t *texts) fill(p *prompt, e *Entry, counted bool) {
	tokens := e.Input
	p.fill(e)
	t.texts++
	if !counted {
		t.prompts++
		return
	}
	t.bytes, t.counted = t.bytes+float64(p.bytes), t.counted+float64(tokens)
	e.Input = tokens
}

// info describes the file, once all its prompts are known.
func (t *texts) info(format string) Info {
	i := Info{Format: format, Timed: true, Grouped: true, Ends: true, Estimated: t.prompts+t.answers > 0}
	if t.texts > 0 {
		i.BlockTokens = t.blockTokens
	}
	if t.counted > 0 && t.prompts == 0 && !t.set {
		size := float64(t.blockTokens) * t.tokenBytes / t.bytes * t.counted
		i.BlockTokens = int(min(max(math.Round(size), 1), maxBlockTokens))
	}
	return i
}

// messages adds messages: a list, one object, or JSON text of either; other text is added as it is.
func (p *prompt) messages(raw json.RawMessage) error {
	var text string
	if open, _ := firstBytes(raw); open == '"' && json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(strings.TrimSpace(text))
		if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' || !json.Valid(raw) {
			p.add(text)
			return nil
		}
	}
	if open, _ := firstBytes(raw); open == '{' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	return p.read(raw)
}

// fitted makes the blocks of a prompt those of its tokens. Tokens and bytes of text are in proportion only on
// average: a prompt with fewer tokens loses its last blocks, one with more gets blocks of its own.
func (e *Entry) fitted(size int, own uint64) {
	if e.Blocks == nil || size == 0 {
		return
	}
	n := (e.Input + size - 1) / size
	for i := len(e.Blocks); i < n; i++ {
		e.Blocks = append(e.Blocks, own+uint64(i))
	}
	e.Blocks = e.Blocks[:n]
}

// hash64 is a hash of an id: with a million ids the chance that two of them are equal is 3e-8.
func hash64(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.LittleEndian.Uint64(sum[:])
}
