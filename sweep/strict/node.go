package strict

// node is the place of one key of the file, or of one element of a list. It is small because a list may have
// a million.
type node struct {
	at, size int32 // in bytes: the key's last part, or the element's value
	implicit bool  // so far only part of other keys, so its place is where the first of those is
	inline   bool  // { … }
	value    int32 // end of the value of a key = value; 0: none
	end      int32 // of a table, behind its last key = value, else behind its header or {; 0: it has neither
	keys     []string
	children map[string]*node
	items    []*node
}

// find follows a path as far as possible. exact reports whether that was to its end.
func (n *node) find(path string) (found *node, exact bool) {
	for path != "" {
		s, rest, ok := cutStep(path)
		next := n.children[s.key]
		if s.index >= 0 {
			next = nil
			if s.index < len(n.items) {
				next = n.items[s.index]
			}
		}
		if !ok || next == nil {
			return n, false
		}
		n, path = next, rest
	}
	return n, true
}

func (n *node) child(p part, implicit bool) *node {
	k := n.children[p.key]
	switch {
	case k == nil:
		k = &node{at: p.at, size: p.size, implicit: implicit}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		n.children[p.key], n.keys = k, append(n.keys, p.key)
	case k.implicit && !implicit:
		k.at, k.size, k.implicit = p.at, p.size, false
	}
	return k
}

// latest is the table that a in [a.b] refers to: the last one of [[a]].
func (n *node) latest() *node {
	if len(n.items) > 0 {
		return n.items[len(n.items)-1]
	}
	return n
}
