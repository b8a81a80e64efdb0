package workload

import (
	"fmt"
	"math"
	"slices"
)

// reader is the other reading of a cache: prompts as the tokens that are sent, blocks as the text up
// to their end, and slices that are searched from their beginning.
type reader struct {
	blocks   int // 0 = no bound
	size     int
	resident []string // without a bound, in any order
	pages    []page   // with one, in the order in which they will be taken
	clock    int
}

// page is one of a paged pool: what it holds, "" for nothing, and since when.
type page struct {
	text  string
	since int
}

func newReader(blocks, size int) *reader {
	return &reader{blocks: blocks, size: size, pages: make([]page, blocks)}
}

// texts are the whole blocks of some tokens, each with all that comes before it.
func (m *reader) texts(tokens []int32) []string {
	var out []string
	for end := m.size; end <= len(tokens); end += m.size {
		out = append(out, fmt.Sprint(tokens[:end]))
	}
	return out
}

func (m *reader) serve(prompt, answer []int32) int {
	all := slices.Concat(prompt, answer)
	if len(answer) > 0 {
		all = all[:len(all)-1]
	}
	asked, kept := m.texts(prompt[:len(prompt)-1]), m.texts(all)
	hits := 0
	holds := func(text string) bool { return slices.Contains(m.resident, text) }
	if m.blocks > 0 {
		holds = func(text string) bool { return m.page(text) >= 0 }
	}
	for hits < len(asked) && holds(asked[hits]) {
		hits++
	}
	switch {
	case m.blocks == 0:
		m.resident = append(m.resident, kept...)
	default:
		pages := int(math.Ceil(float64(len(all)) / float64(m.size)))
		if pages > m.blocks {
			return 0
		}
		var own []page
		for _, text := range asked[:hits] {
			i := m.page(text)
			own = append(own, m.pages[i])
			m.pages = slices.Delete(m.pages, i, i+1)
		}
		m.pages = m.pages[pages-hits:]
		for len(own) < pages {
			m.clock++
			own = append(own, page{since: m.clock})
			if n := len(own); n <= len(kept) {
				own[n-1].text = kept[n-1]
			}
		}
		slices.Reverse(own)
		m.pages = append(m.pages, own...)
	}
	return hits * m.size
}

// page is the one that holds a text, of several the one that has it longest; −1 = none.
func (m *reader) page(text string) int {
	at := -1
	for i, p := range m.pages {
		if p.text == text && (at < 0 || p.since < m.pages[at].since) {
			at = i
		}
	}
	return at
}
