package trace

import (
	"encoding/binary"
	"slices"
)

// spanTree has the parent of each span, by the hashes of their ids; spans without a parent are not in it.
type spanTree map[uint64]uint64

// Bounds of the work on a session's spans. Beyond maxSteps its requests are linked by their times alone.
const (
	deepest  = 256 // a span inside of more spans, or of itself, is taken for one without a parent
	maxSteps = 1 << 24
)

// path returns the spans around a span, the outermost first, and the span itself.
func (t spanTree) path(id uint64) []uint64 {
	path := []uint64{id}
	for parent, ok := t[id]; ok; parent, ok = t[parent] {
		if len(path) == deepest {
			return path[:1]
		}
		path = append(path, parent)
	}
	slices.Reverse(path)
	return path
}

// branches are the parts of a session's span tree that ran in parallel: spans below the same span, if requests
// in the one and in the other were in flight at the same time. Requests of such branches do not wait for each
// other, although one of them may have ended when the other began. The spans' own times are not used, since
// instrumentations end some late.
type branches struct {
	nodes  []Node
	paths  [][]uint64                 // by node: the spans around it, and its own
	beside map[uint64]map[uint64]bool // by span: those that ran in parallel with it
	lanes  []map[uint64]bool          // the spans that each hides
	of     []int                      // by node: its lane
}

// linkSpans sets the parents of the nodes, in order of their begin, by their times and the spans around them.
func linkSpans(nodes []Node, paths [][]uint64) error {
	b := &branches{nodes: nodes, paths: paths, beside: map[uint64]map[uint64]bool{}}
	if !b.compare() || !b.group() {
		return link(nodes, indices(len(nodes)), 0)
	}
	edges := 0
	for l := range b.lanes {
		var visible []int
		for i := range nodes {
			if b.sees(l, i) {
				visible = append(visible, i)
			}
		}
		c := &causal{nodes: nodes, begun: running{nodes: nodes}, latest: -1, edges: edges,
			before: func(a, i int) bool { return b.sees(b.of[i], a) }}
		if err := c.link(visible, func(i int) bool { return b.of[i] == l }); err != nil {
			return err
		}
		edges = c.edges
	}
	return nil
}

// compare finds the branches that ran in parallel; false: too many requests were in flight at the same time.
func (b *branches) compare() bool {
	var flight []int
	steps := 0
	for i := range b.nodes {
		at := b.nodes[i].At
		flight = slices.DeleteFunc(flight, func(j int) bool { return b.nodes[j].end() <= at && b.nodes[j].At < at })
		if steps += len(flight) * len(b.paths[i]); steps > maxSteps {
			return false
		}
		for _, j := range flight {
			if x, y, ok := fork(b.paths[i], b.paths[j]); ok {
				b.mark(x, y)
				b.mark(y, x)
			}
		}
		flight = append(flight, i)
	}
	return true
}

// fork returns the outermost spans around one of two requests alone. Not ok: a request is inside of the other, or
// both stand alone, so that their own times suffice.
func fork(a, b []uint64) (x, y uint64, ok bool) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i], b[i], i < len(a)-1 || i < len(b)-1
		}
	}
	return 0, 0, false
}

func (b *branches) mark(x, y uint64) {
	if b.beside[x] == nil {
		b.beside[x] = map[uint64]bool{}
	}
	b.beside[x][y] = true
}

// group divides the requests into lanes; false: there are too many, or nothing ran in parallel.
func (b *branches) group() bool {
	if len(b.beside) == 0 {
		return false
	}
	var numbers map[string]int
	for _, path := range b.paths {
		var key []byte
		for _, span := range path {
			if b.beside[span] != nil {
				key = binary.LittleEndian.AppendUint64(key, span)
			}
		}
		of := number(&numbers, string(key), len(b.lanes))
		if of == len(b.lanes) {
			b.lanes = append(b.lanes, b.hidden(path))
		}
		b.of = append(b.of, of)
	}
	return len(b.lanes)*len(b.nodes) <= maxSteps
}

func (b *branches) hidden(path []uint64) map[uint64]bool {
	hidden := map[uint64]bool{}
	for _, span := range path {
		for other := range b.beside[span] {
			hidden[other] = true
		}
	}
	return hidden
}

func (b *branches) sees(lane, i int) bool {
	hidden := b.lanes[lane]
	return len(hidden) == 0 || !slices.ContainsFunc(b.paths[i], func(span uint64) bool { return hidden[span] })
}
