package proxy

import (
	"container/list"
	"hash/maphash"
)

// Completions have no messages: a prompt that begins with an earlier one continues it. Each prompt is known by the hash
// of its whole blocks and of the tail behind them, and tails says for each hash of whole blocks which tails to try. So
// a look-up costs a pass over the prompt, whatever is known.

// textMark makes the key of a whole prompt from the key of its blocks.
const textMark = 0x74657874

// blockKeys are the keys of the first 0, 1, 2, … blocks of a prompt.
func (c *conversations) blockKeys(text []byte) []uint64 {
	keys := make([]uint64, 1, 1+len(text)/textBlock)
	keys[0] = textMark
	for at := 0; at+textBlock <= len(text); at += textBlock {
		keys = append(keys, mix(c.seed, keys[len(keys)-1], maphash.Bytes(c.seed, text[at:at+textBlock])))
	}
	return keys
}

// textKey is the key of a prompt that ends with a tail behind some blocks.
func (c *conversations) textKey(blocks uint64, tail []byte) uint64 {
	return mix(c.seed, blocks^textMark, maphash.Bytes(c.seed, tail))
}

// continuedText is the conversation of a completion's prompt.
func (c *conversations) continuedText(k bodyKeys) *conversation {
	blocks := c.blockKeys(k.text)
	of := c.longestText(k, blocks)
	if of == nil {
		of = c.begin(true)
	}
	end := len(blocks) - 1
	tail := k.text[end*textBlock:]
	p := c.use(c.textKey(blocks[end], tail))
	if p.blocks == 0 {
		p.blocks = blocks[end]
		c.addTail(p.blocks, len(tail))
	}
	c.open(p, opening{of, k.head})
	return of
}

// longestText continues the longest known prompt that begins a longer one; nil = none.
func (c *conversations) longestText(k bodyKeys, blocks []uint64) *conversation {
	for i := len(blocks) - 1; i >= 0; i-- {
		tails := c.tails[blocks[i]]
		if tails == nil {
			continue
		}
		rest := k.text[i*textBlock:]
		for n := tails.below(min(len(rest), textBlock)); n >= 0 && i*textBlock+n >= minText; n = tails.below(n) {
			if key := c.textKey(blocks[i], rest[:n]); c.known[key] != nil {
				return c.use(key).next(k.head)
			}
		}
	}
	return nil
}

func (c *conversations) addTail(blocks uint64, length int) {
	t := c.tails[blocks]
	if t == nil {
		t = &tailSet{}
		c.tails[blocks] = t
		c.grow(tailBytes)
	}
	t.lengths[length/64] |= 1 << (length % 64)
	t.places++
}

// remove forgets one place.
func (c *conversations) remove(e *list.Element) {
	p := c.recent.Remove(e).(*place)
	delete(c.known, p.key)
	c.bytes -= placeBytes + cap(p.open)*openingBytes
	if t := c.tails[p.blocks]; p.blocks != 0 && t != nil {
		if t.places--; t.places == 0 {
			delete(c.tails, p.blocks)
			c.bytes -= tailBytes
		}
	}
}
