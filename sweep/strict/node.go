package strict

// node is one key of the file, or one element of a list, with where it stands. It is small because a list may have a million.
type node struct {
	at, size int32 // in bytes: the key's last part, or the element's value
	implicit bool  // only passed through on the way to another key so far: where it is written itself is the better place
	keys     []string
	kids     map[string]*node
	items    []*node
}

// find follows a path as far as it goes. exact says whether that was to its end.
func (n *node) find(path string) (found *node, exact bool) {
	for path != "" {
		s, rest, ok := cutStep(path)
		next := n.kids[s.key]
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

// kid returns the node of a key, made where it is new.
func (n *node) kid(p part, implicit bool) *node {
	k := n.kids[p.key]
	switch {
	case k == nil:
		k = &node{at: p.at, size: p.size, implicit: implicit}
		if n.kids == nil {
			n.kids = map[string]*node{}
		}
		n.kids[p.key], n.keys = k, append(n.keys, p.key)
	case k.implicit && !implicit:
		k.at, k.size, k.implicit = p.at, p.size, false
	}
	return k
}

// latest is the table that [a.b] means by a: the last one of [[a]].
func (n *node) latest() *node {
	if len(n.items) > 0 {
		return n.items[len(n.items)-1]
	}
	return n
}
