package trace

// sessions numbers conversations from 1 in order of first appearance, and counts their turns.
type sessions struct {
	ids   map[string]int
	turns []int // so far, by conversation
}

func (s *sessions) next(name string) (session, turn int) {
	if s.ids == nil {
		s.ids = map[string]int{}
	}
	id, ok := s.ids[name]
	if !ok {
		s.turns = append(s.turns, 0)
		id = len(s.turns)
		s.ids[name] = id
	}
	s.turns[id-1]++
	return id, s.turns[id-1]
}
