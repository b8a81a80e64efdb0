package series

// Interpolation is the throughput of a series at a given tok/s/user, between two measured points.
type Interpolation struct {
	OutputTokensPerS       float64
	OutputTokensPerSPerGPU float64 // 0: the number of GPUs is not specified
	Faster, Slower         int     // the points around it, as indexes in the series' points; equal: measured there
}

// AtInteractivity interpolates between neighbours of the frontier; ok is false outside: nothing is extrapolated.
func (s *Series) AtInteractivity(perUser float64) (at Interpolation, ok bool) {
	frontier := s.interactive() // from the most tok/s/user to the least
	for i, slower := range frontier {
		x := s.Points[slower].PerUserTokensPerS.Median
		if x > perUser {
			continue
		}
		if x == perUser {
			return s.between(slower, slower, 0), true
		}
		if i == 0 {
			break
		}
		faster := frontier[i-1]
		return s.between(faster, slower,
			(s.Points[faster].PerUserTokensPerS.Median-perUser)/(s.Points[faster].PerUserTokensPerS.Median-x)), true
	}
	return Interpolation{}, false
}

func (s *Series) between(from, to int, share float64) Interpolation {
	a, b := &s.Points[from], &s.Points[to]
	at := Interpolation{Faster: from, Slower: to}
	at.OutputTokensPerS = a.OutputTokensPerS.Median + share*(b.OutputTokensPerS.Median-a.OutputTokensPerS.Median)
	if x, y := a.OutputTokensPerSPerGPU, b.OutputTokensPerSPerGPU; x != nil && y != nil {
		at.OutputTokensPerSPerGPU = x.Median + share*(y.Median-x.Median)
	}
	return at
}

func (s *Series) InteractivityRange() (low, high float64, ok bool) {
	frontier := s.interactive()
	if len(frontier) < 2 {
		return 0, 0, false
	}
	return s.Points[frontier[len(frontier)-1]].PerUserTokensPerS.Median, s.Points[frontier[0]].PerUserTokensPerS.Median, true
}
