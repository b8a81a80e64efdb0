package trace

import "io"

// sessions numbers conversations from 1 in order of first appearance, and counts their turns.
type sessions struct {
	groups[string]
	turns []int // so far, by conversation
}

func (s *sessions) next(name string) (session, turn int) {
	place := s.of(name)
	if place == len(s.turns) {
		s.turns = append(s.turns, 0)
	}
	s.turns[place]++
	return place + 1, s.turns[place]
}

// groups number sessions by their ids from 0, in order of first appearance.
type groups[ID comparable] struct {
	numbers map[ID]int
	count   int
}

// of is the number of the session with an id. What has the zero id is a session of its own.
func (g *groups[ID]) of(id ID) int {
	n := g.count
	if id != *new(ID) {
		n = number(&g.numbers, id, g.count)
	}
	g.count = max(g.count, n+1)
	return n
}

// number returns the number of a key; if it has none, that becomes next.
func number[K, N comparable](numbers *map[K]N, key K, next N) N {
	n, ok := (*numbers)[key]
	if !ok {
		if *numbers == nil {
			*numbers = map[K]N{}
		}
		n = next
		(*numbers)[key] = n
	}
	return n
}

// each calls do with everything that next returns, up to io.EOF.
func each[T any](next func() (T, error), do func(T) error) error {
	for {
		one, err := next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(one)
		}
		if err != nil {
			return err
		}
	}
}
