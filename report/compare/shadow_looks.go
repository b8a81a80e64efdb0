package compare

import "bench/experiment/stats"

// stoppedDecided is recording.Copies.Stopped of a comparison that ended when it was decided.
const stoppedDecided = "decided"

// shadowPlan divides the risk of a comparison: a false alarm at any look, and at the end.
type shadowPlan struct {
	looks bool // half of the risk is for the looks
}

// riskOfEnd is for the comparison of all pairs.
func (p shadowPlan) riskOfEnd() float64 {
	if p.looks {
		return risk / 2
	}
	return risk
}

func (p shadowPlan) divided() stats.Looks { return stats.Looks{Risk: risk / 2} }

// riskOfLook is for the look at n pairs.
func (p shadowPlan) riskOfLook(n int) float64 {
	k := 1
	for ; p.divided().At(k) < n; k++ {
	}
	return 1 - p.divided().Confidence(k)
}

// next is the number of pairs at the look after n pairs.
func (p shadowPlan) next(n int) int {
	if !p.looks {
		return 0
	}
	k := 1
	for ; p.divided().At(k) <= n; k++ {
	}
	return p.divided().At(k)
}

// decidedAt is the number of pairs at the first look that decides every gated figure; 0: none does. Pairs are in order
// of their ends, as the looks saw them.
func (p shadowPlan) decidedAt(used []*shadowPair) int {
	for k := 1; p.divided().At(k) <= len(used); k++ {
		n := p.divided().At(k)
		if decided(shadowFigures(used[:n], p.riskOfLook(n), true)) {
			return n
		}
	}
	return 0
}

// Decided reports whether every gated figure (mean TTFT of first turns, mean TPOT, error rate) had a verdict at one
// of the looks: at 64 pairs and after each doubling. Between looks it costs nothing.
func (s *ShadowPairs) Decided() bool {
	if s.Header.Recorded.Shadow == nil {
		return false
	}
	s.mu.Lock()
	pairs, first, done, looked := s.pairs, s.firstCopyUs, s.decided, s.looked
	s.mu.Unlock()
	if done || len(pairs) < s.plan().next(looked) {
		return done
	}
	used, _ := s.usable(pairs, first)
	for n := s.plan().next(looked); n <= len(used); n = s.plan().next(n) {
		looked = n
		if done = decided(shadowFigures(used[:n], s.plan().riskOfLook(n), true)); done {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked, s.decided = max(s.looked, looked), s.decided || done
	return s.decided
}

func (*ShadowPairs) plan() shadowPlan { return shadowPlan{looks: true} }
