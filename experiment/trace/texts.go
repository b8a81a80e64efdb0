package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
)

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
